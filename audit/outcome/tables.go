package outcome

import (
	"maps"
	"slices"
	"strings"

	"nightaudit/trace"
)

// Use is what a program does with the files among its operands.
type Use string

// The uses of operands.
const (
	UseNone   Use = ""
	UseRead   Use = "read"
	UseWrite  Use = "write"
	UseRemove Use = "remove"
	UseCopy   Use = "copy" // the last operand is written, the others are read
	UseLink   Use = "link" // the last operand is written
	UseMove   Use = "move" // the last operand is written, the others are removed
)

// Uses lists the uses that can be named.
func Uses() []Use { return []Use{UseRead, UseWrite, UseRemove, UseCopy, UseLink, UseMove} }

// Program is what is known of a program, or of one of its subcommands.
type Program struct {
	Classes  []Class
	Operands Use
	// Skip counts the leading operands that are no paths (the pattern of grep).
	Skip int
	// Values are the options whose value is the next word, separated by blanks.
	Values string
	// Answers are the exit codes beside 0 that are answers and no failure.
	Answers []int32
	// Runner is the test runner whose summary the program prints; "any" where its
	// format is not known.
	Runner string
}

// Wrapper is a program that runs another one.
type Wrapper struct {
	// Values are the options whose value is the next word, separated by blanks.
	Values string
	// Skip counts the operands before the program (the duration of timeout).
	Skip int
	// Assigns: NAME=value may stand before the program.
	Assigns bool
	// Dir is the option that names the directory to run in.
	Dir string
	// Refuse are options with which nothing is run (`command -v`).
	Refuse string
	// Input: the program's last arguments come from the standard input (xargs).
	Input bool
	// Tasks: what it runs may be a task of the project by its name (`pixi run test`).
	Tasks bool
}

// Tables are the names that outcomes and classes depend on. What a caller adds to
// DefaultTables extends them; a Tables in use must not be changed.
type Tables struct {
	// Tools gives the class of a tool by its name in lower case.
	Tools map[string]Class
	// Programs is keyed by a program's name, or by it and one or two words of a
	// subcommand (`git stash pop`); the longest key that fits counts.
	Programs map[string]Program
	// Wrappers is keyed by a program's name, or by it and a subcommand (`uv run`).
	Wrappers map[string]Wrapper
	// TestWords and BuildWords are the words by which the targets of make, npm and
	// their like, and scripts, are known.
	TestWords, BuildWords map[string]bool
	// DeniedStarts and CancelledStarts are how a result begins that says that the
	// call never ran, StartedStarts how one of a shell begins that says that the
	// command goes on, FailureStarts how one begins by which the program around the
	// tools says that it failed.
	DeniedStarts, CancelledStarts, StartedStarts, FailureStarts []string
	// Marks are texts that stand in a record for something that was taken out,
	// beside those that are known everywhere ([REDACTED], ***).
	Marks []string
}

// IsMark tells whether a text, blanks around it aside, is a mark that stands for
// something taken out.
func (t *Tables) IsMark(text string) bool {
	text = strings.TrimSpace(text)
	return trace.IsRedacted(text) || slices.Contains(t.Marks, text)
}

// With returns tables of the entries of both; where both have a name, more's entry
// stands.
func (t *Tables) With(more *Tables) *Tables {
	out := t.clone()
	maps.Copy(out.Tools, more.Tools)
	maps.Copy(out.Programs, more.Programs)
	maps.Copy(out.Wrappers, more.Wrappers)
	maps.Copy(out.TestWords, more.TestWords)
	maps.Copy(out.BuildWords, more.BuildWords)
	out.DeniedStarts = append(out.DeniedStarts, more.DeniedStarts...)
	out.CancelledStarts = append(out.CancelledStarts, more.CancelledStarts...)
	out.StartedStarts = append(out.StartedStarts, more.StartedStarts...)
	out.FailureStarts = append(out.FailureStarts, more.FailureStarts...)
	out.Marks = append(out.Marks, more.Marks...)
	return out
}

func (t *Tables) clone() *Tables {
	return &Tables{
		Tools: cloned(t.Tools), Programs: cloned(t.Programs), Wrappers: cloned(t.Wrappers),
		TestWords: cloned(t.TestWords), BuildWords: cloned(t.BuildWords),
		DeniedStarts: slices.Clone(t.DeniedStarts), CancelledStarts: slices.Clone(t.CancelledStarts),
		StartedStarts: slices.Clone(t.StartedStarts), FailureStarts: slices.Clone(t.FailureStarts),
		Marks: slices.Clone(t.Marks),
	}
}

// cloned is never nil, so that what comes out can be written to.
func cloned[V any](m map[string]V) map[string]V {
	if m == nil {
		return map[string]V{}
	}
	return maps.Clone(m)
}

// DefaultTables returns a copy of the embedded tables.
func DefaultTables() *Tables {
	return defaults.clone()
}

// defaults is never written to.
var defaults = &Tables{
	Tools: toolClasses, Programs: programs, Wrappers: wrappers, TestWords: testWords, BuildWords: buildWords,
	DeniedStarts: deniedStarts, CancelledStarts: cancelledStarts, StartedStarts: startedStarts, FailureStarts: failureStarts,
}

var (
	deniedStarts = []string{
		"Permission to use ", "Claude requested permissions to ", // Claude Code
		"patch rejected", "exec command rejected", "approval policy is ", // Codex
		"The user has declined ", "Tool execution denied by policy", "The user has specified a rule which prevents ", "Action rejected", // goose, Gemini, opencode, OpenHands
		"Qwen Code requires permission to use ",
	}
	cancelledStarts = []string{
		"Cancelled:", "Sibling tool call errored", "<tool_use_error>Sibling tool call errored", "[Request interrupted", "[Operation Cancelled]",
	}
	startedStarts = []string{
		"Command running in background", "Command was manually backgrounded", "Command moved to background", "Process running with session ID ", // Claude Code, Gemini, Codex
	}
	failureStarts = []string{
		"<tool_use_error>", "Error: Error calling tool", "Error executing tool", "MCP error",
		"missing required parameter", "Unknown tool", "Tool not found", "API request failed",
	}
)

var (
	testWords  = words("test", "tests", "check", "verify")
	buildWords = words("build", "compile", "bundle", "dist", "package", "all")
)

var wrappers = map[string]Wrapper{
	"env": {Values: "-u --unset -S --split-string", Assigns: true, Dir: "-C --chdir"}, "cross-env": {Assigns: true}, "dotenv": {Values: "-e -f"},
	"time": {Values: "-f -o"}, "timeout": {Values: "-s --signal -k --kill-after", Skip: 1}, "gtimeout": {Values: "-s --signal -k --kill-after", Skip: 1},
	"nice": {Values: "-n --adjustment"}, "ionice": {Values: "-c -n"}, "nohup": {}, "setsid": {}, "stdbuf": {Values: "-i -o -e"}, "chronic": {}, "unbuffer": {}, "caffeinate": {Values: "-t -w"},
	"sudo": {Values: "-u --user -g --group -h -p -C -T", Assigns: true, Dir: "-D --chdir"}, "doas": {Values: "-u -C"},
	"command": {Refuse: "-v -V"}, "builtin": {}, "exec": {Values: "-a"}, "xvfb-run": {Values: "-n -s -e -f -p"},
	"npx": {Values: "-p --package -w --workspace"}, "bunx": {}, "pnpx": {}, "npm exec": {Values: "-p --package -w --workspace"}, "pnpm exec": {}, "pnpm dlx": {}, "yarn exec": {}, "yarn dlx": {Values: "-p"},
	"uv run":      {Values: "--with --python -p --extra --group --package --env-file --index --with-requirements", Dir: "--directory"},
	"uvx":         {Values: "--from --with --python -p"},
	"uv tool run": {Values: "--from --with --python -p"}, "pipx run": {Values: "--spec"}, "poetry run": {}, "pdm run": {Tasks: true}, "pipenv run": {Tasks: true}, "rye run": {Tasks: true}, "pixi run": {Values: "-e --environment", Tasks: true}, "hatch run": {Tasks: true},
	"conda run": {Values: "-n --name -p --prefix", Dir: "--cwd"}, "bundle exec": {}, "mise exec": {}, "direnv exec": {Skip: 1}, "doppler run": {Values: "-p -c"}, "op run": {Values: "--env-file"},
	"flock": {Values: "-w --timeout -E", Skip: 1}, "corepack": {}, "asdf exec": {}, "rbenv exec": {}, "pyenv exec": {}, "dotenvx run": {Values: "-f"}, "aws-vault exec": {Skip: 1},
	"xargs": {Values: "-a -d -E -I -L -n -P -s --max-args --max-procs --max-lines --replace --delimiter", Input: true},
}

// Class constants beside those that outcomes depend on.
const (
	ClassVCS   Class = "vcs"
	ClassBuild Class = "build"
)

// spread gives one entry to many names.
func spread(into map[string]Program, p Program, names string) {
	for _, n := range strings.Split(names, ",") {
		into[strings.TrimSpace(n)] = p
	}
}
