package rerun

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"nightaudit/rerun/endpoint"
	"nightaudit/rerun/tools"
	"nightaudit/trace"
)

// call handles one call that the model asks for and returns what it is told. What
// is refused is recorded as refused: it is no evidence. The error is one of
// recording: what cannot be recorded must not run.
func (a *attempt) call(ctx context.Context, c endpoint.ToolCall) (string, error) {
	a.calls++
	args := c.Arguments
	if args == nil {
		args, _ = json.Marshal(c.BadArguments)
	}
	key := tools.Key(a.item.RunKey, c.Name, args)
	class := a.Tools.Class(c.Name)
	record := tools.Call{Time: a.Now(), ID: c.ID, Tool: c.Name, Args: args}
	if class == tools.ClassMutating || class == tools.ClassIdempotent {
		record.IdempotencyKey = key
	}
	if err := a.rec.Call(record); err != nil {
		return "", fmt.Errorf("record the re-run: %w", err)
	}
	refusal, told, err := a.refuse(ctx, c, class, key)
	if err != nil {
		return "", err
	}
	if refusal != "" {
		return told, a.result(c.ID, tools.Result{Error: refusal, Start: a.Now()})
	}
	if err := a.toolStep(ctx, c, class, key); err != nil {
		return "", err
	}
	res := a.Tools.Run(ctx, c.Name, args, key)
	if res.OK && class == tools.ClassRead {
		a.looks = append(a.looks, c)
	}
	if err := a.toolStepDone(context.WithoutCancel(ctx), res); err != nil {
		return "", err
	}
	if err := a.result(c.ID, res); err != nil {
		return "", err
	}
	return answerText(res), nil
}

func (a *attempt) result(id string, res tools.Result) error {
	if err := a.rec.Result(id, res); err != nil {
		return fmt.Errorf("record the re-run: %w", err)
	}
	return nil
}

// answerText is what the model is told of a result: redacted, since it leaves the
// machine.
func answerText(res tools.Result) string {
	text := map[string]any{"ok": res.OK, "output": trace.Redact(res.Output)}
	if res.Error != "" {
		text["error"] = trace.Redact(res.Error)
	}
	raw, err := json.Marshal(text)
	if err != nil {
		return `{"ok":false,"error":"the result cannot be shown"}`
	}
	return string(raw)
}

// refuse decides whether a call may run. Refusal is what is recorded, "" to let it
// run; told is what the model hears.
func (a *attempt) refuse(ctx context.Context, c endpoint.ToolCall, class tools.Class, key string) (refusal, told string, err error) {
	no := func(why string) (string, string, error) {
		raw, _ := json.Marshal(map[string]any{"ok": false, "error": why})
		return why, string(raw), nil
	}
	if c.Name == GiveUp {
		a.gaveUp = true
		a.out.StopReason = GiveUp
		var arg struct{ Reason string }
		if json.Unmarshal(c.Arguments, &arg) == nil {
			a.out.Note = "the model gave up: " + clip(trace.Redact(arg.Reason), maxTask)
		}
		return no("noted")
	}
	if a.gaveUp {
		return no("the attempt is over")
	}
	if a.calls > a.Limits.ToolCalls {
		a.out.StopReason = "tool_calls"
		return no("the limit of tool calls is reached")
	}
	if a.repeats[key]++; a.repeats[key] >= a.Limits.IdenticalCalls {
		a.out.StopReason = "identical_calls"
		return no("the same call was made before, with the same arguments")
	}
	if c.Arguments == nil {
		return no("the arguments are no JSON object")
	}
	if !slices.Contains(a.offer(), c.Name) {
		return no(fmt.Sprintf("there is no tool %q; there are: %v", c.Name, a.offer()))
	}
	if class != tools.ClassMutating {
		return "", "", nil
	}
	return a.refuseWrite(ctx, c, key, no)
}

// refuseWrite keeps a write from happening twice: in the first run, in an earlier
// attempt, or in this one.
func (a *attempt) refuseWrite(ctx context.Context, c endpoint.ToolCall, key string, no func(string) (string, string, error)) (string, string, error) {
	past, err := a.Queue.writes(ctx, key)
	if err != nil {
		return "", "", err
	}
	for _, p := range a.item.Done {
		if p.Key == key {
			past = append(past, write{known: p.Known, where: fmt.Sprintf("in the first run, line %d", p.Line)})
		}
	}
	for _, w := range past {
		if w.known {
			return no("not repeated: the same call has succeeded already (" + w.where + "), and it is not made twice")
		}
	}
	if len(past) > 0 && !a.lookedAt(c) {
		return no("the same call was made " + past[0].where + ", and nobody knows whether it took effect: look first, with a reading tool, at what it changes, and repeat it only if it did not")
	}
	return "", "", nil
}

// lookedAt tells whether this attempt has looked at what a write changes. A look
// at something else does not show whether the write took effect.
func (a *attempt) lookedAt(write endpoint.ToolCall) bool {
	written, err := trace.ParseValue(write.Arguments)
	if err != nil {
		return false
	}
	for _, look := range a.looks {
		looked, err := trace.ParseValue(look.Arguments)
		if err == nil && a.shows(look.Name, looked, write.Name, written) {
			return true
		}
	}
	return false
}
