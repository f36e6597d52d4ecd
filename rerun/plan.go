package rerun

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"

	"nightaudit/audit"
	"nightaudit/audit/claims"
	"nightaudit/audit/outcome"
	"nightaudit/rerun/tools"
	"nightaudit/trace"
)

// Origin says which run an Item is cut from.
type Origin struct {
	RunKey, TraceHash, Source, Path string
	// ClaimKeys are the keys of Report.Claims, in step.
	ClaimKeys []string
}

// Policy says what may be queued unattended.
type Policy struct {
	// Unsupported also queues claims that the whole trace does not show (reasons of
	// the missing group).
	Unsupported bool
}

// Queueable tells whether a claim's re-run could mend it. Why says in one line
// why it could not, "" where it could.
func (p Policy) Queueable(j audit.Judged) (ok bool, why string) {
	switch {
	case j.Verdict == audit.Pass:
		return false, "it passes"
	case j.Claim.Envelope != nil:
		return false, "what an envelope recorded stays recorded; it needs a person"
	case j.Claim.Source == claims.SourceAction:
		return false, "the action has been taken; it needs a person"
	case !j.Claim.ByTool():
		return false, "its requirements name classes, commands or files; this version re-runs what is named by tools"
	case !keepable(j.Claim.Requirement):
		return false, "its requirement holds what looks like a secret, which is not stored"
	case j.Reason.NeedsPerson():
		return false, "no re-run mends " + string(j.Reason) + "; it needs a person"
	case j.Verdict == audit.Unsupported && !p.Unsupported:
		return false, "unsupported claims are not re-run (rerun.unsupported is off)"
	default:
		return true, ""
	}
}

// Plan makes the Item of a segment; false where none of its claims may be queued.
func Plan(r *audit.Report, s audit.Segment, from Origin, p Policy, set *tools.Set) (Item, bool, error) {
	it := Item{RunKey: from.RunKey, TraceHash: from.TraceHash, Source: from.Source, Path: from.Path}
	var failing []int
	worst := audit.Pass
	for _, i := range s.Claims {
		j := r.Claims[i]
		if ok, _ := p.Queueable(j); !ok {
			continue
		}
		failing = append(failing, i)
		if j.Verdict.Worse(worst) {
			worst = j.Verdict
		}
		it.Claims = append(it.Claims, stored(j, from.ClaimKeys[i]))
	}
	for _, i := range s.Downstream {
		// An envelope needs its schema file, which is not stored.
		if j := r.Claims[i]; j.Claim.Envelope == nil && keepable(j.Claim.Requirement) {
			it.Downstream = append(it.Downstream, stored(j, from.ClaimKeys[i]))
		}
	}
	if len(failing) == 0 {
		return it, false, nil
	}
	it.Worst = string(worst)
	it.Key = segmentKey(it)
	it.Tools = needed(r, failing)
	d := digest{report: r, segment: s, failing: failing, tools: it.Tools, set: set}
	if err := d.build(); err != nil {
		return it, false, err
	}
	it.System, it.User = systemText, d.text()
	it.Estimate = int64(len(it.System) + len(it.User))
	done, err := pastCalls(r, from.RunKey, it.Tools, set)
	it.Done = done
	return it, true, err
}

// keepable tells whether a requirement can be stored as it stands: redacted, it
// would ask for something else.
func keepable(requirement []byte) bool {
	return bytes.Equal(trace.RedactJSON(requirement), requirement)
}

func stored(j audit.Judged, key string) Claim {
	return Claim{
		Key: key, Verdict: string(j.Verdict), Reason: string(j.Reason), Source: j.Claim.Source,
		Claim: StoredClaim{ID: trace.Redact(j.Claim.ID), Text: trace.Redact(j.Claim.Text), Requirement: j.Claim.Requirement},
	}
}

// segmentKey identifies a segment: the claims of one version of one trace.
func segmentKey(it Item) string {
	h := sha256.New()
	for _, part := range append([]string{it.RunKey, it.TraceHash}, claimKeys(it)...) {
		h.Write([]byte(strconv.Itoa(len(part)) + ":" + part))
	}
	return hex.EncodeToString(h.Sum(nil))
}

func claimKeys(it Item) []string {
	var out []string
	for _, c := range it.Claims {
		out = append(out, c.Key)
	}
	return out
}

// needed lists the tools that the failing claims ask for, in their order.
func needed(r *audit.Report, failing []int) []string {
	var out []string
	add := func(tool string) {
		if tool != "" && !slices.Contains(out, tool) {
			out = append(out, tool)
		}
	}
	for _, i := range failing {
		c := r.Claims[i].Claim
		for _, s := range c.MustShow {
			add(s.Tool)
		}
		for _, f := range c.MustNotFail {
			add(f.Tool)
		}
		if c.Grounds == nil {
			continue
		}
		for _, g := range c.Grounds.List {
			for k := range r.Run.Calls {
				if r.Run.Calls[k].ID == g.From {
					add(r.Run.Calls[k].Tool)
				}
			}
		}
	}
	return out
}

// pastCalls lists the calls of the run that may have changed something: those of
// tools that the re-run may call and that the operator has not declared as
// reading. A call without recorded arguments counts as one with none.
func pastCalls(r *audit.Report, runKey string, needed []string, set *tools.Set) ([]PastCall, error) {
	var out []PastCall
	run := r.Run
	for i := range run.Calls {
		c := &run.Calls[i]
		class := set.Class(c.Tool)
		if c.ResultOnly || class == tools.ClassRead || class == tools.ClassForbidden && !slices.Contains(needed, c.Tool) {
			continue
		}
		o, err := r.Outcome(c)
		if err != nil {
			return nil, err
		}
		if o.Kind == outcome.Error || !o.Ran() {
			continue
		}
		args, err := run.Body(c.Args)
		if err != nil {
			return nil, err
		}
		if args == nil {
			args = []byte("{}")
		}
		out = append(out, PastCall{Tool: c.Tool, Line: c.Pos.Line, Known: o.Kind == outcome.OK, Key: tools.Key(runKey, c.Tool, args)})
	}
	return out, nil
}
