package trace

// Branch is the tree of a session whose records name the one before them, so that
// going back to an earlier message and on from there leaves both ends in the file.
type Branch struct{ parents map[string]string }

// Add takes in a record. It returns false for one that is there already: a copy.
func (b *Branch) Add(id, parent string) bool {
	if id == "" {
		return true
	}
	if _, twice := b.parents[id]; twice {
		return false
	}
	if b.parents == nil {
		b.parents = map[string]string{}
	}
	b.parents[id] = parent
	return true
}

// Live tells of records, asked in the order of the file, whether they stand on the
// branch that ends in a leaf. A branch whose beginning is missing is taken to go on
// in whatever stands before it; a record without an id belongs to every branch.
func (b *Branch) Live(leaf string) func(id string) bool {
	path := map[string]bool{}
	first := "" // the first record of the branch, where its parent is missing
	for at := leaf; at != "" && !path[at]; at = b.parents[at] {
		path[at] = true
		parent := b.parents[at]
		if _, ok := b.parents[parent]; !ok && parent != "" {
			first = at
			break
		}
	}
	before := first != ""
	return func(id string) bool {
		if id != "" && id == first {
			before = false
		}
		return before || id == "" || path[id]
	}
}
