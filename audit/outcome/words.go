package outcome

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// word is one word of a command: as written, and as the program gets it.
type word struct {
	raw    string
	text   string
	static bool
}

// wordText removes a word's quotes; false where only a run would tell its text.
func wordText(w *syntax.Word) (string, bool) {
	var out strings.Builder
	if !parts(&out, w.Parts, false) {
		return "", false
	}
	return out.String(), true
}

func parts(out *strings.Builder, list []syntax.WordPart, quoted bool) bool {
	for _, p := range list {
		switch x := p.(type) {
		case *syntax.Lit:
			unescape(out, x.Value, quoted)
		case *syntax.SglQuoted:
			if x.Dollar {
				out.WriteString(ansiQuoted.Replace(x.Value))
			} else {
				out.WriteString(x.Value)
			}
		case *syntax.DblQuoted:
			if !parts(out, x.Parts, true) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

var ansiQuoted = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\'`, "'", `\"`, `"`, `\\`, `\`)

// unescape removes backslashes: all of them outside of quotes, inside only those
// that keep a character from being special.
func unescape(out *strings.Builder, s string, quoted bool) {
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) || quoted && !strings.ContainsRune("$`\"\\\n", rune(s[i+1])) {
			out.WriteByte(s[i])
			continue
		}
		if i++; s[i] != '\n' {
			out.WriteByte(s[i])
		}
	}
}

// call walks a simple command.
func (b *builder) call(x *syntax.CallExpr, redirs []*syntax.Redirect) flow {
	inner := codes{any: true}
	for _, a := range x.Assigns {
		inner = b.substitutions(a)
		if a.Name != nil {
			delete(b.saved, a.Name.Value)
		}
	}
	words := make([]word, 0, len(x.Args))
	for _, w := range x.Args {
		b.substitutions(w)
		text, static := wordText(w)
		words = append(words, word{b.source(w), text, static})
	}
	if len(words) == 0 {
		return flow{codes: inner}
	}
	return b.words(words, redirs)
}

// words walks a simple command from its words on, after substitutions.
func (b *builder) words(words []word, redirs []*syntax.Redirect) flow {
	if body, ok := b.funcs[words[0].text]; ok && words[0].static && !slices.Contains(b.running, words[0].text) && len(b.running) < maxScripts {
		b.running = append(b.running, words[0].text)
		f := b.stmt(body)
		b.running = b.running[:len(b.running)-1]
		return flow{codes: f.codes} // what it was called with is not known
	}
	words, under := b.tables.unwrap(words)
	if len(words) == 0 {
		return flow{codes: codes{any: true}}
	}
	if f, ok := b.inner(words, redirs); ok {
		return f
	}
	c := b.tables.describe(words, under)
	f := b.add(c)
	f.codes = b.tables.answers(c.Argv, under)
	if preparing[c.Argv[0]] {
		f.codes = codes{any: true}
	}
	b.effects(c, &f)
	for _, inner := range findCommands(words) {
		b.add(b.tables.describe(inner, wrapping{input: true})) // once, often or never
	}
	return f
}

// inner walks the script that a shell or eval is given.
func (b *builder) inner(words []word, redirs []*syntax.Redirect) (flow, bool) {
	name := program(words[0].text)
	text, errexit, pipefail := "", b.errexit, b.pipefail
	switch {
	case name == "eval":
		list := make([]string, 0, len(words))
		for _, w := range words[1:] {
			if !w.static {
				return flow{}, false
			}
			list = append(list, w.text)
		}
		text = strings.Join(list, " ")
	case name == "powershell" || name == "pwsh" || name == "cmd":
		text = windowsScript(words[1:])
	case isShell(name):
		var ok bool
		if text, errexit, pipefail, ok = script(words[1:], redirs); !ok {
			return flow{}, false
		}
	}
	if text == "" || b.level >= maxScripts {
		return flow{}, false
	}
	file := parse(text)
	if file == nil {
		return flow{}, false
	}
	b.level++
	defer func() { b.level-- }()
	if name == "eval" {
		return b.file(text, file), true
	}
	return b.apart(func() flow {
		b.errexit, b.pipefail = errexit, pipefail
		return b.file(text, file)
	}), true
}

// windowsScript is what PowerShell is told to run by -Command, and cmd by /c: simple
// commands and how they follow each other are the same there.
func windowsScript(args []word) string {
	for i, w := range args {
		switch strings.ToLower(w.text) {
		case "-command", "-c", "/c":
			var list []string
			for _, rest := range args[i+1:] {
				if !rest.static {
					return ""
				}
				list = append(list, rest.text)
			}
			return strings.Join(list, " ")
		}
	}
	return ""
}

// script finds what a shell is told to run: by -c, or by a here-document.
func script(args []word, redirs []*syntax.Redirect) (text string, errexit, pipefail, ok bool) {
	for i := 0; i < len(args); i++ {
		w := args[i].text
		switch {
		case !args[i].static:
			return "", false, false, false
		case w == "-o" && i+1 < len(args):
			i++
			pipefail = pipefail || args[i].text == "pipefail"
			errexit = errexit || args[i].text == "errexit"
		case strings.HasPrefix(w, "--"):
		case strings.HasPrefix(w, "-") && w != "-":
			errexit = errexit || strings.Contains(w, "e")
			if strings.HasSuffix(w, "o") && i+1 < len(args) && args[i+1].text == "pipefail" {
				pipefail = true
				args = slices.Delete(slices.Clone(args), i+1, i+2)
			}
			if strings.Contains(w, "c") && i+1 < len(args) {
				return args[i+1].text, errexit, pipefail, args[i+1].static
			}
		case w != "-" && w != "-s":
			return "", false, false, false // a file
		}
	}
	for _, r := range redirs {
		if r.Hdoc != nil {
			text, ok = wordText(r.Hdoc)
			return text, errexit, pipefail, ok
		}
		if r.Op == syntax.WordHdoc {
			text, ok = wordText(r.Word)
			return text, errexit, pipefail, ok
		}
	}
	return "", false, false, false
}

// preparing is the commands that prepare others and practically never fail: they
// exclude no answer of what they prepare. That a cd did fail, its output tells.
var preparing = words("cd", "pushd", "popd", "set", "echo", "printf", "true", ":", "source", ".", "export", "ulimit", "umask")

// effects follows the commands that change the shell itself.
func (b *builder) effects(c Command, f *flow) {
	switch c.Argv[0] {
	case "cd", "pushd":
		b.changeDir(c.Argv[1:])
	case "popd":
		b.lost = true
	case "set":
		b.setOptions(c.Argv[1:])
	case "exit", "return":
		f.exits = true
		f.fails = len(c.Argv) > 1 && c.Argv[1] != "0"
		f.mayExit = !f.fails || c.Dynamic
	case "false":
		f.fails = true
	}
}

// changeDir follows cd. Where to is unknown for a variable, `-` and the home
// directory.
func (b *builder) changeDir(args []string) {
	b.chdir = true
	for len(args) > 0 && (args[0] == "--" || args[0] == "-P" || args[0] == "-L") {
		args = args[1:]
	}
	if len(args) == 0 || args[0] == "" || args[0] == "-" {
		b.lost = true
		return
	}
	b.cwd = b.resolve(args[0])
	b.lost = b.lost && !absolute(args[0])
}

// setOptions follows `set -euo pipefail`.
func (b *builder) setOptions(args []string) {
	for i, w := range args {
		if len(w) < 2 || w[0] != '-' && w[0] != '+' || w == "--" {
			continue
		}
		on := w[0] == '-'
		if strings.Contains(w, "e") {
			b.errexit = on
		}
		if strings.HasSuffix(w, "o") && i+1 < len(args) {
			switch args[i+1] {
			case "errexit":
				b.errexit = on
			case "pipefail":
				b.pipefail = on
			}
		}
	}
}
