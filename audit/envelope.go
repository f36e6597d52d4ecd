package audit

import (
	"fmt"
	"slices"
	"strings"

	"nightaudit/audit/claims"
	"nightaudit/trace"
)

// envelope judges the tool envelopes of a run against their pinned schema: one
// finding a fault, or one PASS.
func (l *ledger) envelope(e *claims.Envelope) group {
	b := &envelopes{ledger: l, want: e, committed: map[string]int{}, failed: map[string][]int{}, hidden: map[string]bool{}, mended: map[int]bool{}}
	for i := range l.run.Calls {
		if c := &l.run.Calls[i]; !c.ResultOnly && (c.Envelope || l.run.Format == "native") {
			b.check(i)
		}
	}
	b.bringForward()
	if e.Cap > 0 && b.count > e.Cap {
		b.add(Finding{Verdict: Contradicted, Reason: RunCutOff, Detail: fmt.Sprintf("%d envelopes are recorded, more than the cap of %d", b.count, e.Cap)})
	}
	if b.count == 0 {
		b.add(l.absent(Finding{Verdict: Unsupported, Reason: NoCall, Detail: "no envelope is recorded"}))
	}
	if len(b.findings) == 0 {
		b.add(l.absent(Finding{Verdict: Pass, Calls: l.refs(b.evidence), rests: true, recovered: b.recovered}))
	}
	out := group{verdict: Pass, findings: b.findings}
	for _, f := range b.findings {
		if f.Verdict.rank() > out.verdict.rank() {
			out.verdict, out.reason = f.Verdict, f.Reason
		}
	}
	return out
}

// envelopes walks the envelopes of a run in order.
type envelopes struct {
	*ledger
	want      *claims.Envelope
	count     int
	findings  []Finding
	evidence  []int
	recovered []int

	committed map[string]int   // tool and key of a call that took effect
	failed    map[string][]int // … of failed calls: their indexes among findings
	hidden    map[string]bool  // tools of which a key was redacted
	mended    map[int]bool     // findings that a later call with the same key recovered
}

func (b *envelopes) add(f Finding) {
	f.Requirement = "envelope"
	b.findings = append(b.findings, f)
}

// fault adds a finding about call i.
func (b *envelopes) fault(i int, v Verdict, r Reason, detail string) *Finding {
	b.add(Finding{Verdict: v, Reason: r, Calls: b.refs([]int{i}), Detail: detail, rests: true})
	return &b.findings[len(b.findings)-1]
}

// check judges one envelope.
func (b *envelopes) check(i int) {
	rec, err := b.run.Value(b.run.Calls[i].Record)
	if err != nil {
		b.fail(i, err)
		return
	}
	b.count++
	if !b.searched[i] { // another claim may look at the same line
		b.searched[i] = true
		b.secrets = append(b.secrets, secretsOf(b.run, i)...)
	}
	tool, key := rec.Get("tool").Text(), rec.Get("idempotency_key").Text()
	status := rec.Get("response").Get("status")
	code, isInt := status.Int()
	before := len(b.findings)
	if missing := incomplete(rec); len(missing) > 0 {
		b.fault(i, Unsupported, EnvelopeIncomplete, "missing or of the wrong type: "+strings.Join(missing, ", "))
		if isInt && inContract(tool, code) {
			b.register(tool, key, i)
		}
		return
	}
	b.checkSchema(i, rec, tool)
	hidden := b.tables.IsMark(key)
	if !isRead(tool) && isInt && inContract(tool, code) && hidden && b.hidden[tool] {
		b.fault(i, Unsupported, Redacted, "idempotency keys that were redacted cannot be told apart")
	}
	b.hidden[tool] = b.hidden[tool] || hidden
	if !isRead(tool) && isInt && inContract(tool, code) && !hidden {
		if first, twice := b.committed[tool+"\x00"+key]; twice {
			b.fault(i, Contradicted, DuplicateWrite, fmt.Sprintf("the same tool and idempotency key as on %s, and both took effect", b.place(first)))
		}
	}
	b.checkStatus(i, rec, tool, key, status)
	if len(b.findings) == before {
		b.evidence = append(b.evidence, i)
	}
}

// incomplete names the fields of an envelope that are missing, null or of the
// wrong type.
func incomplete(rec trace.Value) []string {
	var out []string
	need := func(name string, kinds ...trace.Kind) {
		have := rec.Get(name).Kind()
		if !slices.Contains(kinds, have) {
			out = append(out, name)
		}
	}
	need("ts", trace.KindString, trace.KindNumber)
	need("schema_sha256", trace.KindString)
	need("tool", trace.KindString)
	need("idempotency_key", trace.KindString)
	need("request", trace.KindObject)
	need("response", trace.KindObject)
	return out
}

// checkSchema compares the schema's hash and the request with the pinned schema.
func (b *envelopes) checkSchema(i int, rec trace.Value, tool string) {
	if len(b.want.Schemas) == 0 {
		return
	}
	hash := rec.Get("schema_sha256").Text()
	var pinned *claims.Schema
	for k := range b.want.Schemas {
		if strings.EqualFold(b.want.Schemas[k].SHA256, hash) {
			pinned = &b.want.Schemas[k]
			break
		}
	}
	if pinned == nil {
		f := b.fault(i, Contradicted, SchemaDrift, "the call was made under another schema than the pinned one")
		f.Expected, f.Observed = encode(b.want.Schemas[0].SHA256), encode(hash)
		return
	}
	schema, ok := pinned.Tools[tool]
	if !ok {
		return
	}
	request, err := rec.Get("request").Decode()
	if err != nil {
		return
	}
	m, ok := request.(map[string]any)
	if !ok {
		return
	}
	if _, own := m["idempotency_key"]; !own {
		m["idempotency_key"] = rec.Get("idempotency_key").Text()
	}
	if err := schema.Validate(m); err != nil {
		b.fault(i, Contradicted, ValueDiffers, "the request does not follow the pinned schema: "+schemaFault(err))
	}
}

// checkStatus compares the response with the tool's contract, and remembers what
// took effect and what failed.
func (b *envelopes) checkStatus(i int, rec trace.Value, tool, key string, status trace.Value) {
	code, ok := status.Int()
	switch {
	case !ok:
		f := b.fault(i, Contradicted, BadStatus, "the response's status is no whole number")
		f.Observed = statusText(status)
	case !inContract(tool, code):
		f := b.fault(i, Contradicted, BadStatus, fmt.Sprintf("status %d lies outside the contract of %s", code, tool))
		f.Observed = statusText(status)
		if key != "" {
			b.failed[tool+"\x00"+key] = append(b.failed[tool+"\x00"+key], len(b.findings)-1)
		}
	default:
		for _, k := range b.failed[tool+"\x00"+key] {
			b.mended[k] = true
			b.recovered = append(b.recovered, b.findings[k].Calls[0].index)
		}
		delete(b.failed, tool+"\x00"+key)
		b.register(tool, key, i)
		if id := rec.Path("response", "body", "id"); isCreate(tool) && id.Text() == "" {
			b.fault(i, Contradicted, NoID, "the response of a create holds no id")
		}
	}
}

func (b *envelopes) register(tool, key string, i int) {
	if key != "" {
		if _, have := b.committed[tool+"\x00"+key]; !have {
			b.committed[tool+"\x00"+key] = i
		}
	}
}

// bringForward drops the findings that a later call with the same key recovered.
func (b *envelopes) bringForward() {
	if len(b.mended) == 0 {
		return
	}
	kept := b.findings[:0]
	for k, f := range b.findings {
		if !b.mended[k] {
			kept = append(kept, f)
		}
	}
	b.findings = kept
}

func statusText(v trace.Value) []byte {
	if v.Kind() == trace.KindAbsent {
		return nil
	}
	return v.Raw()
}

// inContract tells whether a status is one that the tool's contract allows.
func inContract(tool string, code int64) bool {
	if isCreate(tool) {
		return code == 200 || code == 201
	}
	return code >= 200 && code <= 299
}

func isCreate(tool string) bool { return isVerb(tool, "create") }

// isRead tells whether a tool only reads, so that calling it twice with one key
// writes nothing twice.
func isRead(tool string) bool {
	for _, verb := range []string{"get", "list", "read", "search", "find", "fetch"} {
		if tool != verb && isVerb(tool, verb) {
			return true
		}
	}
	return false
}

// isVerb tells whether a tool's name is the verb, or begins with the verb and a
// separator: create_report, create.report, but not created_at_lookup.
func isVerb(tool, verb string) bool {
	rest, ok := strings.CutPrefix(tool, verb)
	return ok && (rest == "" || strings.IndexByte("_-./: ", rest[0]) >= 0)
}

// schemaFault shortens a validation error to its first cause.
func schemaFault(err error) string {
	lines := strings.Split(err.Error(), "\n")
	if len(lines) > 1 {
		return strings.TrimPrefix(strings.TrimSpace(lines[1]), "- ")
	}
	return lines[0]
}

// secretsOf reports the secrets that the record of call i holds.
func secretsOf(run *trace.Run, i int) []SecretAt {
	found, err := run.Secrets(run.Calls[i].Record)
	if err != nil {
		return nil
	}
	var out []SecretAt
	for _, s := range found {
		out = append(out, SecretAt{Line: run.Calls[i].Pos.Line, Kind: s.Kind, Place: s.Place})
	}
	return out
}
