// Package miniswe reads the trajectories of mini-swe-agent (*.traj.json): one file
// in, one Run out. It judges nothing.
//
// Every call is a command. Newer versions record it beside the message
// (extra.actions), and what came of it in extra of the answer: returncode, and
// exception_info where the command could not be run to its end (returncode -1).
// Older versions have only the texts: the command is the one block of code in a
// message, the answer begins with <returncode>. A message with no block, or with
// several, called nothing: the program refuses it.
//
// The command that hands the work in ends the run, and has no returncode: unknown.
// What is said beside it is the summary. info.exit_status ends a run; old files, which
// are a list of messages, have none.
package miniswe

import (
	"context"
	"encoding/json"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"nightaudit/trace"
)

// Format is the name of this format.
const Format = "mini-swe-agent"

// submit is what a command prints that hands the work in.
const submit = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"

// Read reads a trajectory as one Run.
func Read(ctx context.Context, src trace.Source) iter.Seq2[*trace.Run, error] {
	return func(yield func(*trace.Run, error) bool) {
		yield(readTrajectory(ctx, src))
	}
}

func readTrajectory(ctx context.Context, src trace.Source) (*trace.Run, error) {
	r := &reader{texts: trace.NewTexts(ctx, src)}
	r.run = trace.NewRun(r.spill.Source(src), Format)
	r.run.Agent, r.run.NoEndRecords = Format, true
	for r.texts.Next() {
		r.take(r.texts.Record().Value)
	}
	r.talk.Finish(r.run)
	if err := r.texts.Finish(r.run); err != nil {
		return nil, err
	}
	slices.SortStableFunc(r.run.BadLines, func(a, b trace.BadLine) int { return a.Line - b.Line })
	return r.run, nil
}

// reader is what is remembered of a trajectory while it is read.
type reader struct {
	run   *trace.Run
	spill trace.Spill
	texts *trace.Texts
	talk  trace.Talk
	open  []int // the calls of the last message, without those that were answered first
	byID  map[trace.ID]int
	asked bool // the task has been given
}

// take takes in the document. A file holds one; what else stands there is counted.
func (r *reader) take(doc trace.Value) {
	if r.run.Records > 0 || !IsDocument(doc) {
		r.run.Ignored++
		return
	}
	r.run.Records++
	list := doc
	if doc.Kind() == trace.KindObject {
		list = doc.Get("messages")
	}
	for m := range list.Elements() {
		r.message(m)
	}
	info := doc.Get("info")
	r.end(info.Get("exit_status"))
	if version := info.Get("mini_version").Text(); version != "" {
		r.run.Agent = Format + " " + version
	}
	if model := info.Path("config", "model", "model_name").Text(); model != "" {
		r.run.Model = model
	}
}

func (r *reader) end(status trace.Value) {
	if status.Text() != "" {
		r.run.Ended, r.run.EndReason, r.run.NoEndRecords = true, status.Text(), false
	}
}

func (r *reader) message(m trace.Value) {
	if m.Kind() != trace.KindObject {
		r.run.BadLines = append(r.run.BadLines, trace.BadLine{Line: r.texts.Place(m).Line, Reason: "a message that is no JSON object"})
		return
	}
	switch m.Get("role").Text() {
	case "assistant":
		r.assistant(m)
	case "user", "tool":
		r.answer(m)
	case "exit":
		r.exit(m)
	}
}

// exit reads the end of the run. Handing in is answered by it.
func (r *reader) exit(m trace.Value) {
	status := m.Path("extra", "exit_status")
	r.end(status)
	if status.Text() != "Submitted" {
		return
	}
	for _, i := range r.open {
		c := &r.run.Calls[i]
		if c.ResultPos.Set() {
			continue
		}
		c.Result, c.ResultPos, c.Status = m.Get("content").Body(), r.texts.Place(m), "unknown"
	}
	r.open = nil
}

// block is a block of code that is a command.
var block = regexp.MustCompile("(?s)```(?:mswea_bash_command|bash)\\s*\n(.*?)\n```")

// assistant reads what the agent said and called.
func (r *reader) assistant(m trace.Value) {
	r.open, r.byID = nil, map[trace.ID]int{}
	pos, said := r.texts.Place(m), text(m.Get("content"))
	r.spend(m.Path("extra", "response"))
	actions, submits := m.Path("extra", "actions"), false
	for action := range actions.Elements() {
		command := action.Get("command").Text()
		submits = submits || strings.Contains(command, submit)
		r.call(m, action.Get("tool_call_id").ID(), action.Body())
	}
	if blocks := block.FindAllStringSubmatch(said, -1); !actions.Given() && len(blocks) == 1 {
		args, err := json.Marshal(map[string]string{"command": blocks[0][1]})
		if err == nil {
			submits = strings.Contains(blocks[0][1], submit)
			r.call(m, "", r.spill.Add(args))
		}
	}
	if len(r.open) > 0 {
		r.talk.Called()
	}
	for _, i := range r.open {
		if len(r.open) > 1 {
			r.run.Calls[i].Batch = strconv.FormatInt(pos.Offset, 10)
		}
	}
	if submits || len(r.open) == 0 {
		r.talk.Said(block.ReplaceAllString(said, ""), pos)
	}
}

// call adds a call. Without an id it has its number.
func (r *reader) call(m trace.Value, id trace.ID, args trace.Body) {
	if id != "" {
		r.byID[id] = len(r.run.Calls)
	} else {
		id = trace.ID(strconv.Itoa(len(r.run.Calls) + 1))
	}
	r.open = append(r.open, len(r.run.Calls))
	r.run.Calls = append(r.run.Calls, trace.Call{ID: id, Tool: "bash", Pos: r.texts.Place(m), Args: args, Record: m.Body(), Start: m.Path("extra", "timestamp").Time()})
}

// text is what a message says: a text, or several.
func text(content trace.Value) string {
	texts := []string{content.Text()}
	for block := range content.Elements() {
		texts = append(texts, block.Get("text").Text())
	}
	return strings.TrimSpace(strings.Join(texts, "\n"))
}

// answer reads what came of a call, or the task.
func (r *reader) answer(m trace.Value) {
	if !r.asked && m.Get("role").Text() == "user" {
		r.asked = true
		r.talk.Prompt(text(m.Get("content")))
		return
	}
	c := r.asker(m.Get("tool_call_id").ID())
	if c == nil {
		return // what the program says of a message that called nothing
	}
	c.ResultPos = r.texts.Place(m)
	if extra := m.Get("extra"); extra.Get("raw_output").Given() || extra.Get("returncode").Given() {
		c.Result = extra.Get("raw_output").Body()
		code, ok := extra.Get("returncode").ExitCode()
		ended(c, code, ok, extra.Get("exception_info").Text())
		return
	}
	said := text(m.Get("content"))
	c.Result = m.Get("content").Body()
	code, ok := returned(said)
	ended(c, code, ok, said)
}

// asker finds the call that an answer is for: that of its id, or the first that has
// none yet.
func (r *reader) asker(id trace.ID) *trace.Call {
	for len(r.open) > 0 && r.run.Calls[r.open[0]].ResultPos.Set() {
		r.open = r.open[1:]
	}
	if id != "" {
		if i, ok := r.byID[id]; ok && !r.run.Calls[i].ResultPos.Set() {
			return &r.run.Calls[i]
		}
		return nil
	}
	if len(r.open) == 0 {
		return nil
	}
	return &r.run.Calls[r.open[0]]
}

// returned reads the code with which an answer of text begins.
func returned(said string) (int32, bool) {
	rest, ok := strings.CutPrefix(said, "<returncode>")
	if !ok {
		return 0, false
	}
	number, _, _ := strings.Cut(rest, "</returncode>")
	code, err := strconv.ParseInt(strings.TrimSpace(number), 10, 32)
	return int32(code), err == nil
}

// ended writes how a command ended. Why is the exception that ended it instead.
func ended(c *trace.Call, code int32, ok bool, why string) {
	late := strings.Contains(why, "timed out")
	switch {
	case ok && code != -1:
		c.HasExit, c.ExitCode = true, code
	case late && (ok || strings.HasPrefix(why, "The last command ")):
		c.Status = "timed_out"
	case ok:
		c.IsError = trace.FlagTrue
	default:
		c.Status = "unknown"
	}
}

// spend counts an answer of the model.
func (r *reader) spend(response trace.Value) {
	u := response.Get("usage")
	cached := u.Get("prompt_tokens_details").Tokens("cached_tokens")
	r.run.Spend(trace.Usage{
		Model: response.Get("model").Text(), Prompt: max(0, u.Tokens("prompt_tokens")-cached), Cached: cached,
		Completion: u.Tokens("completion_tokens"), Total: u.Tokens("total_tokens"),
	})
}

// maxMessages is how many messages are looked at.
const maxMessages = 16

// IsDocument tells whether a file that is one JSON text is of this format.
func IsDocument(doc trace.Value) bool {
	if doc.Kind() == trace.KindObject {
		return doc.Get("messages").Kind() == trace.KindArray &&
			(strings.HasPrefix(doc.Get("trajectory_format").Text(), Format) || doc.Path("info", "mini_version").Given())
	}
	n := 0
	for m := range doc.Elements() {
		said := m.Get("content").Text()
		switch m.Get("role").Text() {
		case "assistant":
			if strings.Contains(said, "```mswea_bash_command\n") {
				return true
			}
		case "user":
			if strings.HasPrefix(said, "<returncode>") {
				return true
			}
		}
		if n++; n == maxMessages {
			break
		}
	}
	return false
}
