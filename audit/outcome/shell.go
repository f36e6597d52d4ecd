package outcome

import (
	"path"
	"slices"
	"strings"

	"nightaudit/trace"
)

// Shell is what one shell call ran.
type Shell struct {
	// Text is the whole command; where all of it is the script of a `bash -lc`,
	// that script.
	Text string
	// Commands are the simple commands in the order in which they stand, those of
	// loops and substitutions too. Which of them ran is not always known.
	Commands []Command
	// Parsed tells whether Text could be read as shell. Where it could not, there
	// is nothing but Text.
	Parsed bool
	// Background is set when the call was told not to wait for the command.
	Background bool

	answers codes
	chdir   bool
}

// Command is one simple command of a shell call.
type Command struct {
	// Text is the command as claims name it: its words separated by single blanks
	// and quoted as they were, after assignments and wrappers, without redirections.
	Text string
	// Argv is the words without their quotes. A word that only a run would tell is
	// "" and Dynamic is set.
	Argv    []string
	Dynamic bool
	// Cwd is where it ran: "" unknown; relative where the call's own directory is
	// not known.
	Cwd string
	// Trusted: when the call's recorded exit status is 0, this command succeeded.
	Trusted bool
	// Writes, Reads and Removes are the paths of operands and redirections as they
	// were written, relative to Cwd.
	Writes, Reads, Removes []string
	Classes                Set
	// Invokes is the name of the test runner that the command starts, "" for none.
	Invokes string

	// opaque marks a script or a target: what it does, only its output tells.
	opaque bool
	// filter marks a program that reads files, but here what it is piped.
	filter bool
	// dir is the command's directory as it was given to the program itself
	// (`git -C`), relative to Cwd; it is folded into Cwd.
	dir string
}

// Accepts tells whether an exit code is a success of this command: 0, or a code
// by which every command whose own status it can be gives an answer (grep that
// finds nothing).
func (s Shell) Accepts(code int32) bool { return code == 0 || s.Parsed && s.answers.has(code) }

// Group names what a command is one more run of: the command and where it ran.
func (c Command) Group() string { return c.Cwd + "\x00" + c.Text }

// scriptKeys are the arguments that hold a shell call's command, in this order.
var scriptKeys = []string{"command", "cmd", "script", "input", "code", "command_line", "commandLine", "CommandLine"}

// commands reads what a call of class shell ran.
func (t *Tables) commands(run *trace.Run, c *trace.Call) (Shell, error) {
	if !t.Classes(c.Tool)[ClassShell] {
		return Shell{}, nil
	}
	args, err := run.Value(c.Args)
	if err != nil {
		return Shell{}, err
	}
	b := &builder{tables: t, cwd: callCwd(run, c, args)}
	var s Shell
	for _, key := range scriptKeys {
		v := args.Get(key)
		switch v.Kind() {
		case trace.KindString:
			s = b.script(v.Text())
		case trace.KindArray:
			s = b.argv(v)
		default:
			continue
		}
		break
	}
	if s.Text == "" && args.Kind() == trace.KindString {
		s = b.script(args.Text()) // a tool that takes nothing but the command
	}
	s.Background = args.Get("run_in_background").Flag() == trace.FlagTrue || args.Get("background").Flag() == trace.FlagTrue ||
		args.Get("is_background").Flag() == trace.FlagTrue
	return s, nil
}

// callCwd is the directory a call ran in: the one it was given, the one recorded
// with it, the run's.
func callCwd(run *trace.Run, c *trace.Call, args trace.Value) string {
	base := c.Cwd
	switch {
	case base == "":
		base = run.Cwd
	case run.Cwd != "":
		base = join(run.Cwd, base)
	}
	for _, key := range []string{"cwd", "workdir", "working_directory", "directory", "dir_path", "working_dir", "workingDirectory", "Cwd"} {
		if dir := strings.TrimPrefix(args.Get(key).Text(), "file://"); dir != "" {
			return join(base, dir)
		}
	}
	return base
}

// argv reads a command that is recorded as a list of words.
func (b *builder) argv(list trace.Value) Shell {
	var words []string
	for v := range list.Elements() {
		if v.Kind() != trace.KindString {
			return Shell{}
		}
		words = append(words, v.Text())
	}
	if len(words) == 0 {
		return Shell{}
	}
	if text, ok := shellScript(words); ok {
		return b.script(text)
	}
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quote(w)
	}
	return b.script(strings.Join(quoted, " "))
}

// shellScript returns the script of `bash -lc SCRIPT` where nothing else is said.
func shellScript(words []string) (string, bool) {
	if len(words) != 3 || !isShell(program(words[0])) || !strings.HasPrefix(words[1], "-") || !strings.HasSuffix(words[1], "c") {
		return "", false
	}
	// Options that change what the script's status means are left to the parser.
	if strings.ContainsAny(words[1], "e") || strings.HasPrefix(words[1], "--") {
		return "", false
	}
	return words[2], true
}

func isShell(name string) bool {
	return slices.Contains([]string{"bash", "sh", "zsh", "dash", "ksh"}, name)
}

// program is the name of a program without its folder.
func program(word string) string {
	if i := strings.LastIndexAny(word, `/\`); i >= 0 {
		word = word[i+1:]
	}
	return strings.TrimSuffix(word, ".exe")
}

// quote writes a word so that a shell reads it back.
func quote(w string) string {
	plain := w != "" && strings.IndexFunc(w, func(r rune) bool {
		return !strings.ContainsRune("_-./=:,@%+", r) && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) < 0
	if plain {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

// join resolves a directory against a base, either of which may be unknown.
func join(base, dir string) string {
	switch {
	case dir == "":
		return base
	case absolute(dir):
		return clean(dir)
	case base == "":
		return clean(dir)
	default:
		return clean(base + "/" + dir)
	}
}

// absolute tells whether a path says where it is by itself: from the root, from a
// home directory, or from a drive.
func absolute(p string) bool {
	return strings.HasPrefix(p, "/") || strings.HasPrefix(p, "~") || strings.HasPrefix(p, `\\`) ||
		len(p) > 2 && p[1] == ':' && (p[2] == '\\' || p[2] == '/')
}

func clean(p string) string {
	if strings.Contains(p, `\`) {
		return p // of another system: as it was written
	}
	return path.Clean(p)
}
