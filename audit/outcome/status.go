package outcome

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// passedOn follows a status that a script keeps and ends with, as those do that
// show a part of the output in between:
//
//	pytest > log; rc=$?; tail log; exit $rc
//	pytest | tail; exit ${PIPESTATUS[0]}
//
// prev is the statement before st, f is st's own flow.
func (b *builder) passedOn(st *syntax.Stmt, prev, f flow) flow {
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || st.Negated || st.Background {
		return f
	}
	switch {
	case len(call.Args) == 0 && len(call.Assigns) == 1:
		a := call.Assigns[0]
		if kept, ok := b.status(a.Value, prev); ok && a.Name != nil {
			if b.saved == nil {
				b.saved = map[string]flow{}
			}
			b.saved[a.Name.Value] = kept
		}
	case len(call.Args) == 2 && b.source(call.Args[0]) == "exit":
		if kept, ok := b.status(call.Args[1], prev); ok {
			// The exit itself is sure to run where its statement is.
			f.if0, f.codes, f.fails, f.mayExit = append(f.if0, kept.if0...), kept.codes, false, true
		}
	}
	return f
}

// status returns what a word tells that stands for the status of a command before it.
func (b *builder) status(w *syntax.Word, prev flow) (flow, bool) {
	if w == nil {
		return flow{}, false
	}
	switch text := strings.Trim(b.source(w), `"`); text {
	case "$?", "${?}":
		return prev, true
	case "${PIPESTATUS[0]}":
		if prev.head != nil {
			return *prev.head, true
		}
		return prev, true
	default:
		kept, ok := b.saved[strings.Trim(text, "${}")]
		return kept, ok && strings.HasPrefix(text, "$")
	}
}
