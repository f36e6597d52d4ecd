package outcome

import (
	"slices"
	"strings"
)

// classify says of a command what it does, to which files, and which test runner
// it starts.
func (t *Tables) classify(c *Command, list []word) {
	name := programName(list[0])
	p, rest := t.program(c.Argv)
	// `./install` is a script of the project, whatever the program of that name does.
	if strings.HasPrefix(c.Argv[0], "./") && p.Runner == "" && !slices.Contains(p.Classes, ClassBuild) {
		p = Program{}
	}
	for _, class := range p.Classes {
		c.Classes[class] = true
	}
	c.Invokes = p.Runner
	operandsOf(c, p, rest)
	special(c, name, list)
	t.scripts(c, name, list)
	if c.Invokes != "" && (slices.ContainsFunc(c.Argv, func(w string) bool { return runsNothing[w] }) || onlyBenchmarks(c.Argv)) {
		c.Invokes = ""
		delete(c.Classes, ClassTest)
	}
	tidy(c, p)
}

// runsNothing is the options with which a test runner only talks about tests.
var runsNothing = words("--version", "--help", "--collect-only", "--co", "--listTests", "--list-tests", "--no-run", "--list", "-list", "--dry-run",
	"--fixtures", "--markers", "--setup-plan", "--showConfig", "--show-config")

// onlyBenchmarks tells whether go test was told to run no test at all, as is done
// for benchmarks and fuzzing: it prints ok then, too.
func onlyBenchmarks(argv []string) bool {
	for i, w := range argv {
		value, joined := strings.CutPrefix(w, "-run=")
		if w == "-run" && i+1 < len(argv) {
			value, joined = argv[i+1], true
		}
		if joined && (value == "^$" || value == "$^" || value == "NONE" || value == "XXX") {
			return true
		}
	}
	return false
}

// tidy takes back what the tables say of a program that here has no file to do it to.
func tidy(c *Command, p Program) {
	c.Writes = slices.DeleteFunc(slices.Clone(c.Writes), isDevice)
	c.Reads = slices.DeleteFunc(slices.Clone(c.Reads), func(w string) bool { return w == "-" || isDevice(w) })
	if p.Operands == UseWrite && len(c.Writes) == 0 && c.Argv[0] == "tee" {
		delete(c.Classes, ClassEdit)
	}
	if p.Operands == UseRead && len(c.Reads) == 0 && c.Classes[ClassRead] {
		delete(c.Classes, ClassRead)
		c.filter = true
	}
	for _, list := range []*[]string{&c.Reads, &c.Writes, &c.Removes} { // what a variable holds is not known
		*list = slices.DeleteFunc(slices.Clone(*list), func(w string) bool { return w == "" })
	}
}

func programName(w word) string {
	name := program(w.text)
	if name == "python3" || name == "python2" || strings.HasPrefix(name, "python3.") {
		return "python"
	}
	return name
}

// program finds the longest entry that a command's first words fit, and returns
// the words behind it.
func (t *Tables) program(argv []string) (Program, []string) {
	key := programName(word{text: argv[0]})
	var found Program
	n := 1
	for i := 1; i <= min(3, len(argv)); i++ {
		if i > 1 {
			key += " " + argv[i-1]
		}
		if p, ok := t.Programs[key]; ok {
			found, n = p, i
		}
	}
	return found, argv[n:]
}

// answers is the exit codes of a command that are no failures.
func (t *Tables) answers(argv []string, under wrapping) codes {
	p, rest := t.program(argv)
	list := p.Answers
	if len(rest) > 0 && programName(word{text: argv[0]}) == "git" && rest[0] == "diff" && (slices.Contains(rest, "--exit-code") || slices.Contains(rest, "--quiet") || slices.Contains(rest, "--no-index")) {
		list = []int32{1}
	}
	if under.input && len(list) > 0 {
		list = []int32{123} // xargs: one of the runs gave a code other than 0
	}
	return codes{list: list}
}

// operandsOf sorts a command's operands into what is read, written and removed.
func operandsOf(c *Command, p Program, rest []string) {
	operands, given := split(rest, p.Values)
	skip := p.Skip
	if given["-e"] || given["-f"] || given["--regexp"] || given["--file"] || given["--expression"] || given["--files"] {
		skip = 0 // the pattern or the script stands with the option
	}
	if len(operands) <= skip {
		return
	}
	operands = operands[skip:]
	last := len(operands) - 1
	switch p.Operands {
	case UseRead:
		c.Reads = operands
	case UseWrite:
		c.Writes = operands
	case UseRemove:
		c.Removes = operands
	case UseLink:
		c.Writes = operands[last:]
	case UseCopy, UseMove:
		from, to := operands[:last], operands[last]
		if dir, ok := targetDirectory(rest); ok {
			from, to = operands, dir+"/"
		}
		c.Writes = destinations(from, to)
		if p.Operands == UseMove {
			c.Removes = from
		} else {
			c.Reads = from
		}
	}
}

// split parts operands from options; values are the options that take the next word.
func split(rest []string, values string) (operands []string, given map[string]bool) {
	with := strings.Fields(values)
	given = map[string]bool{}
	for i := 0; i < len(rest); i++ {
		w := rest[i]
		switch {
		case w == "--":
			return append(operands, rest[i+1:]...), given
		case slices.Contains(with, w):
			given[w] = true
			i++
		case strings.HasPrefix(w, "-") && w != "-":
			name, _, _ := strings.Cut(w, "=")
			given[name] = true
		default:
			operands = append(operands, w)
		}
	}
	return operands, given
}

// targetDirectory finds the -t of cp, mv and install.
func targetDirectory(rest []string) (string, bool) {
	for i, w := range rest {
		if (w == "-t" || w == "--target-directory") && i+1 < len(rest) {
			return rest[i+1], true
		}
		if dir, ok := strings.CutPrefix(w, "--target-directory="); ok {
			return dir, true
		}
	}
	return "", false
}

// destinations says what files a copy or a move makes. Whether a single target is
// a folder, only the disk tells; it is one where it is written like one.
func destinations(from []string, to string) []string {
	folder := strings.HasSuffix(to, "/") || to == "." || to == ".." || len(from) > 1
	if !folder || len(from) == 0 || to == "" {
		return []string{to}
	}
	var out []string
	for _, f := range from {
		if f != "" && f != to {
			out = append(out, strings.TrimSuffix(to, "/")+"/"+program(strings.TrimSuffix(f, "/")))
		}
	}
	return out
}

// special handles the programs whose options decide what they do.
func special(c *Command, name string, list []word) {
	switch name {
	case "sed", "gsed":
		sed(c, list)
	case "perl":
		if slices.ContainsFunc(c.Argv[1:], func(w string) bool { return perlInPlace.MatchString(w) }) {
			c.Classes[ClassEdit] = true
			operands, given := split(c.Argv[1:], "-e -E -pe -ne -pie")
			if given["-e"] || given["-pe"] || given["-pie"] {
				c.Writes = operands
			}
		}
	case "patch":
		operands, given := split(c.Argv[1:], "-i --input -d --directory -o --output")
		c.Writes = operands[:min(1, len(operands))]
		c.Reads = operands[min(1, len(operands)):]
		if given["--dry-run"] {
			delete(c.Classes, ClassEdit)
			c.Writes = nil
		}
	case "test", "[":
		c.Reads = slices.DeleteFunc(slices.Clone(c.Reads), func(w string) bool { return strings.Trim(w, "]=!()<>") == "" })
	case "grep", "egrep", "fgrep", "zgrep":
		grep(c)
	case "find":
		find(c)
	case "git":
		git(c)
	case "tail":
		c.Reads = slices.DeleteFunc(slices.Clone(c.Reads), func(w string) bool { return strings.HasPrefix(w, "+") })
	case "apply_patch", "applypatch":
		c.Classes[ClassEdit] = true
		if len(c.Argv) > 1 {
			c.Writes, c.Removes = patchFiles(c.Argv[1])
		}
	}
}

// sed edits with -i and reads without; its first operand is the script unless an
// option holds one.
func sed(c *Command, list []word) {
	inPlace, scripted := false, false
	var operands []string
	for i := 1; i < len(list); i++ {
		w := list[i].text
		switch {
		case w == "-e" || w == "-f" || w == "--expression" || w == "--file" || w == "-l":
			scripted = scripted || w != "-l"
			i++
		case sedInPlace.MatchString(w):
			inPlace = true
			if i+1 < len(list) && (list[i+1].raw == "''" || list[i+1].raw == `""`) {
				i++ // BSD wants the suffix as a word of its own
			}
		case strings.HasPrefix(w, "-") && len(w) > 1:
			scripted = scripted || strings.HasPrefix(w, "-e") || strings.HasPrefix(w, "--expression=") || strings.HasPrefix(w, "--file=") || sedScripted.MatchString(w)
			if sedScripted.MatchString(w) {
				i++
			}
		default:
			operands = append(operands, w)
		}
	}
	if !scripted && len(operands) > 0 {
		operands = operands[1:]
	}
	c.Reads = operands
	if inPlace {
		delete(c.Classes, ClassRead)
		c.Classes[ClassEdit] = true
		c.Reads, c.Writes = nil, operands
	}
}

// grep without a file searches what it is piped, unless it is told to walk.
func grep(c *Command) {
	if len(c.Reads) > 0 {
		return
	}
	walks := slices.ContainsFunc(c.Argv[1:], func(w string) bool {
		return w == "--recursive" || strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "--") && strings.ContainsAny(w, "rR")
	})
	if walks {
		c.Reads = []string{"."}
		return
	}
	delete(c.Classes, ClassSearch)
}

// find searches below its first operands; what it runs is a command of its own.
func find(c *Command) {
	for _, w := range c.Argv[1:] {
		if strings.HasPrefix(w, "-") || w == "(" || w == "!" {
			break
		}
		c.Reads = append(c.Reads, w)
	}
	if slices.Contains(c.Argv, "-delete") {
		c.Classes[ClassEdit] = true
	}
}

// findCommands returns the commands that find runs on what it finds.
func findCommands(list []word) [][]word {
	if program(list[0].text) != "find" {
		return nil
	}
	var out [][]word
	for i := 1; i < len(list); i++ {
		if w := list[i].text; w != "-exec" && w != "-execdir" && w != "-ok" {
			continue
		}
		from := i + 1
		for i = from; i < len(list) && list[i].text != ";" && list[i].text != "+"; i++ {
			if list[i].text == "{}" {
				list[i].text, list[i].static = "", false
			}
		}
		if i > from {
			out = append(out, list[from:i])
		}
	}
	return out
}
