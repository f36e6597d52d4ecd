// Package sweagent reads the trajectories of SWE-agent (.traj): one file in, one Run
// out. It judges nothing.
//
// The format has no flag, no exit code and no time: a call's outcome is unknown,
// whatever its observation looks like, but for two texts of the program's own: that
// the command's time was up, after which it has not ended, and that the operation is
// not supported, so that it never ran. What tests print is looked at by the audit.
//
// An action is one line of text. Its tool is the first word where that is one of the
// agent's own commands, else bash. The calls are those of `trajectory`, where it is
// missing those of `history`, demonstrations left out. The summary is the thought
// beside the submission. info.exit_status ends a run.
package sweagent

import (
	"context"
	"iter"
	"slices"
	"strconv"
	"strings"

	"nightaudit/trace"
)

// Format is the name of this format.
const Format = "swe-agent"

// Read reads a trajectory as one Run.
func Read(ctx context.Context, src trace.Source) iter.Seq2[*trace.Run, error] {
	return func(yield func(*trace.Run, error) bool) {
		yield(readTrajectory(ctx, src))
	}
}

func readTrajectory(ctx context.Context, src trace.Source) (*trace.Run, error) {
	run := trace.NewRun(src, Format)
	run.Agent, run.NoEndRecords = Format, true
	r := &reader{run: run, texts: trace.NewTexts(ctx, src)}
	for r.texts.Next() {
		r.take(r.texts.Record().Value)
	}
	r.talk.Finish(run)
	if err := r.texts.Finish(run); err != nil {
		return nil, err
	}
	slices.SortStableFunc(run.BadLines, func(a, b trace.BadLine) int { return a.Line - b.Line })
	return run, nil
}

// reader is what is remembered of a trajectory while it is read.
type reader struct {
	run   *trace.Run
	texts *trace.Texts
	talk  trace.Talk
	cwd   string // where the last step left the shell
}

// take takes in the document. A file holds one; what else stands there is counted.
func (r *reader) take(doc trace.Value) {
	if r.run.Records > 0 || !IsDocument(doc) {
		r.run.Ignored++
		return
	}
	r.run.Records++
	history := doc.Get("history")
	r.task(history)
	if steps := doc.Get("trajectory"); steps.Kind() == trace.KindArray {
		for step := range steps.Elements() {
			r.step(step, step.Get("thought"), step.Get("observation"))
			r.state(step.Get("state"))
		}
	} else {
		r.messages(history)
	}
	info := doc.Get("info")
	if status := info.Get("exit_status").Text(); status != "" {
		r.run.Ended, r.run.EndReason, r.run.NoEndRecords = true, status, false
	}
	sent, received := info.Get("model_stats").Tokens("tokens_sent"), info.Get("model_stats").Tokens("tokens_received")
	r.run.Spend(trace.Usage{Prompt: sent, Completion: received, Total: sent + received})
}

// task takes the first message of the user that is no demonstration.
func (r *reader) task(history trace.Value) {
	for m := range history.Elements() {
		if m.Get("role").Text() == "user" && m.Get("is_demo").Flag() != trace.FlagTrue {
			r.talk.Prompt(said(m.Get("content")))
			return
		}
	}
}

func said(content trace.Value) string {
	texts := []string{content.Text()}
	for block := range content.Elements() {
		texts = append(texts, block.Get("text").Text())
	}
	return strings.TrimSpace(strings.Join(texts, "\n"))
}

// messages reads the calls of a history: an action, and the observation behind it.
func (r *reader) messages(history trace.Value) {
	var action trace.Value
	for m := range history.Elements() {
		if m.Get("is_demo").Flag() == trace.FlagTrue {
			continue
		}
		if action.Given() {
			observation := trace.Value{}
			if role := m.Get("role").Text(); role == "user" || role == "tool" {
				observation = m.Get("content")
			}
			r.step(action, action.Get("thought"), observation)
			action = trace.Value{}
		}
		if m.Get("role").Text() == "assistant" && m.Get("action").Given() {
			action = m
		}
	}
	if action.Given() {
		r.step(action, action.Get("thought"), trace.Value{})
	}
}

// commands are the agent's own, in all its bundles of tools.
var commands = map[string]bool{
	"open": true, "goto": true, "scroll_up": true, "scroll_down": true, "create": true, "edit": true, "insert": true, "undo_edit": true,
	"search_dir": true, "search_file": true, "find_file": true, "submit": true, "exit_forfeit": true, "str_replace_editor": true,
	"view_image": true, "filemap": true, "decompile": true, "disassemble": true,
}

// step reads an action with what came of it. One that is empty called nothing.
func (r *reader) step(step, thought, observation trace.Value) {
	pos := r.texts.Place(step)
	if step.Kind() != trace.KindObject {
		r.run.BadLines = append(r.run.BadLines, trace.BadLine{Line: pos.Line, Reason: "a step that is no JSON object"})
		return
	}
	action := step.Get("action")
	words := strings.Fields(action.Text())
	if len(words) == 0 {
		r.talk.Said(thought.Text(), pos)
		return
	}
	c := trace.Call{
		ID: trace.ID(strconv.Itoa(len(r.run.Calls) + 1)), Tool: "bash", Pos: pos, Args: action.Body(), Record: step.Body(), Cwd: r.cwd,
	}
	if commands[words[0]] {
		c.Tool = words[0]
	}
	if observation.Given() {
		c.Result, c.ResultPos, c.Status = observation.Body(), pos, status(said(observation))
	}
	r.run.Calls = append(r.run.Calls, c)
	r.talk.Called()
	if c.Tool == "submit" {
		r.talk.Said(thought.Text(), pos)
	}
}

// status reads what the program itself says in place of an output.
func status(observation string) string {
	switch {
	case observation == "EXECUTION TIMED OUT", strings.HasPrefix(observation, "The command '") && strings.Contains(observation, "was cancelled because it took more than"):
		return "timed_out"
	case strings.HasPrefix(observation, "Operation '") && strings.HasSuffix(observation, "is not supported by this environment."):
		return "denied"
	}
	return "unknown"
}

// state reads where a step left the shell.
func (r *reader) state(state trace.Value) {
	inner, _ := state.Inner()
	if dir := inner.Get("working_dir").Text(); dir != "" {
		r.cwd = dir
	}
}

// IsDocument tells whether a file that is one JSON text is of this format.
func IsDocument(doc trace.Value) bool {
	for step := range doc.Get("trajectory").Elements() {
		return step.Get("action").Given() && step.Get("observation").Given() && step.Get("thought").Given()
	}
	history := doc.Get("history")
	if history.Kind() != trace.KindArray {
		return false
	}
	if doc.Get("trajectory").Kind() == trace.KindArray && doc.Get("info").Given() {
		return true
	}
	for m := range history.Elements() {
		if m.Get("role").Text() == "assistant" && m.Get("action").Given() && m.Get("agent").Given() {
			return true
		}
	}
	return false
}
