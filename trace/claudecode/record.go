package claudecode

import (
	"time"

	"nightaudit/trace"
)

// record is one line with its members at hand: results run to megabytes, so each
// is walked once and not for every field that is asked for.
type record struct {
	trace.Record
	names   []string
	members []trace.Value

	kind string // type
	uuid string
	side bool // it belongs to a sub-agent
}

// take makes r the record that was scanned, reusing its memory.
func (r *record) take(rec trace.Record) {
	r.Record = rec
	r.names, r.members = r.names[:0], r.members[:0]
	for k, v := range rec.Members() {
		r.names, r.members = append(r.names, k.Text()), append(r.members, v)
	}
	r.kind = r.Get("type").Text()
	r.uuid = r.Get("uuid").Text()
	r.side = r.is("isSidechain")
}

// Get is Value.Get without the walk.
func (r *record) Get(name string) trace.Value {
	for i, n := range r.names {
		if n == name {
			return r.members[i]
		}
	}
	return trace.Value{}
}

// Path is Value.Path on top of Get.
func (r *record) Path(name string, more ...string) trace.Value {
	return r.Get(name).Path(more...)
}

func (r *record) is(name string) bool { return r.Get(name).Flag() == trace.FlagTrue }

// stamp is the zero time where the record has none that can be read.
func (r *record) stamp() time.Time {
	t, err := time.Parse(time.RFC3339, r.Get("timestamp").Text())
	if err != nil {
		return time.Time{}
	}
	return t
}
