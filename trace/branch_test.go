package trace

import (
	"strings"
	"testing"
)

func TestBranch(t *testing.T) {
	for _, tt := range []struct {
		name, records, leaf, want string
	}{
		{"nothing", "", "", ""},
		{"one line", "a: b:a c:b", "c", "a b c"},
		{"back and on", "a: b:a c:b d:a e:d", "e", "a d e"},
		{"to another end", "a: b:a c:b d:a e:d", "c", "a b c"},
		{"without its beginning", "x:y a:gone b:a c:a", "c", "x a c"},
		{"without ids", ": a: : b:a c:a", "c", " a  c"},
		{"a circle", "a:b b:a", "a", "a b"},
		{"a leaf that is not there", "a: b:a", "z", ""},
		{"a copy", "a: b:a b:a c:b", "c", "a b c"},
	} {
		var b Branch
		var ids []string
		for rec := range strings.FieldsSeq(tt.records) {
			id, parent, _ := strings.Cut(rec, ":")
			if b.Add(id, parent) {
				ids = append(ids, id)
			}
		}
		live := b.Live(tt.leaf)
		var got []string
		for _, id := range ids {
			if live(id) {
				got = append(got, id)
			}
		}
		if g := strings.Join(got, " "); g != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, g, tt.want)
		}
	}
}
