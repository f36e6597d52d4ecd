package outcome

import (
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

const (
	// maxScript bounds how much of a command is parsed: longer ones are data with a
	// command around it, and parsing must not be what a night is spent on.
	maxScript = 64 << 10
	// maxNesting bounds the recursion of the parser, and that of looking into
	// scripts within scripts.
	maxNesting = 200
	maxScripts = 8
)

// codes is the exit codes other than 0 that are answers; any stands for a status
// that is always 0, so that it excludes nothing.
type codes struct {
	any  bool
	list []int32
}

func (c codes) has(code int32) bool { return !c.any && slices.Contains(c.list, code) }

func (c codes) and(d codes) codes {
	switch {
	case c.any:
		return d
	case d.any:
		return c
	}
	var out codes
	for _, code := range c.list {
		if slices.Contains(d.list, code) {
			out.list = append(out.list, code)
		}
	}
	return out
}

// flow is what the status of a statement tells: the commands that succeeded if it
// is 0, and those that succeeded if the shell goes on after it.
type flow struct {
	if0, past []int
	codes     codes
	fails     bool  // its status is never 0
	exits     bool  // the shell never goes on after it
	mayExit   bool  // it may end the shell with status 0
	head      *flow // of a pipe: what the status of its first command tells
}

// builder turns one script into its commands.
type builder struct {
	tables   *Tables
	src      string
	cwd      string
	lost     bool // cwd is not known, not even against the call's own
	commands []Command
	funcs    map[string]*syntax.Stmt
	running  []string        // functions being called
	saved    map[string]flow // variables that hold a status
	errexit  bool
	pipefail bool
	chdir    bool // a cd stands before something
	level    int  // scripts within scripts
}

// script reads a whole command.
func (b *builder) script(text string) Shell {
	s := Shell{Text: text}
	file := parse(text)
	if file == nil {
		return s
	}
	if inner, ok := onlyScript(file); ok && b.level < maxScripts {
		b.level++
		return b.script(inner)
	}
	f := b.file(text, file)
	for _, i := range f.if0 {
		b.commands[i].Trusted = true
	}
	s.Parsed, s.Commands, s.answers, s.chdir = true, b.commands, f.codes, b.chdir
	return s
}

// parse reads a script; nil for what is no shell, too long or too deep.
func parse(text string) (file *syntax.File) {
	if len(text) > maxScript || nesting(text) > maxNesting {
		return nil
	}
	// The parser is somebody else's, and the text is whatever an agent wrote: a
	// bug in it costs this command its parse, not the night.
	defer func() {
		if recover() != nil {
			file = nil
		}
	}()
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		return nil
	}
	return file
}

// nesting is an upper bound of how deep a script nests, without parsing it.
func nesting(text string) int {
	depth, most, words := 0, 0, 0
	for i := range len(text) {
		switch text[i] {
		case '(', '{', '[':
			depth++
			most = max(most, depth)
		case ')', '}', ']':
			depth = max(0, depth-1)
		case '`':
			words++
		}
	}
	for _, w := range strings.Fields(text) {
		switch w {
		case "if", "while", "until", "for", "case", "time", "!", "coproc", "select", "function":
			words++
		}
	}
	if words > 10*maxNesting {
		return words
	}
	return most
}

// onlyScript finds the script of a command that is `bash -lc SCRIPT` and nothing else.
func onlyScript(file *syntax.File) (string, bool) {
	if len(file.Stmts) != 1 {
		return "", false
	}
	st := file.Stmts[0]
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || len(st.Redirs) > 0 || st.Negated || st.Background || len(call.Assigns) > 0 {
		return "", false
	}
	var words []string
	for _, w := range call.Args {
		text, static := wordText(w)
		if !static {
			return "", false
		}
		words = append(words, text)
	}
	return shellScript(words)
}

// file walks a parsed script that stands in src.
func (b *builder) file(src string, file *syntax.File) flow {
	outer := b.src
	b.src = src
	f := b.list(file.Stmts)
	b.src = outer
	return f
}

// list walks statements that follow each other.
func (b *builder) list(stmts []*syntax.Stmt) flow {
	out := flow{codes: codes{any: true}}
	dead := false // an earlier statement may have ended the shell with 0
	before, last := 0, []int(nil)
	var prev flow
	for _, st := range stmts {
		f := b.stmt(st)
		f = b.passedOn(st, prev, f)
		prev = f
		before, last = len(out.past), nil
		if !dead {
			last = f.if0
			out.past = append(out.past, f.past...)
		}
		if b.errexit {
			f.codes = f.codes.and(out.codes)
		}
		out.codes, out.fails, out.exits = f.codes, f.fails, out.exits || f.exits
		out.mayExit = out.mayExit || f.mayExit
		dead = dead || f.mayExit
	}
	out.if0 = slices.Concat(out.past[:before], last)
	return out
}

// stmt walks one statement with its redirections.
func (b *builder) stmt(st *syntax.Stmt) flow {
	first := len(b.commands)
	f := b.command(st.Cmd, st.Redirs)
	b.redirects(st, first)
	switch {
	case st.Background || st.Coprocess || st.Disown:
		return flow{codes: codes{any: true}}
	case st.Negated:
		return flow{codes: f.codes, past: f.past, mayExit: f.mayExit}
	}
	if bin, ok := st.Cmd.(*syntax.BinaryCmd); b.errexit && (!ok || bin.Op == syntax.Pipe || bin.Op == syntax.PipeAll) {
		f.past = slices.Clone(f.if0)
	}
	return f
}

func (b *builder) command(cmd syntax.Command, redirs []*syntax.Redirect) flow {
	switch x := cmd.(type) {
	case nil:
		if len(redirs) > 0 { // `> file` empties it
			return b.add(Command{Classes: Set{}})
		}
	case *syntax.CallExpr:
		return b.call(x, redirs)
	case *syntax.BinaryCmd:
		return b.binary(x)
	case *syntax.Subshell:
		return b.apart(func() flow { return b.list(x.Stmts) })
	case *syntax.Block:
		return b.list(x.Stmts)
	case *syntax.TimeClause:
		if x.Stmt != nil {
			return b.stmt(x.Stmt)
		}
	case *syntax.FuncDecl:
		if x.Name != nil && x.Body != nil {
			if b.funcs == nil {
				b.funcs = map[string]*syntax.Stmt{}
			}
			b.funcs[x.Name.Value] = x.Body
		}
	case *syntax.CoprocClause:
		if x.Stmt != nil {
			b.apart(func() flow { return b.stmt(x.Stmt) })
		}
	case *syntax.IfClause, *syntax.WhileClause, *syntax.ForClause, *syntax.CaseClause:
		return b.branches(cmd)
	case *syntax.TestClause, *syntax.ArithmCmd, *syntax.LetClause, *syntax.DeclClause:
		return b.builtin(cmd)
	}
	return flow{codes: codes{any: true}}
}

// apart walks what runs in a shell of its own: neither its directory nor its
// options outlive it, and its exit is not the exit of the script.
func (b *builder) apart(walk func() flow) flow {
	cwd, lost, errexit, pipefail, saved := b.cwd, b.lost, b.errexit, b.pipefail, b.saved
	b.saved = maps.Clone(saved)
	f := walk()
	b.cwd, b.lost, b.errexit, b.pipefail, b.saved = cwd, lost, errexit, pipefail, saved
	f.past, f.exits, f.mayExit = nil, false, false
	return f
}

func (b *builder) binary(x *syntax.BinaryCmd) flow {
	if x.Op == syntax.Pipe || x.Op == syntax.PipeAll {
		left := b.apart(func() flow { return b.stmt(x.X) })
		right := b.apart(func() flow { return b.stmt(x.Y) })
		if b.pipefail {
			right.if0 = append(left.if0, right.if0...)
			right.codes = right.codes.and(left.codes)
		}
		if right.head = left.head; left.head == nil {
			right.head = &left
		}
		return right
	}
	// errexit looks at none but the last command of such a list.
	errexit := b.errexit
	b.errexit = false
	left := b.stmt(x.X)
	right := b.stmt(x.Y)
	b.errexit = b.errexit || errexit
	out := flow{past: left.past, codes: left.codes.and(right.codes), mayExit: left.mayExit || right.mayExit}
	switch {
	case x.Op == syntax.AndStmt:
		out.if0 = append(left.if0, right.if0...)
		out.fails = left.fails || right.fails
	case right.exits && right.fails: // a || exit 1
		out.if0, out.past, out.mayExit = left.if0, slices.Clone(left.if0), left.mayExit
	case right.fails: // a || false
		out.if0 = left.if0
	default:
		out.if0 = left.past
	}
	return out
}

// branches walks what may run once, often or never: nothing of it is sure.
func (b *builder) branches(cmd syntax.Command) flow {
	out := flow{codes: codes{any: true}}
	add := func(bodies ...[]*syntax.Stmt) {
		for i, body := range bodies {
			f := b.list(body)
			out.mayExit = out.mayExit || f.mayExit
			if i == len(bodies)-1 {
				out.codes = out.codes.and(f.codes)
			}
		}
	}
	switch x := cmd.(type) {
	case *syntax.IfClause:
		for ; x != nil; x = x.Else {
			add(x.Cond, x.Then)
		}
	case *syntax.WhileClause:
		add(x.Cond, x.Do)
	case *syntax.ForClause:
		b.substitutions(x.Loop)
		add(x.Do)
	case *syntax.CaseClause:
		b.substitutions(x.Word)
		for _, item := range x.Items {
			add(item.Stmts)
		}
	}
	b.saved = nil // it may hold something else now
	return out
}

// builtin records the commands that have a grammar of their own.
func (b *builder) builtin(cmd syntax.Command) flow {
	inner := b.substitutions(cmd)
	text := b.source(cmd)
	name, _, _ := strings.Cut(text, " ")
	answer := codes{list: []int32{1}}
	switch x := cmd.(type) {
	case *syntax.TestClause:
		name = "[["
	case *syntax.ArithmCmd:
		name = "(("
	case *syntax.DeclClause:
		name, answer = x.Variant.Value, inner
	}
	f := b.add(Command{Text: text, Argv: []string{name}, Dynamic: true, Classes: Set{}})
	f.codes = answer
	return f
}

// add records a command that runs here.
func (b *builder) add(c Command) flow {
	c.Cwd = b.resolve(c.dir)
	b.commands = append(b.commands, c)
	i := len(b.commands) - 1
	return flow{if0: []int{i}}
}

// resolve says where a directory is that a command names.
func (b *builder) resolve(dir string) string {
	if b.lost && !absolute(dir) {
		return ""
	}
	return join(b.cwd, dir)
}

// substitutions walks the commands inside a node's words: they run, but no status
// of theirs is the recorded one. It returns the codes of the last of them, which
// is the status of an assignment.
func (b *builder) substitutions(node syntax.Node) codes {
	last := codes{any: true}
	walk := func(stmts []*syntax.Stmt) {
		last = b.apart(func() flow { return b.list(stmts) }).codes
	}
	syntax.Walk(node, func(n syntax.Node) bool {
		switch x := n.(type) {
		case *syntax.CmdSubst:
			walk(x.Stmts)
			return false
		case *syntax.ProcSubst:
			walk(x.Stmts)
			return false
		}
		return true
	})
	return last
}

// source is the text of a node as it was written.
func (b *builder) source(n syntax.Node) string {
	from, to := int(n.Pos().Offset()), int(n.End().Offset())
	if from < 0 || to > len(b.src) || from > to {
		return ""
	}
	return b.src[from:to]
}
