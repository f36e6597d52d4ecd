package report

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"io"

	"nightaudit/audit"
	"nightaudit/trace"
)

// The JSON document of an audit. Fields may be added, never renamed; docs/json.md
// describes them.
type (
	documentJSON struct {
		Version int       `json:"version"`
		Runs    []runJSON `json:"runs"`
	}
	runJSON struct {
		Trace      string        `json:"trace"`
		Run        *string       `json:"run"`
		Format     string        `json:"format"`
		SHA256     string        `json:"sha256"`
		Calls      int           `json:"calls"`
		BadLines   []badLineJSON `json:"bad_lines"`
		Gaps       []gapJSON     `json:"gaps"`
		Claims     []claimJSON   `json:"claims"`
		NotChecked []string      `json:"not_checked"`
		Segments   []segmentJSON `json:"segments"`
		Secrets    []secretJSON  `json:"secrets"`
		Totals     totalsJSON    `json:"totals"`
	}
	badLineJSON struct {
		Line   int    `json:"line"`
		Reason string `json:"reason"`
	}
	gapJSON   badLineJSON
	claimJSON struct {
		ID         string        `json:"id"`
		Claim      string        `json:"claim"`
		Source     string        `json:"source"`
		Verdict    string        `json:"verdict"`
		Reason     *string       `json:"reason"`
		Strength   *string       `json:"strength"`
		Recovered  bool          `json:"recovered"`
		OwnMeasure bool          `json:"own_measure"`
		Evidence   []callJSON    `json:"evidence"`
		Findings   []findingJSON `json:"findings"`
	}
	findingJSON struct {
		Requirement string          `json:"requirement"`
		Verdict     string          `json:"verdict"`
		Reason      *string         `json:"reason"`
		Calls       []callJSON      `json:"calls"`
		Expected    json.RawMessage `json:"expected"`
		Observed    json.RawMessage `json:"observed"`
		Detail      string          `json:"detail"`
	}
	callJSON struct {
		ID   json.RawMessage `json:"id"`
		File string          `json:"file,omitempty"` // a sub-agent's own file
		Line int             `json:"line"`
		Tool string          `json:"tool"`
	}
	placeJSON struct {
		ID   json.RawMessage `json:"id"`
		File string          `json:"file,omitempty"` // a sub-agent's own file
		Line int             `json:"line"`
	}
	segmentJSON struct {
		Claims     []string   `json:"claims"`
		Checkpoint *placeJSON `json:"checkpoint"`
		Cut        *placeJSON `json:"cut"`
		Start      *placeJSON `json:"start"`
		End        *placeJSON `json:"end"`
		Downstream []string   `json:"downstream"`
	}
	secretJSON struct {
		Line  int    `json:"line"`
		Kind  string `json:"kind"`
		Place string `json:"place"`
	}
	totalsJSON struct {
		Pass         int `json:"pass"`
		Unsupported  int `json:"unsupported"`
		Contradicted int `json:"contradicted"`
		Statements   int `json:"statements"`
		Checked      int `json:"checked"`
	}
)

// JSON writes reports as one document.
func JSON(w io.Writer, reports []*audit.Report) error {
	doc := documentJSON{Version: 1, Runs: []runJSON{}}
	for _, r := range reports {
		doc.Runs = append(doc.Runs, toJSON(r))
	}
	return encode(w, doc)
}

func encode(w io.Writer, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(escapeJSON(b.Bytes()))
	return err
}

func toJSON(r *audit.Report) runJSON {
	run := r.Run
	out := runJSON{
		Trace: run.Source, Run: orNull(trace.Redact(run.ID)), Format: run.Format, SHA256: hex.EncodeToString(run.SHA256[:]), Calls: CallCount(run),
		BadLines: []badLineJSON{}, Gaps: []gapJSON{}, Claims: []claimJSON{}, NotChecked: []string{}, Segments: []segmentJSON{}, Secrets: []secretJSON{},
		Totals: totalsJSON(r.Totals),
	}
	for _, b := range run.BadLines {
		out.BadLines = append(out.BadLines, badLineJSON{Line: b.Line, Reason: trace.Redact(b.Reason)})
	}
	for _, g := range run.Gaps {
		out.Gaps = append(out.Gaps, gapJSON{Line: g.Pos.Line, Reason: trace.Redact(g.Reason)})
	}
	for _, j := range r.Claims {
		out.Claims = append(out.Claims, toClaimJSON(j))
	}
	for _, s := range r.NotChecked {
		out.NotChecked = append(out.NotChecked, trace.Redact(s))
	}
	for _, s := range r.Segments {
		out.Segments = append(out.Segments, segmentJSON{
			Claims: names(r, s.Claims), Checkpoint: place(s.Checkpoint), Cut: place(s.Cut), Start: place(s.Start), End: place(s.End),
			Downstream: names(r, s.Downstream),
		})
	}
	for _, s := range r.Secrets {
		out.Secrets = append(out.Secrets, secretJSON(s))
	}
	return out
}

func toClaimJSON(j audit.Judged) claimJSON {
	c := claimJSON{
		ID: trace.Redact(j.Claim.ID), Claim: trace.Redact(j.Claim.Text), Source: string(j.Claim.Source), Verdict: string(j.Verdict), Reason: orNull(string(j.Reason)),
		Strength: orNull(j.Strength), Recovered: j.Recovered, OwnMeasure: j.OwnMeasure, Evidence: calls(j.Evidence), Findings: []findingJSON{},
	}
	c.Findings = append(c.Findings, findings(j)...)
	return c
}

func findings(j audit.Judged) []findingJSON {
	var out []findingJSON
	for _, f := range j.Findings {
		out = append(out, findingJSON{
			Requirement: f.Requirement, Verdict: string(f.Verdict), Reason: orNull(string(f.Reason)), Calls: calls(f.Calls),
			Expected: redacted(f.Expected), Observed: redacted(f.Observed), Detail: trace.Redact(f.Detail),
		})
	}
	return out
}

// FindingsJSON writes a claim's findings in the form of the JSON document, as
// they are stored.
func FindingsJSON(j audit.Judged) (json.RawMessage, error) { return json.Marshal(findings(j)) }

func redacted(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return nil
	}
	return trace.RedactJSON(raw)
}

func calls(refs []audit.CallRef) []callJSON {
	out := []callJSON{}
	for _, r := range refs {
		out = append(out, callJSON{ID: idJSON(r.ID), File: trace.Redact(r.File), Line: r.Line, Tool: trace.Redact(r.Tool)})
	}
	return out
}

func place(r *audit.CallRef) *placeJSON {
	if r == nil {
		return nil
	}
	return &placeJSON{ID: idJSON(r.ID), File: trace.Redact(r.File), Line: r.Line}
}

func idJSON(id trace.ID) json.RawMessage {
	if id == "" {
		return nil
	}
	return trace.RedactJSON([]byte(id))
}

func names(r *audit.Report, claims []int) []string {
	out := []string{}
	for _, i := range claims {
		out = append(out, trace.Redact(r.Claims[i].Claim.ID))
	}
	return out
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// CallCount counts a run's calls; results that belong to no call are none.
func CallCount(run *trace.Run) int {
	n := 0
	for i := range run.Calls {
		if !run.Calls[i].ResultOnly {
			n++
		}
	}
	return n
}
