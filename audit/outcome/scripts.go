package outcome

import (
	"regexp"
	"slices"
	"strings"
)

var scriptName = regexp.MustCompile(`\.(sh|bash|py|js|mjs|cjs|ts|rb|pl|ps1|bat|cmd)$`)

// scripts recognises what only a script or a target stands for: make test, npm
// run build, ./check.sh, python x.py.
func (t *Tables) scripts(c *Command, name string, list []word) {
	argv := c.Argv
	switch name {
	case "make", "gmake", "just", "task", "mage", "invoke", "inv", "rake":
		t.target(c, targets(argv[1:]), name == "make" || name == "gmake")
	case "npm", "yarn", "pnpm", "bun", "composer", "deno", "poe":
		t.packageScript(c, name)
	case "python", "pypy", "coverage":
		t.python(c, name)
	case "node", "nodejs", "tsx", "ts-node", "ruby", "perl", "php", "lua", "Rscript", "osascript", "pwsh", "powershell":
		t.interpreter(c, name)
	case "bash", "sh", "zsh", "dash", "ksh", "source", ".":
		if file := firstOperand(argv[1:]); file != "" {
			t.named(c, file)
		}
	case "docker", "podman", "docker-compose", "kubectl", "ssh", "vagrant", "nix", "nix-shell", "wsl":
		t.elsewhere(c, list)
	case "cmake":
		if i := slices.Index(argv, "--target"); i >= 0 && i+1 < len(argv) {
			t.target(c, argv[i+1:i+2], true)
		}
	case "mvn", "mvnw", "gradle", "gradlew", "sbt", "xcodebuild":
		t.goals(c)
	case "lerna", "nx", "turbo", "lage", "moon", "rush":
		t.monorepo(c)
	case "go", "cargo", "dotnet", "java":
		c.opaque = len(argv) > 1 && (argv[1] == "run" || argv[1] == "xtask" || argv[1] == "-jar")
	default:
		if strings.Contains(argv[0], "/") && len(c.Classes) == 0 || scriptName.MatchString(argv[0]) {
			t.named(c, argv[0])
		}
	}
}

// targets is the words of a make-like command that are neither options nor variables.
func targets(rest []string) []string {
	operands, _ := split(rest, "-f --file -C --directory -j --jobs -d --justfile -I")
	return slices.DeleteFunc(operands, func(w string) bool {
		return w == "" || strings.Contains(w, "=") || strings.Trim(w, "0123456789") == ""
	})
}

// target classifies the targets of a build tool; without one it builds.
func (t *Tables) target(c *Command, list []string, builds bool) {
	c.opaque = true
	if len(list) == 0 && builds {
		c.Classes[ClassBuild] = true
	}
	if builds && slices.Contains(c.Argv, "-n") {
		return // it only tells what it would do
	}
	for _, name := range list {
		switch {
		case t.isTest(name):
			c.Classes[ClassTest] = true
			c.Invokes = "any"
		case t.BuildWords[nameWords(name)[0]]:
			c.Classes[ClassBuild] = true
		}
	}
}

// isTest tells whether a target or a script is named for testing: test, check,
// verify, or with test as its first or last word (test:unit, run_tests).
func (t *Tables) isTest(name string) bool {
	if t.TestWords[strings.ToLower(name)] {
		return true
	}
	w := nameWords(name)
	for _, end := range []string{w[0], w[len(w)-1]} {
		if (end == "test" || end == "tests") && t.TestWords[end] {
			return true
		}
	}
	return false
}

func nameWords(name string) []string {
	w := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return strings.ContainsRune("-_:./ ", r) })
	if len(w) == 0 {
		return []string{""}
	}
	return w
}

// monorepo classifies the tools that run a script of many packages: lerna run
// test, nx run web:test, nx run-many -t test, turbo run test.
func (t *Tables) monorepo(c *Command) {
	operands, _ := split(c.Argv[1:], "--filter -F --scope -p --projects -t --target --targets")
	if len(operands) > 0 && (operands[0] == "run" || operands[0] == "run-many" || operands[0] == "affected") {
		operands = operands[1:]
	}
	for i, w := range c.Argv {
		if _, named, ok := strings.Cut(w, "="); ok && strings.HasPrefix(w, "--target") {
			operands = append(operands, strings.Split(named, ",")...)
		}
		if (w == "-t" || w == "--target" || w == "--targets") && i+1 < len(c.Argv) {
			operands = append(operands, strings.Split(c.Argv[i+1], ",")...)
		}
	}
	t.target(c, operands, false)
}

// goals tells a test run of Maven, Gradle and their like from a build.
func (t *Tables) goals(c *Command) {
	operands, _ := split(c.Argv[1:], "-f --file -p --project-dir -pl --projects -P -x --tests -s -T -b -scheme -destination -project -workspace -sdk -configuration")
	tests := slices.ContainsFunc(operands, func(w string) bool {
		goal := w[strings.LastIndexByte(w, ':')+1:]
		return t.TestWords[goal] || goal == "integration-test" || strings.HasSuffix(goal, "Test") || strings.HasPrefix(goal, "test")
	})
	if !tests {
		return
	}
	delete(c.Classes, ClassBuild)
	c.Classes[ClassTest] = true
	if c.Invokes == "" {
		c.Invokes = "any"
	}
}

// packageScript classifies npm test, npm run X, yarn X and their like.
func (t *Tables) packageScript(c *Command, name string) {
	operands, _ := split(c.Argv[1:], "-w --workspace --filter -F")
	if i := slices.Index(operands, "--"); i >= 0 {
		operands = operands[:i]
	}
	if len(operands) > 2 && operands[0] == "workspace" { // yarn workspace web test
		operands = operands[2:]
	}
	if len(operands) > 2 && operands[0] == "workspaces" && operands[1] == "foreach" {
		operands = operands[2:]
	}
	if len(operands) == 0 {
		return
	}
	sub := operands[0]
	switch {
	case sub == "run" || sub == "run-script" || sub == "task" || sub == "rum":
		if len(operands) < 2 {
			return
		}
		sub = operands[1]
	case name == "npm" || name == "deno":
		if sub != "test" && sub != "t" && sub != "tst" {
			return
		}
		sub = "test"
	default:
		// yarn and pnpm also run a package's program by its bare name.
		if p, ok := t.Programs[sub]; ok && (p.Runner != "" || slices.Contains(p.Classes, ClassBuild)) {
			for _, class := range p.Classes {
				c.Classes[class] = true
			}
			c.Invokes = p.Runner
			return
		}
	}
	if c.Invokes == "" {
		t.target(c, []string{sub}, false)
	}
	c.opaque = true
}

// python classifies python -m MODULE, python FILE and python -c CODE.
func (t *Tables) python(c *Command, name string) {
	rest := c.Argv[1:]
	if name == "coverage" {
		if len(rest) == 0 || rest[0] != "run" {
			return
		}
		rest = rest[1:]
	}
	for len(rest) > 1 && strings.HasPrefix(rest[0], "-") && rest[0] != "-m" && rest[0] != "-c" {
		if rest[0] == "-W" || rest[0] == "-X" {
			rest = rest[1:]
		}
		rest = rest[1:]
	}
	switch {
	case len(rest) == 0:
	case rest[0] == "-m" && len(rest) > 1:
		p, ok := t.Programs["python -m "+rest[1]]
		for _, class := range p.Classes {
			c.Classes[class] = true
		}
		c.Invokes = p.Runner
		c.opaque = !ok
	case rest[0] == "-c" && len(rest) > 1:
		for call, runner := range map[string]string{"pytest.main": "pytest", "unittest.main": "unittest"} {
			if strings.Contains(rest[1], call) {
				c.Invokes, c.Classes[ClassTest] = runner, true
			}
		}
	case !strings.HasPrefix(rest[0], "-"):
		if base := program(rest[0]); (base == "manage.py" || base == "setup.py") && len(rest) > 1 && rest[1] == "test" {
			c.Invokes, c.Classes[ClassTest] = "unittest", true
			return
		}
		t.named(c, rest[0])
	}
}

// interpreter classifies the programs that run a file.
func (t *Tables) interpreter(c *Command, name string) {
	if slices.Contains(c.Argv, "--test") && (name == "node" || name == "nodejs" || name == "tsx") {
		c.Invokes, c.Classes[ClassTest] = "node", true
		return
	}
	for _, inline := range []string{"-e", "-p", "-r", "--eval", "-Command", "-ne", "-pe"} {
		if slices.Contains(c.Argv, inline) {
			return
		}
	}
	file := firstOperand(c.Argv[1:])
	if file == "" {
		return
	}
	if p, ok := t.Programs[program(file)]; ok && p.Runner != "" { // php vendor/bin/phpunit
		c.Invokes, c.Classes[ClassTest] = p.Runner, true
		return
	}
	if file == "artisan" && slices.Contains(c.Argv, "test") {
		c.Invokes, c.Classes[ClassTest] = "phpunit", true
		return
	}
	t.named(c, file)
}

// named classifies a script by its file's name.
func (t *Tables) named(c *Command, file string) {
	c.opaque = true
	base := program(file)
	if i := strings.LastIndexByte(base, '.'); i > 0 {
		base = base[:i]
	}
	if t.isTest(base) {
		c.Classes[ClassTest] = true
		c.Invokes = "any"
	}
}

func firstOperand(rest []string) string {
	for _, w := range rest {
		if w != "" && !strings.HasPrefix(w, "-") {
			return w
		}
	}
	return ""
}

// elsewhere looks for a test runner among the words of a command that runs in a
// container or on another machine.
func (t *Tables) elsewhere(c *Command, list []word) {
	if len(list) < 3 || !slices.ContainsFunc(c.Argv[1:min(4, len(c.Argv))], func(w string) bool { return w == "run" || w == "exec" || w == "ssh" || w == "develop" }) {
		c.opaque = programName(list[0]) == "ssh" || programName(list[0]) == "nix-shell"
		return
	}
	c.opaque = true
	for i := 2; i < min(len(list), 64); i++ {
		p, _ := t.program(c.Argv[i:])
		if p.Runner != "" && slices.Contains(p.Classes, ClassTest) {
			c.Invokes, c.Classes[ClassTest] = p.Runner, true
			return
		}
	}
}
