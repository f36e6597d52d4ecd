package outcome

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// shellOf reads a command as that of a Bash call; fields are more arguments.
func shellOf(t *testing.T, command, fields string) Shell {
	t.Helper()
	text, err := json.Marshal(command)
	if err != nil {
		t.Fatal(err)
	}
	run, c := first(t, call("Bash", `"result":"","args":{"command":`+string(text)+fields+`}`))
	s, err := Commands(run, c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// show writes the commands of a call in short: text, * for trusted, @ its directory.
func show(s Shell) string {
	if !s.Parsed {
		return "unparsed"
	}
	var out []string
	for _, c := range s.Commands {
		line := c.Text
		if c.Trusted {
			line += " *"
		}
		if c.Cwd != "" {
			line += " @" + c.Cwd
		}
		out = append(out, line)
	}
	return strings.Join(out, " | ")
}

func TestCommands_Trusted(t *testing.T) {
	for command, want := range trustSamples {
		if got := show(shellOf(t, command, "")); got != want {
			t.Errorf("%q: %s, want %s", command, got, want)
		}
	}
}

var trustSamples = map[string]string{
	"ls":                              "ls *",
	"a && b":                          "a * | b *",
	"a && b && c":                     "a * | b * | c *",
	"a; b":                            "a | b *",
	"a\nb":                            "a | b *",
	"a || true":                       "a | true",
	"a || echo failed":                "a | echo failed",
	"a && b || c":                     "a | b | c",
	"a || exit 1":                     "a * | exit 1",
	"a | tail; exit ${PIPESTATUS[0]}": "a * | tail | exit ${PIPESTATUS[0]} *",
	"a; exit $?":                      "a * | exit $? *",
	"a > l; rc=$?; tail l; exit $rc":  "a * | tail l | exit $rc *",
	"a | b | c; r=${PIPESTATUS[0]}; d; exit \"$r\"": "a * | b | c | d | exit \"$r\" *",
	"a; rc=$?; b; exit $other":                      "a | b | exit $other *",
	"a; rc=$?; b && rc=0; exit $rc":                 "a | b | exit $rc *",
	"if a; then b; rc=$?; fi; exit $rc":             "a | b | exit $rc *",
	"a; rc=$?; (rc=0); exit $rc":                    "a * | exit $rc *",
	"a; b; exit $?":                                 "a | b * | exit $? *",
	"a || exit $?; b":                               "a * | exit $? | b *",
	"a || exit 1; b":                                "a * | exit 1 | b *",
	"a || { echo no; exit 2; }; b":                  "a * | echo no | exit 2 | b *",
	"a || exit 0; b":                                "a | exit 0 | b",
	"a || false":                                    "a * | false",
	"a || exit; b":                                  "a | exit | b",
	"a | tail -5":                                   "a | tail -5 *",
	"a | tee log | tail":                            "a | tee log | tail *",
	"set -o pipefail; a | tail":                     "set -o pipefail | a * | tail *",
	"set -euo pipefail\na | tail\nb":                "set -euo pipefail * | a * | tail * | b *",
	"set -e; a; b":                                  "set -e * | a * | b *",
	"set -e; a && b; c":                             "set -e * | a | b | c *",
	"set -e; set +e; a; b":                          "set -e * | set +e | a | b *",
	"a &":                                           "a",
	"a & b":                                         "a | b *",
	"a && b &":                                      "a | b",
	"! a":                                           "a",
	"(a && b)":                                      "a * | b *",
	"(a; b) && c":                                   "a | b * | c *",
	"{ a && b; } && c":                              "a * | b * | c *",
	"(a || exit 1); b":                              "a | exit 1 | b *",
	"if a; then b; else c; fi":                      "a | b | c",
	"for f in *.go; do gofmt $f; done":              "gofmt $f",
	"while a; do b; done":                           "a | b",
	"case $x in y) a;; esac":                        "a",
	"x=$(a) && b":                                   "a | b *",
	"echo $(a | b)":                                 "a | b | echo $(a | b) *",
	"diff <(a) <(b)":                                "a | b | diff <(a) <(b) *",
	"cd /w && a":                                    "cd /w * | a * @/w",
	"cd /w && a 2>&1 | tail":                        "cd /w * | a @/w | tail * @/w",
	"cd /w; a":                                      "cd /w | a * @/w",
	"cd sub && a":                                   "cd sub * | a * @sub",
	"(cd sub && a); b":                              "cd sub | a @sub | b *",
	"cd $x && a":                                    "cd $x * | a *",
	"cd $x && cd y && a":                            "cd $x * | cd y * | a *",
	"cd - && a":                                     "cd - * | a *",
	"cd a && cd ../b && c":                          "cd a * | cd ../b * @a | c * @b",
	"time a":                                        "a *",
	"f() { a; }; f":                                 "a",
	"f() { a; }; b":                                 "b *",
	"[[ -f x ]] && a":                               "[[ -f x ]] * | a *",
	"export A=1 && a":                               "export A=1 * | a *",
	"A=1 a":                                         "a *",
	"a <<'X'\nrm -rf /\nX":                          "a *",
	"bash <<'X'\na\nb\nX":                           "a | b *",
	"bash -c 'a && b'":                              "a * | b *",
	"bash -lc 'cd /w && a | tail'":                  "cd /w * | a @/w | tail * @/w",
	"bash -ec 'a; b'":                               "a * | b *",
	"bash -eo pipefail -c 'a | b'":                  "a * | b *",
	"sudo bash -c 'a; b' && c":                      "a | b * | c *",
	"eval 'a; b'":                                   "a | b *",
	"bash x.sh":                                     "bash x.sh *",
	"if then":                                       "unparsed",
	"":                                              "",
}

func TestCommands_LookedThrough(t *testing.T) {
	for command, want := range map[string]string{
		"env A=1 -u B a":                  "a *",
		"timeout 60 a":                    "a *",
		"timeout -k 5 60s a b":            "a b *",
		"nice -n 10 a":                    "a *",
		"sudo -u me A=1 a":                "a *",
		"npx --yes jest t":                "jest t *",
		"uv run pytest -q":                "pytest -q *",
		"uv run --with x --directory d a": "a * @d",
		"poetry run a":                    "a *",
		"bundle exec rspec":               "rspec *",
		"A=1 timeout 5 uv run env B=2 a":  "a *",
		"command a":                       "a *",
		"command -v a":                    "command -v a *",
		"exec a":                          "a *",
		"nohup a &":                       "a",
		"find . | xargs -n 1 grep x":      "find . | grep x *",
		"xargs":                           "xargs *",
		"timeout":                         "timeout *",
		"git -C d commit -m 'x y'":        "git commit -m 'x y' * @d",
		"git -c a.b=c --no-pager  log":    "git log *",
		"make -C d test":                  "make test * @d",
		"go -C d test ./...":              "go test ./... * @d",
		"/usr/bin/grep -r x":              "/usr/bin/grep -r x *",
		"$cmd x":                          "$cmd x *",
		"git   commit   -m x >log 2>&1":   "git commit -m x *",
	} {
		if got := show(shellOf(t, command, "")); got != want {
			t.Errorf("%q: %s, want %s", command, got, want)
		}
	}
}

func TestCommands_Arguments(t *testing.T) {
	for _, c := range []struct{ tool, args, text, want string }{
		{"exec_command", `{"cmd":"a && b"}`, "a && b", "a * | b *"},
		{"shell", `{"command":["bash","-lc","a; b"]}`, "a; b", "a | b *"},
		{"shell", `{"command":["git","commit","-m","x y"]}`, "git commit -m 'x y'", "git commit -m 'x y' *"},
		{"Bash", `{"command":"a","cwd":"/w"}`, "a", "a * @/w"},
		{"Bash", `{"command":"cd sub && a","workdir":"/w"}`, "cd sub && a", "cd sub * @/w | a * @/w/sub"},
		{"Bash", `{"command":"a","run_in_background":true}`, "a", "a *"},
		{"Bash", `{"command":7}`, "", "unparsed"},
		{"Bash", `{"command":[]}`, "", "unparsed"},
		{"Bash", `{}`, "", "unparsed"},
		{"Bash", `"a"`, "a", "a *"},
		{"Read", `{"command":"a"}`, "", "unparsed"},
	} {
		run, cl := first(t, call(c.tool, `"result":"","args":`+c.args))
		s, err := Commands(run, cl)
		if err != nil || s.Text != c.text || show(s) != c.want {
			t.Errorf("%s %s: %q %s, %v, want %q %s", c.tool, c.args, s.Text, show(s), err, c.text, c.want)
		}
	}
}

func TestCommands_Accepts(t *testing.T) {
	for command, want := range map[string]bool{
		"grep x f": true, "grep x f && make": false, "make && grep x f": false, "make; grep x f": true, "cat f | grep x": true,
		"grep x f | head": false, "cd /w && grep x f": true, "git diff --quiet": true, "git diff": false, "test -f x": true, "[ -f x ]": true,
		"[[ -f x ]]": true, "rg x": true, "diff a b": true, "make": false, "make || grep x f": false, "x=$(grep a b)": true,
		"if grep x f; then make; fi": false, "grep x f; exit $?": true, "grep x f | head; exit ${PIPESTATUS[0]}": true, "sudo grep x f": true, "bash -c 'grep x f'": true, "grep x f; echo $?": false, "if then": false,
	} {
		if got := shellOf(t, command, "").Accepts(1); got != want {
			t.Errorf("%q accepts 1: %v", command, got)
		}
	}
}

func TestCommands_Bounds(t *testing.T) {
	for name, text := range map[string]string{
		"a megabyte": strings.Repeat("a;", 1<<19), "brackets": strings.Repeat("(", 30000), "substitutions": strings.Repeat("$(", 30000),
		"ifs": strings.Repeat("if ", 20000), "nots": strings.Repeat("! ", 30000), "many": strings.Repeat("a && ", 12000) + "a",
		"pipes": strings.Repeat("a|", 30000) + "a", "backquotes": strings.Repeat("`", 60000), "scripts": strings.Repeat("eval ", 10000) + "a",
		"minus": "((" + strings.Repeat("-", 60000) + "1))", "quotes": strings.Repeat(`"$x`, 20000), "lists": strings.Repeat("a;", 30000),
		"heredocs": strings.Repeat("a <<X\n", 9000), "tests": "[[ " + strings.Repeat("! ", 30000) + "x ]]", "semicolons": strings.Repeat("(a);", 16000),
	} {
		begin := time.Now()
		s := shellOf(t, text, "")
		if s.Text != text {
			t.Errorf("%s: the text is lost", name)
		}
		// Each takes a moment; what is quadratic takes minutes, on a busy machine too.
		if took := time.Since(begin); took > 30*time.Second {
			t.Errorf("%s: it took %v", name, took)
		}
		t.Log(name, time.Since(begin), len(s.Commands))
	}
}
