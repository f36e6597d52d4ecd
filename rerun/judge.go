package rerun

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"nightaudit/audit"
	"nightaudit/audit/claims"
	"nightaudit/rerun/tools"
	"nightaudit/trace"
	"nightaudit/trace/native"
)

// FirstTrace opens the run that an item was cut from and hands it to use, which
// must not keep it. It returns false where the trace is gone or has changed.
type FirstTrace func(ctx context.Context, it Item, use func(*trace.Run) error) (bool, error)

// judge audits the attempt on the merged record and fills in what it came to.
func (a *attempt) judge(ctx context.Context) error {
	run, closeTrace, err := a.readOwn(ctx)
	if err != nil {
		return err
	}
	defer closeTrace()
	known := false
	if a.First != nil {
		known, err = a.First(ctx, a.item, func(first *trace.Run) error {
			return a.judgeRun(trace.Join(first, run), len(first.Calls), true)
		})
		if err != nil {
			return fmt.Errorf("judge the merged record: %w", err)
		}
	}
	if !known {
		return a.judgeRun(run, 0, false)
	}
	return nil
}

// readOwn reads the trace that the attempt has just written.
func (a *attempt) readOwn(ctx context.Context) (*trace.Run, func(), error) {
	f, err := os.Open(a.out.TracePath)
	if err != nil {
		return nil, nil, fmt.Errorf("read the re-run's trace: %w", err)
	}
	info, err := f.Stat()
	if err == nil {
		for run, readErr := range native.Read(ctx, trace.Source{Name: a.out.TracePath, Size: info.Size(), ReaderAt: f}) {
			if err = readErr; err == nil {
				return run, func() { f.Close() }, nil
			}
		}
	}
	f.Close()
	return nil, nil, fmt.Errorf("read the re-run's trace: %w", err)
}

// judgeRun judges the item's claims on a merged record.
func (a *attempt) judgeRun(merged *trace.Run, from int, firstKnown bool) error {
	list, err := restored(a.item.Claims)
	if err != nil {
		return err
	}
	judged, err := audit.CheckMerged(merged, from, firstKnown, list, a.observes, a.Tables)
	if err != nil {
		return fmt.Errorf("judge the merged record: %w", err)
	}
	a.out.Claims = nil
	a.out.Outcome = Repaired
	for i, j := range judged {
		c := a.item.Claims[i]
		o := ClaimOutcome{
			Key: c.Key, ID: c.Claim.ID, Text: c.Claim.Text, First: c.Verdict,
			Merged: string(j.Verdict), Reason: string(j.Reason), Outcome: Repaired,
		}
		if j.Verdict != audit.Pass {
			o.Outcome, o.Detail = StillFailing, trace.Redact(firstWorst(j))
			if a.gaveUp {
				o.Outcome = GaveUp
			}
			a.out.Outcome = o.Outcome
		}
		a.out.Claims = append(a.out.Claims, o)
	}
	if !firstKnown {
		return nil // what rests on the first run's calls cannot be judged without them
	}
	return a.judgeDownstream(merged)
}

func restored(stored []Claim) ([]claims.Claim, error) {
	var list []claims.Claim
	for _, c := range stored {
		claim, err := c.restore()
		if err != nil {
			return nil, err
		}
		list = append(list, claim)
	}
	return list, nil
}

// judgeDownstream audits again, on the whole merged record, the claims that passed
// with evidence behind the cut. A repair that breaks one of them is none.
func (a *attempt) judgeDownstream(merged *trace.Run) error {
	list, err := restored(a.item.Downstream)
	if err != nil {
		return err
	}
	judged, err := audit.CheckMerged(merged, 0, true, list, nil, a.Tables)
	if err != nil {
		return fmt.Errorf("judge the merged record: %w", err)
	}
	for i, j := range judged {
		// A gap was there before; what counts is evidence that says otherwise now.
		if j.Verdict != audit.Contradicted {
			continue
		}
		c := a.item.Downstream[i]
		a.out.Claims = append(a.out.Claims, ClaimOutcome{
			Key: c.Key, ID: c.Claim.ID, Text: c.Claim.Text, First: c.Verdict, Merged: string(j.Verdict), Reason: string(j.Reason),
			Detail: "the re-run broke it: " + trace.Redact(firstWorst(j)), Outcome: StillFailing,
		})
		a.out.Outcome = StillFailing
	}
	return nil
}

func firstWorst(j audit.Judged) string {
	for _, f := range j.Findings {
		if f.Verdict == j.Verdict {
			return f.Detail
		}
	}
	return ""
}

// observes tells whether a recorded call looked at what another has changed.
func (a *attempt) observes(run *trace.Run, write, read *trace.Call) bool {
	written, errW := run.Value(write.Args)
	looked, errR := run.Value(read.Args)
	return errW == nil && errR == nil && a.shows(read.Tool, looked, write.Tool, written)
}

// shows tells whether a call of read shows what a call of write changes: the
// operator declared it as reading, and as looking at what that tool writes or of
// the same family by name (config.read and config.write), and every argument that
// both calls name has the same value.
func (a *attempt) shows(read string, looked trace.Value, write string, written trace.Value) bool {
	if a.Tools.Class(read) != tools.ClassRead {
		return false
	}
	if !slices.Contains(a.Observes[read], write) && (family(read) == "" || family(read) != family(write)) {
		return false
	}
	for name, v := range looked.Members() {
		if w := written.Get(name.Text()); w.Kind() != trace.KindAbsent && !sameJSON(v, w) {
			return false
		}
	}
	return true
}

func sameJSON(v, w trace.Value) bool {
	x, errX := tools.Canonical(v.Raw())
	y, errY := tools.Canonical(w.Raw())
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// family is the part of a tool's name that it shares with tools on the same
// thing: config of config.write, "" where the name has only one part.
func family(tool string) string {
	i := strings.LastIndexAny(tool, "./:_-")
	if i <= 0 {
		return ""
	}
	return tool[:i]
}
