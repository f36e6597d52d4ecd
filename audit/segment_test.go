package audit

import (
	"fmt"
	"strings"
	"testing"

	"nightaudit/audit/claims"
)

// run makes a trace of calls: "name" is ok, "name!" failed, "name?" has no end,
// "name@b" belongs to batch b, "name#i" has the id i. A "gap" is one.
func trc(calls string) string {
	var b strings.Builder
	for _, c := range strings.Fields(calls) {
		if c == "gap" {
			b.WriteString("{\"type\":\"gap\"}\n")
			continue
		}
		fields := `,"ok":true`
		name := c
		if i := strings.IndexAny(c, "!?@#"); i >= 0 {
			name = c[:i]
			for rest := c[i:]; rest != ""; {
				end := strings.IndexAny(rest[1:], "!?@#") + 1
				if end == 0 {
					end = len(rest)
				}
				switch rest[0] {
				case '!':
					fields = strings.Replace(fields, "true", "false", 1)
				case '?':
					fields = strings.Replace(fields, `,"ok":true`, "", 1)
				case '@':
					fields += `,"batch":"` + rest[1:end] + `"`
				case '#':
					fields += `,"id":"` + rest[1:end] + `"`
				}
				rest = rest[end:]
			}
		}
		fmt.Fprintf(&b, `{"type":"tool_call","tool":%q%s}`+"\n", name, fields)
	}
	return b.String()
}

// load reads claims, one a line: "show a b", "nofail a b", "none".
func load(t *testing.T, lines string) []claims.Claim {
	t.Helper()
	var parts []string
	for line := range strings.Lines(lines) {
		word, tools, _ := strings.Cut(strings.TrimSpace(line), " ")
		list := `["` + strings.ReplaceAll(tools, " ", `","`) + `"]`
		switch word {
		case "show":
			parts = append(parts, `{"claim":"c","must_show":`+list+`}`)
		case "nofail":
			parts = append(parts, `{"claim":"c","must_not_fail":`+list+`}`)
		case "none":
			parts = append(parts, `{"claim":"c"}`)
		default:
			parts = append(parts, line)
		}
	}
	return loadJSON(t, "["+strings.Join(parts, ",")+"]")
}

func loadJSON(t *testing.T, text string) []claims.Claim {
	t.Helper()
	list, err := claims.Load("claims.json", []byte(text), claims.Options{Source: claims.SourceFile})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// describe writes a segment: claims, checkpoint, cut, start-end, downstream.
func describe(s Segment) string {
	at := func(r *CallRef) string {
		if r == nil {
			return "-"
		}
		return fmt.Sprint(r.Line)
	}
	return fmt.Sprintf("claims %v checkpoint %s cut %s redo %s-%s down %v", s.Claims, at(s.Checkpoint), at(s.Cut), at(s.Start), at(s.End), s.Downstream)
}

func TestSegments(t *testing.T) {
	for _, c := range []struct {
		name, calls, claims string
		want                []string
	}{
		{"every claim passes", "a b", "show a\nshow b", nil},
		{"the first article's example", "w! w! r h", "nofail w\nshow r h", []string{"claims [0] checkpoint - cut - redo 1-2 down [1]"}},
		{"a pass before the fault", "a w! h", "show a\nnofail w\nshow h", []string{"claims [1] checkpoint 1 cut 1 redo 2-2 down [2]"}},
		{"the last pass before the fault counts", "a b w!", "show b\nshow a\nnofail w", []string{"claims [2] checkpoint 2 cut 2 redo 3-3 down []"}},
		{"a pass that straddles the fault is no checkpoint", "a w! h", "show a h\nnofail w", []string{"claims [1] checkpoint - cut - redo 2-2 down [0]"}},
		{"the final supporting call, not the first", "a x b w!", "show a b\nnofail w", []string{"claims [1] checkpoint 3 cut 3 redo 4-4 down []"}},
		{"cut at the end of the batch", "a@1 x@1 y@1 w!", "show a\nnofail w", []string{"claims [1] checkpoint 1 cut 3 redo 4-4 down []"}},
		{"another batch is not part of it", "a@1 x@2 w!", "show a\nnofail w", []string{"claims [1] checkpoint 1 cut 1 redo 3-3 down []"}},
		{"the failing call of the batch stays in the prefix", "a@1 w!@1 h", "show a\nnofail w", []string{"claims [1] checkpoint 1 cut 2 redo 2-3 down []"}},
		{"the segment ends before what is downstream", "w! x y h z", "nofail w\nshow h", []string{"claims [0] checkpoint - cut - redo 1-3 down [1]"}},
		{"the first of several downstream", "w! x h y g", "nofail w\nshow g\nshow h", []string{"claims [0] checkpoint - cut - redo 1-2 down [1 2]"}},
		{"nothing downstream: to the last call", "a w! x y", "show a\nnofail w", []string{"claims [1] checkpoint 1 cut 1 redo 2-4 down []"}},
		{"the earliest of several failures", "a w! v! w!", "show a\nnofail v w", []string{"claims [1] checkpoint 1 cut 1 redo 2-4 down []"}},
		{"no call: behind the last one", "a b", "show a\nshow z", []string{"claims [1] checkpoint 1 cut 1 redo --- down []"}},
		{"no requirement: behind the last one", "a b", "show b\nnone", []string{"claims [1] checkpoint 2 cut 2 redo --- down []"}},
		{"not run: what was considered anchors nothing", "a", `{"claim":"c","must_show":["a"]}` + "\nshow z", []string{"claims [1] checkpoint 1 cut 1 redo --- down []"}},
		{"nothing passes and nothing was called", "", "show z", []string{"claims [0] checkpoint - cut - redo --- down []"}},
		{"every call failed rests on it", "a z! b", "show a\nshow z\nshow b", []string{"claims [1] checkpoint 1 cut 1 redo 2-2 down [2]"}},
		{"pending rests on its call", "a z? b", "show a\nshow z", []string{"claims [1] checkpoint 1 cut 1 redo 2-3 down []"}},
		{"one checkpoint, one segment", "a w! v! h", "show a\nnofail v\nnofail w\nshow h", []string{"claims [1 2] checkpoint 1 cut 1 redo 2-3 down [3]"}},
		{"merged: one fault and one missing call", "a w! h", "show a\nnofail w\nshow h z", []string{"claims [1 2] checkpoint 1 cut 1 redo 2-3 down []"}},
		{"two checkpoints, two segments", "a w! b v!", "show a\nnofail w\nshow b\nnofail v", []string{"claims [1] checkpoint 1 cut 1 redo 2-2 down [2]", "claims [3] checkpoint 3 cut 3 redo 4-4 down []"}},
		{"a gap: behind the last call", "a gap", "show a\nshow z", []string{"claims [1] checkpoint 1 cut 1 redo --- down []"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			rep := check(t, readRun(t, []byte(trc(c.calls))), load(t, c.claims))
			var got []string
			for i := range rep.Segments {
				got = append(got, describe(rep.Segments[i]))
				checkPrefix(t, rep, rep.Segments[i])
			}
			if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
				t.Errorf("segments\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// checkPrefix looks at what Prefix and In return.
func checkPrefix(t *testing.T, rep *Report, s Segment) {
	t.Helper()
	prefix := s.Prefix(rep.Run)
	if s.Cut == nil {
		if prefix != nil {
			t.Errorf("a prefix of %d calls without a cut", len(prefix))
		}
		return
	}
	if last := prefix[len(prefix)-1]; last.Pos != s.Cut.In(rep.Run).Pos || last.Pos.Line != s.Cut.Line {
		t.Errorf("the prefix ends on line %d, the cut is %+v", last.Pos.Line, s.Cut)
	}
}

func TestSegments_DeniedCallIsNoAnchor(t *testing.T) {
	text := trc("a") + `{"type":"tool_call","tool":"z","ok":false,"status":"denied"}` + "\n" + trc("b")
	rep := check(t, readRun(t, []byte(text)), load(t, "show a\nshow z"))
	f := rep.Claims[1].Findings[0]
	if f.Reason != NotRun || len(f.Calls) != 1 || f.Calls[0].Line != 2 {
		t.Errorf("finding %+v, want not_run and the call that was considered", f)
	}
	if got := describe(rep.Segments[0]); got != "claims [1] checkpoint 1 cut 1 redo --- down []" {
		t.Error(got)
	}
}

func TestSegments_MalformedGroundIsNoAnchor(t *testing.T) {
	const text = `{"type":"tool_call","id":"g","tool":"get","ok":true,"result":{"n":"text","big":1e999}}` + "\n"
	for field, reason := range map[string]Reason{"n": MalformedGround, "big": MalformedGround, "gone": FieldAbsent} {
		rep := check(t, readRun(t, []byte(text+trc("b"))), loadJSON(t, `[{"claim":"c","grounds":[{"from":"g","field":"`+field+`","min":1}]}]`))
		start := rep.Segments[0].Start
		if got := rep.Claims[0].Reason; got != reason || (start == nil) != (reason == MalformedGround) {
			t.Errorf("%s: reason %s, starts at %+v", field, got, start)
		}
	}
}
