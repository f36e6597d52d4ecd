package outcome

import (
	"maps"
	"slices"
	"strings"
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
	// call never ran, FailureStarts how one begins by which the program around the
	// tools says that it failed.
	DeniedStarts, CancelledStarts, FailureStarts []string
}

// DefaultTables returns a copy of the embedded tables.
func DefaultTables() *Tables {
	return &Tables{
		Tools: maps.Clone(toolClasses), Programs: maps.Clone(programs), Wrappers: maps.Clone(wrappers),
		TestWords: maps.Clone(testWords), BuildWords: maps.Clone(buildWords),
		DeniedStarts: slices.Clone(deniedStarts), CancelledStarts: slices.Clone(cancelledStarts), FailureStarts: slices.Clone(failureStarts),
	}
}

// defaults is never written to.
var defaults = DefaultTables()

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
	"uv tool run": {Values: "--from --with --python -p"}, "pipx run": {Values: "--spec"}, "poetry run": {}, "pdm run": {}, "pipenv run": {}, "rye run": {}, "pixi run": {Values: "-e --environment"}, "hatch run": {},
	"conda run": {Values: "-n --name -p --prefix", Dir: "--cwd"}, "bundle exec": {}, "mise exec": {}, "direnv exec": {Skip: 1}, "doppler run": {Values: "-p -c"}, "op run": {Values: "--env-file"},
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
