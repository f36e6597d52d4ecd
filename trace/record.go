package trace

import (
	"bytes"
	"fmt"
	"iter"
)

// Record is one JSON object of a JSON Lines file. The Scanner notes where its
// members stand, so that asking for one does not walk the record.
type Record struct {
	Value
	Pos Position

	members []member // nil: the Value is walked
}

// Get returns the member with exactly this name, as Value.Get does.
func (r Record) Get(name string) Value {
	if r.members == nil {
		return r.Value.Get(name)
	}
	for _, m := range r.members {
		if v := r.raw[m.name:m.nameEnd]; string(v) == name {
			return r.slice(int(m.value), int(m.end))
		}
	}
	return r.escaped(name)
}

// escaped is Get for members whose names are written with escapes.
func (r Record) escaped(name string) Value {
	for _, m := range r.members {
		if bytes.IndexByte(r.raw[m.name:m.nameEnd], '\\') >= 0 && r.key(m).Text() == name {
			return r.slice(int(m.value), int(m.end))
		}
	}
	return Value{}
}

// Path follows Get through nested objects.
func (r Record) Path(names ...string) Value {
	if len(names) == 0 {
		return r.Value
	}
	return r.Get(names[0]).Path(names[1:]...)
}

// Members walks the record's members, as Value.Members does.
func (r Record) Members() iter.Seq2[Key, Value] {
	if r.members == nil {
		return r.Value.Members()
	}
	return func(yield func(Key, Value) bool) {
		for _, m := range r.members {
			if !yield(r.key(m), r.slice(int(m.value), int(m.end))) {
				return
			}
		}
	}
}

// UniqueNames refuses a record that names one of its own keys twice: which of the
// two is meant cannot be told.
func (v Value) UniqueNames() error {
	var few [16][]byte // enough for every known format; more names go to a map
	var many map[string]bool
	n := 0
	for k := range v.Members() {
		name := k.raw[1 : len(k.raw)-1]
		if bytes.IndexByte(name, '\\') >= 0 {
			name = []byte(k.Text())
		}
		twice := many[string(name)]
		for _, f := range few[:min(n, len(few))] {
			twice = twice || bytes.Equal(f, name)
		}
		if twice {
			return fmt.Errorf("the key %q stands twice", name[:min(len(name), 80)])
		}
		if n < len(few) {
			few[n] = name
		} else {
			if many == nil {
				many = map[string]bool{}
			}
			many[string(name)] = true
		}
		n++
	}
	return nil
}
