package trace

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

// plainIndex is what an index must come to, byte by byte: where the stops are, and
// whether anything in the text is damaged that the grammar does not see.
func plainIndex(text []byte) (stops []bool, damaged bool) {
	stops = make([]bool, len(text))
	escaped := false
	for i, c := range text {
		switch {
		case escaped:
			escaped = false
			if bytes.IndexByte([]byte(`"\/bfnrtu`), c) < 0 {
				damaged = true
			}
			if d := text[i+1:]; c == 'u' && (len(d) < 4 || !isHex(d[0]) || !isHex(d[1]) || !isHex(d[2]) || !isHex(d[3])) {
				damaged = true
			}
		case c == '\\':
			escaped = true
		default:
			stops[i] = c == '"' || c < 0x20
		}
	}
	return stops, damaged || !utf8.Valid(text)
}

// holdIndex compares an index with the plain one. What is damaged must be
// suspect; what is near to damage may be.
func holdIndex(t *testing.T, x *index, text []byte) {
	t.Helper()
	x.build(text)
	want, damaged := plainIndex(text)
	next := len(text)
	for i := len(text) - 1; i >= 0; i-- {
		if want[i] {
			next = i
		}
		if got := x.stop(i); got != next {
			t.Fatalf("the stop behind %d is at %d, want %d, of %q", i, got, next, text)
		}
	}
	if got := x.stop(len(text)); got != len(text) {
		t.Fatalf("a stop at %d behind the end of %q", got, text)
	}
	if damaged && !x.noted(0, len(text), noteSuspect) {
		t.Fatalf("nothing is suspect in %q", text)
	}
	for i, c := range text {
		if c == '\\' && i+1 < len(text) && !x.noted(i, i+2, noteEscapes) {
			t.Fatalf("no escape is noted at %d of %q", i, text)
		}
	}
}

func TestIndex_Texts(t *testing.T) {
	var x index // one for all: what it held before must not show
	for _, c := range []string{
		"", `"`, `\`, `\\`, `\"`, "\n", `"\u00e9"`, `"\u00e"`, `"\x"`, "é", "\xe2\x82", strings.Repeat(`\`, 200), strings.Repeat(`\"`, 100), strings.Repeat("é", 100),
	} {
		for pad := range 140 {
			holdIndex(t, &x, []byte(strings.Repeat("a", pad)+c))
			holdIndex(t, &x, []byte(strings.Repeat("a", pad)+c+strings.Repeat("z", 70)+c))
		}
	}
}

func TestIndex_Random(t *testing.T) {
	const alphabet = "\\\\\\\"\"un\x00\n\x1f a0fé€"
	r := rand.New(rand.NewPCG(1, 2))
	var x index
	for range 20_000 {
		text := make([]byte, r.IntN(400))
		for i := range text {
			text[i] = alphabet[r.IntN(len(alphabet))]
		}
		holdIndex(t, &x, text)
	}
}

// TestIndex_ManyEscapes holds more escapes than wait at a time, with a bad one at
// any place.
func TestIndex_ManyEscapes(t *testing.T) {
	var x index
	good := bytes.Repeat([]byte(`\n`), 3000)
	holdIndex(t, &x, good)
	if x.noted(0, len(good), noteSuspect) {
		t.Error("good escapes are suspect")
	}
	for at := 1; at < len(good); at += 46 {
		text := bytes.Clone(good)
		text[at] = 'q'
		holdIndex(t, &x, text)
		if !x.noted(at, at+1, noteSuspect) {
			t.Errorf("the bad escape at %d is not suspect", at)
		}
	}
}

func FuzzIndex(f *testing.F) {
	f.Add([]byte(`{"a":"\"\\\u00e9é"}`), uint8(60))
	f.Fuzz(func(t *testing.T, text []byte, pad uint8) {
		var x index
		holdIndex(t, &x, text)
		holdIndex(t, &x, append(bytes.Repeat([]byte{' '}, int(pad)), text...))
	})
}
