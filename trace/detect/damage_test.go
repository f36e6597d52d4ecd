package detect

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"

	"nightaudit/audit/outcome"
	"nightaudit/trace"
	"nightaudit/trace/codex"
)

// reading is what came out of one reading of a file, as far as the tests compare
// it: its calls with their outcomes, in order.
type reading struct {
	runs  []*trace.Run
	calls []seen
}

type seen struct {
	id, tool string
	kind     outcome.Kind
	pos, end int64 // where call and result are recorded; end is -1 without a result
	alone    bool  // a result without its call
}

// damaged reads a file of one format, however damaged it is. An error or a body
// that cannot be read again fails the test.
func damaged(t *testing.T, format string, data []byte) reading {
	t.Helper()
	read, _ := Named(format)
	var r reading
	for run, err := range read(t.Context(), trace.Source{Name: "x", Size: int64(len(data)), ReaderAt: bytes.NewReader(data)}) {
		if err != nil {
			t.Fatalf("%v in\n%s", err, data)
		}
		r.runs = append(r.runs, run)
		for i := range run.Calls {
			r.calls = append(r.calls, look(t, run, &run.Calls[i]))
		}
	}
	return r
}

// looked remembers what was seen of a call: a sample is read thousands of times,
// and the same record with the same bytes has the same outcome.
var looked = map[string]map[trace.Call]seen{}

func look(t *testing.T, run *trace.Run, c *trace.Call) seen {
	t.Helper()
	known := looked[run.Format]
	if known == nil {
		known = map[trace.Call]seen{}
		looked[run.Format] = known
	}
	if s, ok := known[*c]; ok {
		return s
	}
	for _, b := range []trace.Body{c.Args, c.Result, c.Structured, c.Error, c.Record, c.Child} {
		if _, err := run.Value(b); err != nil {
			t.Fatalf("a body of call %s: %v", c.ID, err)
		}
	}
	o, err := outcome.Of(run, c)
	if err != nil {
		t.Fatalf("outcome of call %s: %v", c.ID, err)
	}
	s := seen{id: c.ID.String(), tool: c.Tool, kind: o.Kind, pos: c.Pos.Offset, end: -1, alone: c.ResultOnly}
	if c.ResultPos.Set() {
		s.end = c.ResultPos.Offset
	}
	known[*c] = s
	return s
}

// flaws counts what a reading says to be missing. Some formats say so of every
// file, so what counts is whether damage adds to it.
func (r reading) flaws() int {
	n := 0
	for _, run := range r.runs {
		n += len(run.BadLines) + len(run.Gaps)
		if run.Torn {
			n++
		}
	}
	return n
}

// text is the calls in order, without their places.
func (r reading) text() string {
	var b strings.Builder
	for _, c := range r.calls {
		fmt.Fprintf(&b, "%s %s %s %v\n", c.id, c.tool, c.kind, c.alone)
	}
	for _, run := range r.runs {
		fmt.Fprintf(&b, "summary %q\n", run.Summary)
	}
	return b.String()
}

// kinds is the outcomes that are recorded under each id.
func (r reading) kinds() map[string][]outcome.Kind {
	out := map[string][]outcome.Kind{}
	for _, c := range r.calls {
		out[c.id] = append(out[c.id], c.kind)
	}
	return out
}

// good counts the calls that succeeded.
func (r reading) good() int {
	n := 0
	for _, c := range r.calls {
		if c.kind == outcome.OK {
			n++
		}
	}
	return n
}

// noBetter fails when a call that did not succeed does so after the damage.
func noBetter(t *testing.T, how string, before, after reading) {
	t.Helper()
	was := before.kinds()
	for id, kinds := range after.kinds() {
		if old, known := was[id]; known && id != "" && !slices.Contains(old, outcome.OK) && slices.Contains(kinds, outcome.OK) {
			t.Errorf("%s: call %s was %s and is %s", how, id, old, kinds)
		}
	}
}

// eachSample runs a test on every sample.
func eachSample(t *testing.T, test func(t *testing.T, format string, s sample, data []byte)) {
	for _, format := range slices.Sorted(maps.Keys(samples)) {
		for _, s := range samples[format] {
			t.Run(format+"/"+path.Base(s.file), func(t *testing.T) {
				data, err := os.ReadFile(s.file)
				if err != nil {
					t.Fatal(err)
				}
				test(t, format, s, data)
			})
		}
	}
}

// TestDamage_Samples holds the samples to what the other tests rely on.
func TestDamage_Samples(t *testing.T) {
	for _, f := range Formats() {
		if len(samples[f]) == 0 {
			t.Errorf("%s has no sample: add a file of its testdata to the table", f)
		}
	}
	eachSample(t, func(t *testing.T, format string, s sample, data []byte) {
		if len(data) > maxSample {
			t.Errorf("%d bytes, at most %d", len(data), maxSample)
		}
		if got, err := Format(t.Context(), source(string(data))); err != nil || got != format {
			t.Errorf("it is taken for %q, %v", got, err)
		}
		r := damaged(t, format, data)
		if run := r.runs[0]; len(r.runs) > 1 || len(run.BadLines) > 0 || run.Torn || len(run.Gaps) > s.gaps {
			t.Errorf("%d runs, bad lines %v, gaps %v", len(r.runs), run.BadLines, run.Gaps)
		}
		if (r.good() == 0) != s.mute || r.good() == len(r.calls) {
			t.Errorf("%d of %d calls succeeded; a sample has both kinds", r.good(), len(r.calls))
		}
		for id, kinds := range r.kinds() {
			if id == "" || len(kinds) > 1 {
				t.Errorf("%d calls have the id %q", len(kinds), id)
			}
		}
	})
}

// TestDamage_CutOff cuts each sample at every byte: what stood whole before the
// cut is read as it was, and the rest is no success.
func TestDamage_CutOff(t *testing.T) {
	eachSample(t, func(t *testing.T, format string, s sample, data []byte) {
		before := damaged(t, format, data)
		for n := 0; n < len(data); n += stride {
			cut := data[:n]
			after := damaged(t, format, cut)
			how := fmt.Sprintf("cut at byte %d", n)
			noBetter(t, how, before, after)
			if n > 0 && !allReadable(cut, s.document) && after.flaws() <= before.flaws() {
				t.Errorf("%s: nothing says that the end is missing", how)
			}
			if !s.document {
				unchanged(t, how, before, after, int64(bytes.LastIndexByte(cut, '\n')+1))
			}
			if t.Failed() {
				return
			}
		}
	})
}

// TestDamage_Packed cuts and damages a compressed sample at every byte.
func TestDamage_Packed(t *testing.T) {
	data, err := os.ReadFile(samples[codex.Format][0].file)
	if err != nil {
		t.Fatal(err)
	}
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	packed := enc.EncodeAll(data, nil)
	before := damaged(t, codex.Format, packed)
	if plain := damaged(t, codex.Format, data); before.text() != plain.text() || before.runs[0].SHA256 != sha256.Sum256(packed) {
		t.Errorf("got\n%swant\n%s", before.text(), plain.text())
	}
	if got, err := Format(t.Context(), source(string(packed))); err != nil || got != codex.Format {
		t.Errorf("it is taken for %q, %v", got, err)
	}
	for n := 0; n < len(packed); n += stride {
		hurt := bytes.Clone(packed)
		hurt[n] ^= 0x55
		for how, data := range map[string][]byte{"cut": packed[:n], "damaged": hurt} {
			how = fmt.Sprintf("%s at byte %d", how, n)
			after := damaged(t, codex.Format, data)
			noBetter(t, how, before, after)
			if n > 0 && after.flaws() == 0 && after.text() != before.text() {
				t.Errorf("%s: nothing says that something is missing", how)
			}
		}
	}
}

// unchanged fails when a call that is recorded whole before an offset has another
// outcome than in the whole file.
func unchanged(t *testing.T, how string, before, after reading, offset int64) {
	t.Helper()
	for _, was := range before.calls {
		if was.pos >= offset || was.end >= offset {
			continue
		}
		if !slices.ContainsFunc(after.calls, func(is seen) bool { return is.id == was.id && is.pos == was.pos && is.kind == was.kind }) {
			t.Errorf("%s: call %s at %d was %s and is %v", how, was.id, was.pos, was.kind, after.kinds()[was.id])
		}
	}
}

// readable tells whether a line is a record.
func readable(line []byte) bool {
	v, err := trace.ParseValue(line)
	return err == nil && v.Kind() == trace.KindObject && v.UniqueNames() == nil
}

// TestDamage_Harmless changes what does not matter.
func TestDamage_Harmless(t *testing.T) {
	eachSample(t, func(t *testing.T, format string, s sample, data []byte) {
		before := damaged(t, format, data)
		unknown := []byte(`{"type":"unheard-of","payload":"` + strings.Repeat("x", 3<<20) + `"}` + "\n")
		for _, tt := range []struct {
			name string
			data []byte
			only bool // for JSON Lines only
		}{
			{"CRLF", bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n")), false},
			{"byte-order mark", append([]byte("\xef\xbb\xbf"), data...), false},
			{"no final newline", bytes.TrimRight(data, "\n"), false},
			{"blank lines", bytes.ReplaceAll(data, []byte("\n"), []byte("\n\n \t\n")), false},
			{"all values on one line", bytes.ReplaceAll(data, []byte("\n"), []byte(" ")), false},
			{"values without a blank between them", bytes.ReplaceAll(data, []byte("\n"), nil), false},
			{"long unknown record first", slices.Concat(unknown, data), true},
			{"long unknown record last", slices.Concat(data, unknown), true},
			{"long unknown record between", slices.Concat(firstLines(data, 2), unknown, data[len(firstLines(data, 2)):]), true},
		} {
			if tt.only && s.document {
				continue
			}
			after := damaged(t, format, tt.data)
			if after.text() != before.text() {
				t.Errorf("%s: got\n%swant\n%s", tt.name, after.text(), before.text())
			}
			if after.flaws() > before.flaws() {
				t.Errorf("%s: bad lines %v, gaps %v", tt.name, after.runs[0].BadLines, after.runs[0].Gaps)
			}
		}
	})
}

func firstLines(data []byte, n int) []byte {
	end := 0
	for range n {
		end += bytes.IndexByte(data[end:], '\n') + 1
	}
	return data[:end]
}

// TestDamage_Bytes damages each line at many places: it costs that line, and says
// so.
func TestDamage_Bytes(t *testing.T) {
	eachSample(t, func(t *testing.T, format string, s sample, data []byte) {
		before := damaged(t, format, data)
		step := 12 + stride*5
		if testing.Short() {
			step = 101
		}
		for at := 0; at < len(data); at += step {
			for _, bad := range []string{"\xff", "\x00", `"`, "{", "\n", "\xc3\x28"} {
				if data[at] == '\n' {
					continue
				}
				hurt := slices.Concat(data[:at], []byte(bad), data[at+1:])
				after := damaged(t, format, hurt)
				how := fmt.Sprintf("%q at byte %d", bad, at)
				if !s.document {
					others(t, how, data, at, before, after)
				}
				// A line that is still a record says something else: nobody can tell.
				if !allReadable(hurt, s.document) {
					noBetter(t, how, before, after)
					if after.flaws() <= before.flaws() {
						t.Errorf("%s: nothing says that a line could not be read", how)
					}
				}
				if t.Failed() {
					return
				}
				if _, err := Format(t.Context(), source(string(hurt))); err != nil {
					t.Errorf("%s: %v", how, err)
				}
			}
		}
	})
}

// allReadable tells whether every line is a record, or the document one text. A
// line end between two tokens costs nothing: some readers read the texts, not the
// lines.
func allReadable(data []byte, document bool) bool {
	if document {
		v, err := trace.ParseValue(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
		return err == nil && v.UniqueNames() == nil
	}
	for dec := json.NewDecoder(bytes.NewReader(data)); utf8.Valid(data); {
		var v map[string]any
		if err := dec.Decode(&v); errors.Is(err, io.EOF) {
			return true
		} else if err != nil {
			break
		}
	}
	for line := range bytes.Lines(data) {
		if line = bytes.TrimSpace(line); len(line) > 0 && !readable(line) {
			return false
		}
	}
	return true
}

// others fails when a call that the damaged line does not name has become another,
// unless its end is now missing.
func others(t *testing.T, how string, data []byte, at int, before, after reading) {
	t.Helper()
	start := bytes.LastIndexByte(data[:at], '\n') + 1
	line, _, _ := strings.Cut(string(data[start:]), "\n")
	is := after.kinds()
	for _, was := range before.calls {
		if strings.Contains(line, was.id) {
			continue
		}
		if got := is[was.id]; len(got) != 1 || got[0] != was.kind && got[0] != outcome.Pending && got[0] != outcome.Unknown {
			t.Errorf("%s: call %s, which the line does not name, was %s and is %v", how, was.id, was.kind, got)
		}
	}
}

// TestDamage_Garbage puts lines between the others that no reader can read.
func TestDamage_Garbage(t *testing.T) {
	garbage := []string{
		strings.Repeat("x", 3<<20), strings.Repeat("\x00", 4096), "\xff\xfe\x00", `{"type":`, `"text"`, "[1,2]", "null", "7",
		strings.Repeat("[", 5000), strings.Repeat(`{"a":`, 5000), `{"type":"a","type":"b"}`, "}{",
	}
	eachSample(t, func(t *testing.T, format string, s sample, data []byte) {
		before := damaged(t, format, data)
		for i, g := range garbage {
			head := firstLines(data, 1+i%3)
			hurt := slices.Concat(head, []byte(g+"\n"), data[len(head):])
			after := damaged(t, format, hurt)
			if after.flaws() <= before.flaws() {
				t.Errorf("garbage %d: nothing says that it could not be read", i)
			}
			noBetter(t, fmt.Sprint("garbage ", i), before, after)
			if !s.document && after.text() != before.text() {
				t.Errorf("garbage %d: got\n%swant\n%s", i, after.text(), before.text())
			}
		}
	})
}

// TestDamage_Order reads records in another order than they were written in, and
// twice: no failure turns into a success.
func TestDamage_Order(t *testing.T) {
	eachSample(t, func(t *testing.T, format string, s sample, data []byte) {
		if s.document {
			return
		}
		before := damaged(t, format, data)
		lines := slices.Collect(bytes.Lines(data))
		reversed := slices.Clone(lines)
		slices.Reverse(reversed)
		var doubled [][]byte
		for _, l := range lines {
			doubled = append(doubled, l, l)
		}
		variants := map[string][][]byte{"reversed": reversed, "doubled": doubled, "repeated": slices.Concat(lines, lines)}
		for i := range len(lines) - 1 {
			swapped := slices.Clone(lines)
			swapped[i], swapped[i+1] = swapped[i+1], swapped[i]
			variants[fmt.Sprint("swapped ", i)] = swapped
			variants[fmt.Sprint("without ", i)] = slices.Concat(lines[:i], lines[i+1:])
			variants[fmt.Sprint("from ", i)] = lines[i:]
		}
		for _, name := range slices.Sorted(maps.Keys(variants)) {
			noBetter(t, name, before, damaged(t, format, slices.Concat(variants[name]...)))
		}
	})
}

// TestDamage_Values rewrites ids, numbers and arguments into what they should not be.
func TestDamage_Values(t *testing.T) {
	eachSample(t, func(t *testing.T, format string, s sample, data []byte) {
		before := damaged(t, format, data)
		isID := func(name string) bool { return slices.Contains(s.ids, name) }
		isArgs := func(name string) bool { return slices.Contains(s.args, name) }
		numbers := map[string]json.Number{}
		for _, tt := range []struct {
			name   string
			same   bool // the outcomes stay as they were
			change func(name string, v any) (any, bool)
		}{
			{"ids left out", false, func(name string, v any) (any, bool) { return v, !isID(name) }},
			{"ids that are null", false, func(name string, v any) (any, bool) {
				if isID(name) {
					return nil, true
				}
				return v, true
			}},
			{"ids all the same", false, func(name string, v any) (any, bool) {
				if isID(name) {
					return "same", true
				}
				return v, true
			}},
			{"ids that are lists", false, func(name string, v any) (any, bool) {
				if isID(name) {
					return []any{v}, true
				}
				return v, true
			}},
			{"ids that are numbers", true, func(name string, v any) (any, bool) {
				id, ok := v.(string)
				if !ok || !isID(name) {
					return v, true
				}
				if numbers[id] == "" {
					numbers[id] = json.Number(fmt.Sprint(len(numbers)))
				}
				return numbers[id], true
			}},
			{"huge numbers", false, number("1" + strings.Repeat("0", 40))},
			{"numbers out of range", false, number("-1e99999")},
			{"fractions", false, number("0.5")},
			{"arguments that are no JSON", false, func(name string, v any) (any, bool) {
				if isArgs(name) {
					return `{"a": `, true
				}
				return v, true
			}},
			{"arguments of another kind", false, func(name string, v any) (any, bool) {
				if isArgs(name) {
					return []any{1, nil}, true
				}
				return v, true
			}},
			{"no arguments", false, func(name string, v any) (any, bool) { return v, !isArgs(name) }},
		} {
			after := damaged(t, format, rewritten(t, data, s.document, tt.change))
			if !tt.same && after.good() > before.good() {
				t.Errorf("%s: %d calls succeeded, and now %d do:\n%s", tt.name, before.good(), after.good(), after.text())
			}
			if tt.same && fmt.Sprint(outcomes(after)) != fmt.Sprint(outcomes(before)) {
				t.Errorf("%s: got %v, want %v", tt.name, outcomes(after), outcomes(before))
			}
			noBetter(t, tt.name, before, after)
		}
	})
}

func number(text string) func(string, any) (any, bool) {
	return func(_ string, v any) (any, bool) {
		if _, ok := v.(json.Number); ok {
			return json.Number(text), true
		}
		return v, true
	}
}

func outcomes(r reading) []outcome.Kind {
	var out []outcome.Kind
	for _, c := range r.calls {
		out = append(out, c.kind)
	}
	return out
}

// rewritten passes each member of each record through a change, which may also
// leave it out. Members come out sorted.
func rewritten(t *testing.T, data []byte, document bool, change func(name string, v any) (any, bool)) []byte {
	t.Helper()
	texts := [][]byte{data}
	if !document {
		texts = slices.Collect(bytes.Lines(data))
	}
	var out bytes.Buffer
	for _, text := range texts {
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.UseNumber()
		var v any
		if err := dec.Decode(&v); err != nil {
			t.Fatal(err)
		}
		enc := json.NewEncoder(&out)
		if document {
			enc.SetIndent("", " ")
		}
		if err := enc.Encode(changed("", v, change)); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

func changed(name string, v any, change func(name string, v any) (any, bool)) any {
	switch x := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, m := range x {
			if m, keep := change(k, m); keep {
				out[k] = changed(k, m, change)
			}
		}
		return out
	case []any:
		out := make([]any, len(x))
		for i, m := range x {
			out[i] = changed(name, m, change)
		}
		return out
	default:
		return v
	}
}
