package outcome

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// wrapping is what was looked through to get at a command.
type wrapping struct {
	dir   string // where a wrapper was told to run it
	input bool   // its last arguments come from the standard input
	task  bool   // it may be a task of the project
}

// unwrap looks through the programs that run another one.
func (t *Tables) unwrap(list []word) ([]word, wrapping) {
	var under wrapping
	for range 16 {
		key, w, n := t.wrapper(list)
		if key == "" {
			break
		}
		rest, dir, ok := w.skip(list[n:])
		if !ok || len(rest) == 0 {
			break
		}
		under.dir, under.input, under.task = join(under.dir, dir), under.input || w.Input, w.Tasks
		list = rest
	}
	return list, under
}

// wrapper finds the wrapper that a command starts with, and how many words name it.
func (t *Tables) wrapper(list []word) (string, Wrapper, int) {
	key := ""
	for n := 1; n <= min(3, len(list)) && list[n-1].static; n++ {
		if n == 1 {
			key = program(list[0].text)
		} else {
			key += " " + list[n-1].text
		}
		if w, ok := t.Wrappers[key]; ok {
			return key, w, n
		}
	}
	return "", Wrapper{}, 0
}

// skip goes on to the program; false where the wrapper runs none.
func (w Wrapper) skip(list []word) (rest []word, dir string, ok bool) {
	values, dirs, refuse := strings.Fields(w.Values), strings.Fields(w.Dir), strings.Fields(w.Refuse)
	operands := w.Skip
	for len(list) > 0 {
		text := list[0].text
		name, value, joined := strings.Cut(text, "=")
		switch {
		case text == "--":
			list = list[1:]
			if operands == 0 {
				return list, dir, true
			}
			continue
		case slices.Contains(refuse, text):
			return nil, "", false
		case slices.Contains(dirs, text) && len(list) > 1:
			dir, list = list[1].text, list[1:]
		case joined && slices.Contains(dirs, name):
			dir = value
		case slices.Contains(values, text) && len(list) > 1:
			list = list[1:]
		case list[0].static && strings.HasPrefix(text, "-"):
		case w.Assigns && isAssignment(list[0].raw):
		case operands > 0:
			operands--
		default:
			return list, dir, true
		}
		list = list[1:]
	}
	return nil, dir, true
}

func isAssignment(raw string) bool {
	name, _, ok := strings.Cut(raw, "=")
	return ok && syntax.ValidName(name)
}

// describe says what one simple command is.
func (t *Tables) describe(list []word, under wrapping) Command {
	list, dir := globalOptions(list)
	c := Command{Dynamic: under.input, Classes: Set{}, dir: join(under.dir, dir)}
	raw := make([]string, len(list))
	for i, w := range list {
		raw[i] = w.raw
		c.Argv = append(c.Argv, w.text)
		c.Dynamic = c.Dynamic || !w.static
	}
	c.Text = strings.Join(raw, " ")
	if under.task && t.isTest(c.Argv[0]) {
		t.target(&c, c.Argv[:1], false)
		return c
	}
	t.classify(&c, list)
	return c
}

// globalOptions takes away what git, make and go are told before the subcommand,
// so that `git -C dir commit` reads as the commit that it is.
func globalOptions(list []word) (rest []word, dir string) {
	name := program(list[0].text)
	if name == "cargo" && len(list) > 1 && strings.HasPrefix(list[1].text, "+") {
		return slices.Delete(slices.Clone(list), 1, 2), "" // the toolchain
	}
	if name != "git" && name != "make" && name != "go" && name != "pnpm" && name != "npm" && name != "yarn" && name != "ninja" {
		return list, ""
	}
	out := []word{list[0]}
	for i := 1; i < len(list); i++ {
		text := list[i].text
		switch {
		case (text == "-C" || text == "--prefix" || text == "--cwd" || text == "--dir") && i+1 < len(list):
			dir = join(dir, list[i+1].text)
			i++
		case name == "git" && (text == "-c" || text == "--git-dir" || text == "--work-tree") && i+1 < len(list):
			i++
		case name == "git" && strings.HasPrefix(text, "-") || text == "--silent" || text == "-s" || name == "pnpm" && text == "-s":
		default:
			return append(out, list[i:]...), dir
		}
	}
	return out, dir
}

// redirects adds what a statement's redirections read and write to the last
// command of the statement.
func (b *builder) redirects(st *syntax.Stmt, first int) {
	for _, r := range st.Redirs {
		if r.Word == nil {
			continue
		}
		b.substitutions(r.Word)
		if r.Hdoc != nil {
			b.substitutions(r.Hdoc)
			b.patchText(r.Hdoc, first)
			continue
		}
		if len(b.commands) == first {
			return
		}
		name, static := wordText(r.Word)
		c := &b.commands[len(b.commands)-1]
		switch r.Op {
		case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll, syntax.RdrInOut, syntax.DplOut:
			if isDevice(name) || r.Op == syntax.DplOut && (name == "-" || strings.Trim(name, "0123456789") == "") {
				continue
			}
			c.Classes[ClassEdit] = true
			if static {
				c.Writes = append(slices.Clip(c.Writes), name)
			}
		case syntax.RdrIn:
			if static {
				c.Reads = append(slices.Clip(c.Reads), name)
				if c.filter {
					c.Classes[ClassRead] = true
				}
			}
		}
	}
}

func isDevice(name string) bool {
	return name == "/dev/null" || name == "/dev/stdout" || name == "/dev/stderr" || name == "/dev/tty" || strings.HasPrefix(name, "/dev/fd/")
}

// patchText reads the patch that apply_patch is given as a here-document.
func (b *builder) patchText(doc *syntax.Word, first int) {
	if len(b.commands) == first {
		return
	}
	c := &b.commands[len(b.commands)-1]
	if text, static := wordText(doc); static && len(c.Argv) > 0 && strings.HasPrefix(program(c.Argv[0]), "apply") && c.Classes[ClassEdit] {
		c.Writes, c.Removes = patchFiles(text)
	}
}
