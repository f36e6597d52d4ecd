package report

import (
	"encoding/json"
	"fmt"
	"io"

	"nightaudit/audit"
	"nightaudit/audit/claims"
	"nightaudit/trace"
)

// FollowsFrom writes the document that the checker follows-from gives for a
// trace: its words, its fields. Of several actions the worst one is shown, since
// its verdict is the document's.
func FollowsFrom(w io.Writer, r *audit.Report) error {
	doc := followsFromJSON{Verdict: word(audit.Unsupported), Findings: []followsFromFinding{}}
	worst := worstAction(r)
	if worst == nil {
		doc.Findings = append(doc.Findings, followsFromFinding{Verdict: word(audit.Unsupported), Reason: "no action to check"})
		return encode(w, doc)
	}
	doc.Verdict = word(worst.Verdict)
	doc.Decision = orNull(trace.Redact(worst.Claim.Text))
	for i, f := range worst.Findings {
		out := followsFromFinding{Verdict: word(f.Verdict), Reason: trace.Redact(f.Detail), Expected: redacted(f.Expected), Observed: redacted(f.Observed)}
		if g := worst.Claim.Grounds; g != nil && i < len(g.List) {
			out.Ref = idJSON(g.List[i].From)
			if reason := seedReason(g.List[i], f); reason != "" {
				out.Reason = reason
			}
		}
		doc.Findings = append(doc.Findings, out)
	}
	return encode(w, doc)
}

type followsFromJSON struct {
	Verdict  string               `json:"verdict"`
	Decision *string              `json:"decision"`
	Findings []followsFromFinding `json:"findings"`
}

type followsFromFinding struct {
	Verdict  string          `json:"verdict"`
	Reason   string          `json:"reason"`
	Ref      json.RawMessage `json:"ref,omitempty"`
	Expected json.RawMessage `json:"expected,omitempty"`
	Observed json.RawMessage `json:"observed,omitempty"`
}

func word(v audit.Verdict) string {
	switch v {
	case audit.Pass:
		return "SUPPORTED"
	case audit.Contradicted:
		return "CONTRADICTED"
	default:
		return "INSUFFICIENT_EVIDENCE"
	}
}

// worstAction returns the action that decides: the first with the worst verdict.
func worstAction(r *audit.Report) *audit.Judged {
	var worst *audit.Judged
	for i := range r.Claims {
		j := &r.Claims[i]
		if j.Claim.Source == claims.SourceAction && (worst == nil || j.Verdict.Worse(worst.Verdict)) {
			worst = j
		}
	}
	return worst
}

// seedReason gives the reason in that checker's own words, "" where it has none.
func seedReason(g claims.Ground, f audit.Finding) string {
	field, from := trace.Redact(g.Field), trace.Redact(g.From.String())
	switch f.Reason {
	case "", audit.ValueDiffers:
		return comparison(g.Op, field, f.Verdict == audit.Pass)
	case audit.FieldAbsent:
		return fmt.Sprintf("field '%s' absent from '%s' result", field, from)
	case audit.SourceFailed:
		return fmt.Sprintf("tool call '%s' failed", from)
	default:
		return ""
	}
}

func comparison(op claims.Op, field string, pass bool) string {
	switch op {
	case claims.Equals:
		if pass {
			return fmt.Sprintf("'%s' == expected", field)
		}
		return fmt.Sprintf("'%s' != expected", field)
	case claims.NotEquals:
		if pass {
			return fmt.Sprintf("'%s' != excluded value", field)
		}
		return fmt.Sprintf("'%s' == excluded value", field)
	case claims.In:
		if pass {
			return fmt.Sprintf("'%s' in expected", field)
		}
		return fmt.Sprintf("'%s' not in expected", field)
	case claims.Exists:
		if pass {
			return fmt.Sprintf("'%s' exists as expected", field)
		}
		return fmt.Sprintf("'%s' does not exist as expected", field)
	default:
		if pass {
			return fmt.Sprintf("'%s' within the bounds", field)
		}
		return fmt.Sprintf("'%s' outside the bounds", field)
	}
}
