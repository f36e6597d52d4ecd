package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// plainLines is what a Scanner must come to, by the plain means: each line is
// checked byte by byte, and its members are found by walking it.
func plainLines(data []byte, maxLine int) (records []string, bad []BadLine) {
	lines := bytes.SplitAfter(data, []byte("\n"))
	if len(lines[len(lines)-1]) == 0 {
		lines = lines[:len(lines)-1]
	}
	for no, line := range lines {
		no++
		line, ended := bytes.CutSuffix(line, []byte("\n"))
		if len(line) > maxLine {
			bad = append(bad, BadLine{no, fmt.Sprintf("longer than %d bytes", maxLine)})
			continue
		}
		if no == 1 {
			line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		more, reason := plainLine(line, no)
		records = append(records, more...)
		if reason != "" && !ended {
			reason = "the last line is cut off: " + reason
		}
		if reason != "" {
			bad = append(bad, BadLine{no, reason})
		}
	}
	return records, bad
}

func plainLine(line []byte, no int) (records []string, reason string) {
	for i := skipSpace(line, 0); i < len(line); i = skipSpace(line, 0) {
		end, err := check(line, i)
		if err == nil && line[i] != '{' {
			err = errNoObject
		}
		if err == nil {
			err = Value{raw: line[i:end]}.UniqueNames()
		}
		if err != nil {
			return records, err.Error()
		}
		records = append(records, showRecord(Record{Value: Value{raw: line[i:end]}, Pos: Position{Line: no}}))
		line = line[end:]
	}
	return records, ""
}

// showRecord writes a record with its members.
func showRecord(r Record) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s", r.Pos.Line, r.Raw())
	for k, v := range r.Members() {
		fmt.Fprintf(&b, "|%q=%s@%d", k.Text(), v.Raw(), v.offset-r.offset)
		if got := r.Get(k.Text()); string(got.Raw()) != string(v.Raw()) {
			fmt.Fprintf(&b, " but Get gives %s", got.Raw())
		}
	}
	return b.String()
}

// scanWith scans with blocks of a size, and so many of them read ahead.
func scanWith(t *testing.T, data []byte, maxLine, size, depth int) (records []string, run *Run) {
	t.Helper()
	src := source(data)
	run = NewRun(src, "test")
	sc := NewScanner(t.Context(), src)
	sc.feed.maxLine, sc.feed.size, sc.depth = maxLine, size, depth
	for sc.Next() {
		records = append(records, showRecord(sc.Record()))
	}
	if err := sc.Finish(run); err != nil {
		t.Fatal(err)
	}
	return records, run
}

// holdScan compares scans with blocks of all kinds with the plain one.
func holdScan(t *testing.T, data []byte, maxLine int) {
	t.Helper()
	want, bad := plainLines(data, maxLine)
	whole, first := scanWith(t, data, maxLine, blockSize, 1)
	if !slices.Equal(whole, want) || !slices.Equal(first.BadLines, bad) {
		t.Fatalf("%q\nrecords %q %+v\nwant    %q %+v", data, whole, first.BadLines, want, bad)
	}
	for _, c := range []struct{ size, depth int }{{1, 1}, {7, 3}, {64, 1}, {100, 2}} {
		got, run := scanWith(t, data, maxLine, c.size, c.depth)
		if !slices.Equal(got, want) || !slices.Equal(run.BadLines, bad) || run.SHA256 != first.SHA256 || run.Torn != first.Torn {
			t.Fatalf("%q in blocks of %d, %d ahead:\nrecords %q %+v\nwant    %q %+v", data, c.size, c.depth, got, run.BadLines, want, bad)
		}
	}
}

// TestGrammar_Texts puts each text at each place of a chunk, as a member of a
// record and as a record, and holds the scan against the plain one and against
// encoding/json.
func TestGrammar_Texts(t *testing.T) {
	for _, c := range jsonTexts {
		if strings.Contains(c.text, "\n") {
			continue // two lines
		}
		for pad := range 70 {
			line := fmt.Sprintf(`{"p":"%s","v":%s,"w":"tail of the record"}`, strings.Repeat("x", pad), c.text)
			records, run := scanWith(t, []byte(line+"\n"), MaxLine, blockSize, 1)
			want, bad := plainLine([]byte(line), 1)
			if !slices.Equal(records, want) || (len(run.BadLines) > 0) != (bad != "") {
				t.Fatalf("%s: records %q, bad lines %+v; want %q, %s", c.name, records, run.BadLines, want, bad)
			}
			if valid := json.Valid([]byte(line)) && utf8.ValidString(line); valid != (len(run.BadLines) == 0) && !strings.Contains(bad, "twice") {
				t.Fatalf("%s: bad lines %+v, encoding/json says %v", c.name, run.BadLines, valid)
			}
		}
		holdScan(t, []byte(c.text+"\n"+`{"a":1}`), MaxLine)
	}
}

// TestGrammar_Fast holds that the lines of real traces need no second look.
func TestGrammar_Fast(t *testing.T) {
	for _, line := range []string{
		`{}`, `{ }`, `{"a":{}}`, `{"a":[]}`, `{"a": [ ], "b": { } }`, `{"ts": 1785596400.12, "type": "tool_call", "tool": "config.write", "ok": false, "error": "a \"b\" \u00e9"}`,
		`{"a":[1,-2.5e+3,true,false,null,"x",{"b":[[{}]]}]}`, `{"a":"é€😀"}`, `{"a" : 1 , "b" : 2 }`, `{"":0}`, `{"a":` + strings.Repeat("[", MaxDepth-1) + strings.Repeat("]", MaxDepth-1) + `}`,
		`{"a":"` + strings.Repeat("0123456789abcdef", 5000) + `"}`,
	} {
		b := &block{maxLine: MaxLine, text: []byte(line)}
		b.index.build(b.text)
		b.grammar.index, b.grammar.text = &b.index, b.text
		if b.index.noted(0, len(line), noteSuspect) || b.quickly(0) != len(line) {
			t.Errorf("%.80s is looked at twice", line)
		}
	}
}

// TestGrammar_Shapes scans records that go on like others, and differ where it
// counts.
func TestGrammar_Shapes(t *testing.T) {
	for _, lines := range [][]string{
		{`{"a":1,"b":2}`, `{"a":1,"a":2}`, `{"a":1,"b":2}`},
		{`{"a":1,"b":2}`, `{"b":1,"a":2}`, `{"b":1,"b":2}`, `{"a":1,"b":2,"a":3}`},
		{`{"a": 1}`, `{"a":1}`, `{"a" :1}`, `{"a": 1 }`, `{"a"; 1}`},
		{`{"a":"x","b":"y"}`, `{"a":"x\",\"b\":","b":"y"}`, `{"a":"x","\u0062":"y"}`, `{"a":"x","\u0061":"y"}`},
		{`{"a":1,"b":2,"c":3}`, `{"a":1,"b":2}`, `{"a":1}`, `{}`, `{"a":1,"b":2,}`, `{"a":1,"b":2,"c":}`, `{"a":1,"b":2,"c":`},
		{`{"a":{"b":1},"c":2}`, `{"a":{"b":1,"c":2}}`, `{"a":{"b":1},"c":2,"b":3}`},
	} {
		text := strings.Join(lines, "\n")
		holdScan(t, []byte(text+"\n"+text), MaxLine)
	}
	var many strings.Builder // more than are learnt: other names, more of them, longer ones
	for i := range 2 * maxShapes {
		fmt.Fprintf(&many, "{\"k%d\":0,\"same\":%d,\"same%d\":1}\n", i, i, i%3)
	}
	for i := range 200 {
		many.WriteString("{\"x\":0")
		for k := range i {
			fmt.Fprintf(&many, ",\"k%d\":%d", k, k)
		}
		many.WriteString("}\n")
	}
	many.WriteString(`{"` + strings.Repeat("long", 100) + `":1,"b":2,"b":3}` + "\n")
	for range 2 {
		want, bad := plainLines([]byte(many.String()), MaxLine)
		got, run := scanWith(t, []byte(many.String()), MaxLine, blockSize, 1)
		if !slices.Equal(got, want) || !slices.Equal(run.BadLines, bad) {
			t.Errorf("%d records, bad lines %+v; want %d, %+v", len(got), run.BadLines, len(want), bad)
		}
	}
}

// TestGrammar_Damage damages lines at random, a byte at a time.
func TestGrammar_Damage(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	lines := []string{
		`{"ts": 1785596400.12, "type": "tool_call", "tool": "config.write", "ok": false, "error": "validation failed"}`,
		`{"a":[1,2.5e-3,true,false,null,"x\u00e9\n\\"],"b":{"c":[{}],"d":""},"é":"€ \ud83d\ude42"}`,
		`{"a":"` + strings.Repeat(`\n\t\"abc`, 12) + `"}`, `[]`, `{"a":{"a":{"a":0}}} {"b":1}`,
	}
	alphabet := []byte("\"\\\\{}[]:,0123456789-+.eEtrufalsn \t\r\n\x00\x1f\x7f\x80\xc3\xa9u")
	for range 30_000 {
		var text []byte
		for range 1 + r.IntN(3) {
			text = append(append(text, lines[r.IntN(len(lines))]...), '\n')
		}
		for range r.IntN(4) {
			i := r.IntN(len(text))
			switch r.IntN(3) {
			case 0:
				text[i] = alphabet[r.IntN(len(alphabet))]
			case 1:
				text = slices.Delete(text, i, i+1)
			default:
				text = slices.Insert(text, i, alphabet[r.IntN(len(alphabet))])
			}
		}
		want, bad := plainLines(text, 200)
		got, run := scanWith(t, text, 200, blockSize, 1)
		if !slices.Equal(got, want) || !slices.Equal(run.BadLines, bad) {
			t.Fatalf("%q\nrecords %q %+v\nwant    %q %+v", text, got, run.BadLines, want, bad)
		}
	}
}

// FuzzGrammar holds the scan against the plain one, in blocks of all kinds.
func FuzzGrammar(f *testing.F) {
	for _, c := range jsonTexts {
		f.Add([]byte(`{"v":`+c.text+"}\n{\"v\":1}"), uint16(300))
	}
	f.Add([]byte("\n"+strings.Repeat("0", 260)), uint16(250)) // over the cap, and without an end
	f.Fuzz(func(t *testing.T, data []byte, most uint16) {
		holdScan(t, data, int(most)+1)
	})
}
