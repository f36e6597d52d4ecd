package trace

// Object is the members of one JSON object at hand. Results run to megabytes, so
// a reader that asks for many members walks the object once and not for each.
type Object struct {
	names  []string
	values []Value
}

// Take makes o the members of v, reusing its memory; none where v is no object.
func (o *Object) Take(v Value) {
	o.names, o.values = o.names[:0], o.values[:0]
	for k, m := range v.Members() {
		o.names, o.values = append(o.names, k.Text()), append(o.values, m)
	}
}

// Get is Value.Get without the walk.
func (o *Object) Get(name string) Value {
	for i := len(o.names) - 1; i >= 0; i-- {
		if o.names[i] == name {
			return o.values[i]
		}
	}
	return Value{}
}

// Path is Value.Path without the first walk.
func (o *Object) Path(name string, more ...string) Value {
	return o.Get(name).Path(more...)
}
