package trace

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestLines(t *testing.T) {
	long := strings.Repeat("x", 200<<10)
	for _, tt := range []struct {
		name, text string
		want       []string
		bad        []int
		torn       bool
	}{
		{"empty", "", nil, nil, false},
		{"lines", "a\n\nb\r\n", []string{"1 0 a", "2 2 ", "3 3 b\r"}, nil, false},
		{"no final newline", "a\nb", []string{"1 0 a", "2 2 b"}, nil, false},
		{"long lines", long + "\nb", []string{"1 0 " + long, fmt.Sprintf("2 %d b", len(long)+1)}, nil, false},
		{"a bad line", "a\nbad\nb\n", []string{"1 0 a", "2 2 bad", "3 6 b"}, []int{2}, false},
		{"a bad last line", "a\nbad", []string{"1 0 a", "2 2 bad"}, []int{2}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			src := source([]byte(tt.text))
			lines, run := NewLines(t.Context(), src), NewRun(src, "test")
			var got []string
			for lines.Next() {
				got = append(got, fmt.Sprintf("%d %d %s", lines.Pos().Line, lines.Pos().Offset, lines.Text()))
				if string(lines.Text()) == "bad" {
					lines.Bad("bad")
				}
			}
			if err := lines.Finish(run); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, tt.want) || !slices.Equal(badLines(run), tt.bad) || run.Torn != tt.torn {
				t.Errorf("got %.80q, bad lines %v, torn %v", got, run.BadLines, run.Torn)
			}
			if run.SHA256 != sha256.Sum256([]byte(tt.text)) {
				t.Error("the hash is not that of the input")
			}
		})
	}
}

func TestLines_JSON(t *testing.T) {
	src := source([]byte("first\nlog: {\"a\":[1]} and so on\n"))
	lines, run := NewLines(t.Context(), src), NewRun(src, "test")
	lines.Next()
	lines.Next()
	v, err := lines.JSON(5)
	if err != nil || string(v.Raw()) != `{"a":[1]}` {
		t.Fatalf("%s, %v", v.Raw(), err)
	}
	if raw, err := run.Body(v.Get("a").Body()); err != nil || string(raw) != "[1]" {
		t.Errorf("read again: %s, %v", raw, err)
	}
	if _, err := lines.JSON(0); err == nil {
		t.Error("text is read as JSON")
	}
}

func TestLines_Unreadable(t *testing.T) {
	lines := NewLines(t.Context(), Source{Name: "x", Size: 9, ReaderAt: shut{[]byte("a\nb")}})
	for lines.Next() {
		if !bytes.Equal(lines.Text(), []byte("a")) {
			t.Errorf("%q", lines.Text())
		}
	}
	if err := lines.Finish(&Run{}); !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	lines = NewLines(ctx, source([]byte("a\n")))
	if err := lines.Finish(&Run{}); lines.Next() || err != nil {
		t.Error("a line is read though it is cancelled")
	}
	if err := lines.Finish(&Run{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestValue_Time(t *testing.T) {
	want := time.Date(2026, 3, 1, 2, 0, 1, 500e6, time.UTC)
	for _, text := range []string{
		`"2026-03-01T02:00:01.5Z"`, `"2026-03-01T03:00:01.5+01:00"`, `"2026-03-01T02:00:01.500000"`, `"2026-03-01 02:00:01.5"`,
		"1772330401.5", "1772330401500", "1772330401500000", "1772330401500000000", `"1772330401500000000"`,
	} {
		if got := value(t, text).Time(); !got.Equal(want) {
			t.Errorf("%s: %v", text, got)
		}
	}
	for _, text := range []string{`"yesterday"`, "0", `"0"`, "null", "1e300", "[1]", `""`} {
		if got := value(t, text).Time(); !got.IsZero() {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestFinishAll(t *testing.T) {
	texts := NewTexts(t.Context(), source([]byte("bad\n{}\n{}\nbad\n{}\n{\"a")))
	var runs []*Run
	var starts []Position
	for texts.Next() {
		runs = append(runs, &Run{})
		starts = append(starts, texts.Record().Pos)
	}
	runs[1].BadLines = []BadLine{{Line: 9}}
	if err := FinishAll(texts, runs, starts); err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]int{{1}, {4, 9}, {6}} {
		if got := badLines(runs[i]); !slices.Equal(got, want) {
			t.Errorf("run %d: bad lines %v, want %v", i, got, want)
		}
		if runs[i].Torn != (i == 2) || runs[i].SHA256 != runs[0].SHA256 {
			t.Errorf("run %d: torn %v", i, runs[i].Torn)
		}
	}
}
