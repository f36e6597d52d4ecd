package scheduler

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"nightaudit/audit"
	"nightaudit/audit/outcome"
	"nightaudit/report"
	"nightaudit/rerun"
	"nightaudit/store"
	"nightaudit/trace"
)

// Caps of what is kept of a call that a finding names, in bytes.
const (
	keptArgs   = 2 << 10
	keptResult = 4 << 10
)

// auditRecord is what is about to be stored of a file.
type auditRecord struct{ store.AuditRecord }

// hashOf writes an identity out of its parts.
func hashOf(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(strconv.Itoa(len(p)) + ":" + p))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// RunKey identifies a run over all versions of its trace: by its source and the
// format's own session id, else by its path.
func RunKey(source string, run *trace.Run, path string) string {
	if run.ID != "" {
		return hashOf(source, "id", run.ID)
	}
	return hashOf(source, "path", path)
}

// runKeys gives the runs of one file their keys: runs that cannot be told apart by
// their ids are told apart by their order.
type runKeys map[string]int

func (k runKeys) next(source string, run *trace.Run, path string) string {
	key := RunKey(source, run, path)
	k[key]++
	if n := k[key]; n > 1 {
		return hashOf(key, "run of the file", strconv.Itoa(n))
	}
	return key
}

// ClaimKey identifies a claim over all versions of a run: its first eight digits
// are what people type.
func ClaimKey(runKey string, j audit.Judged) string {
	return hashOf(runKey, string(j.Claim.Source), string(j.Claim.Requirement), j.Claim.Text)
}

// runRecord makes what is stored of one audited run.
func runRecord(key, source, path string, r *audit.Report, now time.Time) (store.RunRecord, error) {
	run := r.Run
	rec := store.RunRecord{
		RunKey: key, TraceHash: hex.EncodeToString(run.SHA256[:]), Source: source, Path: path,
		Format: run.Format, SessionID: trace.Redact(run.ID), Calls: report.CallCount(run), BadLines: len(run.BadLines),
		Started: run.Started, Audited: now,
		Totals: store.Totals{Pass: r.Totals.Pass, Unsupported: r.Totals.Unsupported, Contradicted: r.Totals.Contradicted, NotChecked: len(r.NotChecked)},
	}
	var requirements []string
	for _, j := range r.Claims {
		findings, err := report.FindingsJSON(j)
		if err != nil {
			return rec, fmt.Errorf("store findings: %w", err)
		}
		requirements = append(requirements, string(j.Claim.Requirement), j.Claim.Text)
		rec.Claims = append(rec.Claims, store.ClaimRecord{
			ClaimKey: ClaimKey(key, j), ClaimID: trace.Redact(j.Claim.ID), Statement: trace.Redact(j.Claim.Text), Source: string(j.Claim.Source),
			Verdict: string(j.Verdict), Reason: string(j.Reason), OwnMeasure: j.OwnMeasure, Recovered: j.Recovered, Strength: j.Strength,
			Findings: findings, Requirement: json.RawMessage(trace.RedactJSON(j.Claim.Requirement)),
		})
	}
	rec.ClaimsHash = hashOf(requirements...)
	excerpts, err := excerpts(r)
	rec.Excerpts = excerpts
	return rec, err
}

// add takes a run into the record of its file.
func (a *auditRecord) add(run *trace.Run, rec store.RunRecord) {
	a.File.Format = run.Format
	a.File.SHA256 = rec.TraceHash
	a.File.Records += run.Records
	a.Runs = append(a.Runs, rec)
}

// excerpts keeps of each call that a finding or a segment names as much as a
// person needs, because agents delete their traces.
func excerpts(r *audit.Report) ([]store.Excerpt, error) {
	var out []store.Excerpt
	kept := map[int64]bool{}
	keep := func(ref audit.CallRef) error {
		c := ref.In(r.Run)
		if kept[c.Pos.Offset] {
			return nil
		}
		kept[c.Pos.Offset] = true
		args, err := r.Run.Body(c.Args)
		if err != nil {
			return err
		}
		result, err := outcome.Output(r.Run, c)
		if err != nil {
			return err
		}
		out = append(out, store.Excerpt{
			Offset: c.Pos.Offset, Line: c.Pos.Line, CallID: trace.Redact(c.ID.String()), Tool: trace.Redact(c.Tool),
			Arguments: cut(string(trace.RedactJSON(args)), keptArgs), Result: cut(trace.Redact(result), keptResult),
		})
		return nil
	}
	for _, j := range r.Claims {
		for _, f := range j.Findings {
			for _, ref := range f.Calls {
				if err := keep(ref); err != nil {
					return nil, fmt.Errorf("keep excerpt of %s: %w", r.Run.Source, err)
				}
			}
		}
	}
	for _, s := range r.Segments {
		for _, ref := range []*audit.CallRef{s.Checkpoint, s.Cut, s.Start, s.End} {
			if ref == nil {
				continue
			}
			if err := keep(*ref); err != nil {
				return nil, fmt.Errorf("keep excerpt of %s: %w", r.Run.Source, err)
			}
		}
	}
	return out, nil
}

func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + " …"
}

// FirstTrace returns what opens the run that a queued item was cut from, with the
// format and root of its source, if its file is still what it was then.
func FirstTrace(sources []Source) rerun.FirstTrace {
	return func(ctx context.Context, it rerun.Item, use func(*trace.Run) error) (bool, error) {
		var src Source // of a source that is no longer configured: by content
		if i := slices.IndexFunc(sources, func(s Source) bool { return s.Name == it.Source }); i >= 0 {
			src = sources[i]
		}
		opened, closer, err := OpenTrace(src.root(it.Path), it.Path, src.Scratch)
		if err != nil {
			return false, nil // deleted or unreadable: the re-run is judged alone
		}
		defer closer.Close()
		keys := runKeys{}
		for run, err := range src.reader()(ctx, opened) {
			if err != nil {
				return false, nil
			}
			if key := keys.next(it.Source, run, it.Path); key == it.RunKey && hex.EncodeToString(run.SHA256[:]) == it.TraceHash {
				return true, use(run)
			}
		}
		return false, nil
	}
}
