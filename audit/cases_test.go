package audit

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"nightaudit/audit/claims"
	"nightaudit/trace"
	"nightaudit/trace/native"
)

// eachCase runs f on every entry of a case file, the package's own or the
// module's, and on those of the same-named file of the folder that
// NIGHTAUDIT_EXTRA_CASES names.
func eachCase[C any](t *testing.T, file string, name func(C) string, f func(*testing.T, C)) {
	t.Helper()
	paths := []string{filepath.Join("..", "testdata", file)}
	if own := filepath.Join("testdata", file); exists(own) {
		paths = []string{own}
	}
	if extra := os.Getenv("NIGHTAUDIT_EXTRA_CASES"); extra != "" {
		if p := filepath.Join(extra, file); exists(p) {
			paths = append(paths, p)
		}
	}
	for _, path := range paths {
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		r := bufio.NewReader(file)
		for n := 1; ; n++ {
			line, err := r.ReadBytes('\n')
			if len(bytes.TrimSpace(line)) > 0 {
				var c C
				if err := json.Unmarshal(line, &c); err != nil {
					t.Fatalf("%s:%d: %v", path, n, err)
				}
				t.Run(name(c), func(t *testing.T) { f(t, c) })
			}
			if err != nil {
				break
			}
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// readRun reads a trace text as one native run.
func readRun(t testing.TB, text []byte) *trace.Run {
	t.Helper()
	src := trace.Source{Name: "run.jsonl", Size: int64(len(text)), ReaderAt: bytes.NewReader(text)}
	for run, err := range native.Read(t.Context(), src) {
		if err != nil {
			t.Fatal(err)
		}
		return run
	}
	t.Fatal("no run")
	return nil
}

func check(t *testing.T, run *trace.Run, list []claims.Claim) *Report {
	t.Helper()
	rep, err := Check(run, list, Rules{})
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

// exitCode is that of every auditing command.
func exitCode(r *Report) int {
	switch r.Worst() {
	case Contradicted:
		return 1
	case Unsupported:
		return 2
	}
	return 0
}

// oneOf accepts a reason given as a code, a list of codes, or null.
func oneOf(want any, got Reason) bool {
	switch w := want.(type) {
	case nil:
		return got == ""
	case string:
		return w == string(got)
	case []any:
		return slices.Contains(w, any(string(got)))
	}
	return false
}

type claimCase struct {
	Name        string
	Trace       string
	TraceBase64 string `json:"trace_base64"`
	Claims      string
	Expected    []struct {
		Claim     string
		Verdict   Verdict
		Reason    any
		Recovered bool
	}
	Error *struct {
		Kind, Key, Nearest string
	}
	Exit       int
	Checkpoint *struct {
		CutAfter    *int `json:"cut_after"`
		SegmentLine *int `json:"segment_starts_line"`
		Downstream  []int
	}
}

func TestCheck_ClaimCases(t *testing.T) {
	eachCase(t, "claims.jsonl", func(c claimCase) string { return c.Name }, func(t *testing.T, c claimCase) {
		text := []byte(c.Trace)
		if c.TraceBase64 != "" {
			var err error
			if text, err = base64.StdEncoding.DecodeString(c.TraceBase64); err != nil {
				t.Fatal(err)
			}
		}
		list, err := claims.Load("claims.json", []byte(c.Claims), claims.Options{Source: claims.SourceFile})
		if c.Error != nil {
			var e *claims.Error
			if !errors.As(err, &e) {
				t.Fatalf("Load gave %v, want an error of kind %s", err, c.Error.Kind)
			}
			if string(e.Kind) != c.Error.Kind || e.Key != c.Error.Key || e.Nearest != c.Error.Nearest {
				t.Errorf("error %q has kind %s, key %q, nearest %q; want %+v", e, e.Kind, e.Key, e.Nearest, *c.Error)
			}
			if c.Error.Kind != "empty_list" && e.Line == 0 {
				t.Errorf("error %q names no line", e)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		rep := check(t, readRun(t, text), list)
		for i, want := range c.Expected {
			got := rep.Claims[i]
			if got.Claim.Text != want.Claim || got.Verdict != want.Verdict || !oneOf(want.Reason, got.Reason) || got.Recovered != want.Recovered {
				t.Errorf("claim %d is %s %s recovered=%v %+v, want %+v", i+1, got.Verdict, got.Reason, got.Recovered, got.Findings, want)
			}
		}
		if code := exitCode(rep); code != c.Exit {
			t.Errorf("exit %d, want %d", code, c.Exit)
		}
		if c.Checkpoint != nil {
			checkSegment(t, rep, c)
		}
	})
}

func checkSegment(t *testing.T, rep *Report, c claimCase) {
	t.Helper()
	if len(rep.Segments) != 1 {
		t.Fatalf("%d segments, want 1", len(rep.Segments))
	}
	s := rep.Segments[0]
	line := func(r *CallRef) *int {
		if r == nil {
			return nil
		}
		return &r.Line
	}
	same := func(a, b *int) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }
	if !same(line(s.Cut), c.Checkpoint.CutAfter) || !same(line(s.Start), c.Checkpoint.SegmentLine) || !slices.Equal(s.Downstream, c.Checkpoint.Downstream) {
		t.Errorf("segment %+v, want %+v", s, *c.Checkpoint)
	}
}

type groundCase struct {
	Name            string
	Input           json.RawMessage
	Raw             *string
	RawBase64       string    `json:"raw_base64"`
	RawParts        [][]any   `json:"raw_parts"`
	Argv            *[]string `json:"argv"`
	Verdict         *string   `json:"verdict"`
	Exit            int       `json:"exit"`
	Reason          any       `json:"reason"`
	FindingVerdicts []string  `json:"finding_verdicts"`
}

func (c groundCase) bytes(t *testing.T) []byte {
	switch {
	case c.Raw != nil:
		return []byte(*c.Raw)
	case c.RawBase64 != "":
		b, err := base64.StdEncoding.DecodeString(c.RawBase64)
		if err != nil {
			t.Fatal(err)
		}
		return b
	case c.RawParts != nil:
		var b bytes.Buffer
		for _, p := range c.RawParts {
			for range int(p[1].(float64)) {
				b.WriteString(p[0].(string))
			}
		}
		return b.Bytes()
	}
	return c.Input
}

func TestCheck_GroundCases(t *testing.T) {
	words := map[Verdict]string{Pass: "SUPPORTED", Unsupported: "INSUFFICIENT_EVIDENCE", Contradicted: "CONTRADICTED"}
	eachCase(t, "grounds.jsonl", func(c groundCase) string { return c.Name }, func(t *testing.T, c groundCase) {
		if c.Argv != nil {
			t.Skip("the command line is tested by the scripts")
		}
		run := readRun(t, c.bytes(t))
		if c.Verdict == nil {
			if run.Records > 0 && len(run.Calls)+len(run.Statements) > 0 {
				t.Errorf("read %d records, want nothing readable", run.Records)
			}
			return
		}
		rep := check(t, run, nil)
		if got := words[rep.Worst()]; got != *c.Verdict {
			t.Errorf("verdict %s, want %s: %+v", got, *c.Verdict, rep.Claims)
		}
		if code := exitCode(rep); code != c.Exit {
			t.Errorf("exit %d, want %d", code, c.Exit)
		}
		if len(rep.Claims) == 0 {
			return
		}
		worst := rep.Claims[0]
		for _, j := range rep.Claims[1:] {
			if j.Verdict.Worse(worst.Verdict) {
				worst = j
			}
		}
		if c.Reason != nil && !oneOf(c.Reason, worst.Reason) {
			t.Errorf("reason %q, want %v", worst.Reason, c.Reason)
		}
		var got []string
		for _, f := range worst.Findings {
			got = append(got, words[f.Verdict])
		}
		if !slices.Equal(got, c.FindingVerdicts) {
			t.Errorf("findings %v, want %v", got, c.FindingVerdicts)
		}
	})
}

type envelopeCase struct {
	Name, Trace, Schema string
	Expected            *struct {
		Verdict   Verdict
		Reason    any
		Recovered bool
		Findings  *[]struct {
			Line   *int
			Reason Reason
		}
	}
	Exit    int
	Error   *struct{ Kind string }
	Secrets []struct {
		Line  int
		Place string
	}
}

func TestCheck_EnvelopeCases(t *testing.T) {
	eachCase(t, "envelopes.jsonl", func(c envelopeCase) string { return c.Name }, func(t *testing.T, c envelopeCase) {
		list, err := claims.Load("claims.json", []byte(`[{"claim": "envelope holds", "envelope": {"schema": "tools.schema.json"}}]`), claims.Options{
			Source:   claims.SourceFile,
			ReadFile: func(string) ([]byte, error) { return []byte(c.Schema), nil },
		})
		if c.Error != nil {
			var e *claims.Error
			if !errors.As(err, &e) || string(e.Kind) != c.Error.Kind {
				t.Errorf("Load gave %v, want an error of kind %s", err, c.Error.Kind)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		rep := check(t, readRun(t, []byte(c.Trace)), list)
		got := rep.Claims[0]
		if got.Verdict != c.Expected.Verdict || !oneOf(c.Expected.Reason, got.Reason) || got.Recovered != c.Expected.Recovered {
			t.Errorf("%s %s recovered=%v %+v, want %+v", got.Verdict, got.Reason, got.Recovered, got.Findings, *c.Expected)
		}
		if code := exitCode(rep); code != c.Exit {
			t.Errorf("exit %d, want %d", code, c.Exit)
		}
		if c.Expected.Findings != nil {
			var want, have []string
			for _, f := range *c.Expected.Findings {
				line := "-"
				if f.Line != nil {
					line = fmt.Sprint(*f.Line)
				}
				want = append(want, line+" "+string(f.Reason))
			}
			for _, f := range got.Findings {
				if f.Verdict == Pass {
					continue
				}
				line := "-"
				if len(f.Calls) > 0 {
					line = fmt.Sprint(f.Calls[0].Line)
				}
				have = append(have, line+" "+string(f.Reason))
			}
			slices.Sort(want)
			slices.Sort(have)
			if !slices.Equal(slices.Compact(want), slices.Compact(have)) {
				t.Errorf("findings %v, want %v", have, want)
			}
		}
		for _, s := range c.Secrets {
			if !slices.ContainsFunc(rep.Secrets, func(h SecretAt) bool { return h.Line == s.Line && h.Place == s.Place }) {
				t.Errorf("secret %+v is not among %+v", s, rep.Secrets)
			}
		}
	})
}
