package outcome

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// about writes what is known of a command's classes and files.
func about(s Shell) string {
	var parts []string
	set, invokes := Set{}, ""
	for _, c := range s.Commands {
		maps.Copy(set, c.Classes)
		for _, list := range []struct {
			mark  string
			names []string
		}{{"r:", c.Reads}, {"w:", c.Writes}, {"x:", c.Removes}} {
			for _, n := range list.names {
				parts = append(parts, list.mark+n)
			}
		}
		if c.Invokes != "" {
			invokes = " > " + c.Invokes
		}
	}
	names := []string{}
	for class := range set {
		names = append(names, string(class))
	}
	slices.Sort(names)
	return strings.Join(strings.Fields(strings.Join(names, "+")+" "+strings.Join(parts, " ")+invokes), " ")
}

func checkAbout(t *testing.T, cases map[string]string) {
	t.Helper()
	for command, want := range cases {
		if got := about(shellOf(t, command, "")); got != want {
			t.Errorf("%s: %q, want %q", command, got, want)
		}
	}
}

func TestCommands_Files(t *testing.T) { checkAbout(t, fileSamples) }

var fileSamples = map[string]string{
	"sed -i 's/a/b/' x.go":           "edit w:x.go",
	"sed -i '' 's/a/b/' x.go y.go":   "edit w:x.go w:y.go",
	"sed -i.bak -e s/a/b/ x.go":      "edit w:x.go",
	"sed -E -i s/a/b/ x":             "edit w:x",
	"sed -ri s/a/b/ x":               "edit w:x",
	"sed -n 1,20p x.go":              "read r:x.go",
	"sed -ne 1,20p x.go":             "read r:x.go",
	"ls | sed s/a/b/":                "search",
	"perl -pi -e 's/a/b/' x":         "edit w:x",
	"mv a b":                         "edit w:b x:a",
	"mv docs/j/a new/":               "edit w:new/a x:docs/j/a",
	"mv a b c d":                     "edit w:d/a w:d/b w:d/c x:a x:b x:c",
	"cp live/e.py ghost/e.py":        "edit r:live/e.py w:ghost/e.py",
	"cp -r a b/":                     "edit r:a w:b/a",
	"cp -t d a b":                    "edit r:a r:b w:d/a w:d/b",
	"ln -sf a b":                     "edit w:b",
	"rm -rf docs x":                  "edit x:docs x:x",
	"rm -- -f":                       "edit x:-f",
	"rm *.go":                        "edit x:*.go",
	"rm $x":                          "edit",
	"install -m 644 a /etc/a":        "edit r:a w:/etc/a",
	"truncate -s 0 log":              "edit w:log",
	"patch -p1 < x.patch":            "edit r:x.patch",
	"patch a.c a.patch":              "edit r:a.patch w:a.c",
	"patch --dry-run -p1 < x.patch":  "r:x.patch",
	"echo x > f":                     "edit w:f",
	"echo x >> 'a b'":                "edit w:a b",
	"echo x > $f":                    "edit",
	"echo x > /dev/null 2>&1":        "",
	"a 2>/dev/null":                  "",
	"a &> log":                       "edit w:log",
	"a >&2":                          "",
	"> f":                            "edit w:f",
	"{ a; b; } > f":                  "edit w:f",
	"for x in 1 2; do a; done > f":   "edit w:f",
	"cat > f <<'X'\nrm -rf /\nX":     "edit w:f",
	"cat f":                          "read r:f",
	"cat < f":                        "read r:f",
	"cat a b > c":                    "edit+read r:a r:b w:c",
	"a | cat":                        "",
	"a | tee f":                      "edit w:f",
	"a | tee":                        "",
	"a | tee /dev/null":              "",
	"head -n 5 f":                    "read r:f",
	"tail -5 f":                      "read r:f",
	"tail -n +5 f":                   "read r:f",
	"a | tail -5":                    "",
	"awk '{print}' f":                "read r:f",
	"wc -l f":                        "r:f",
	"grep -rn TODO src":              "search r:src",
	"grep -e a -e b f":               "search r:f",
	"grep -r x":                      "search r:.",
	"a | grep x":                     "",
	"rg -t go x src":                 "search r:src",
	"find src -name '*.go'":          "search r:src",
	"find . -name x -delete":         "edit+search r:.",
	"find . -name x -exec rm {} \\;": "edit+search r:.",
	"find . -exec grep x {} +":       "search r:.",
	"find . | xargs rm":              "edit+search r:.",
	"ls -la src":                     "search r:src",
	"diff a b":                       "r:a r:b",
	"[ -f x ]":                       "r:x",
	"apply_patch <<'X'\n*** Begin Patch\n*** Update File: a.go\n*** Delete File: b\n*** End Patch\nX": "edit w:a.go x:b",
	"./install x y":           "",
	"bash -c 'cat a && rm b'": "edit+read r:a x:b",
	"if a; then rm b; fi":     "edit x:b",
	"x=$(cat f)":              "read r:f",
}

func TestCommands_Git(t *testing.T) {
	checkAbout(t, map[string]string{
		"git status":                 "vcs",
		"git commit -am x":           "vcs",
		"git push":                   "vcs",
		"gh pr list":                 "vcs",
		"git checkout -- feature.ts": "edit+vcs w:feature.ts",
		"git checkout main":          "edit+vcs",
		"git checkout HEAD~1 a.go":   "edit+vcs w:a.go",
		"git checkout -b x":          "vcs",
		"git checkout -b x origin/m": "edit+vcs",
		"git switch x":               "edit+vcs",
		"git switch -c x":            "vcs",
		"git restore a b":            "edit+vcs w:a w:b",
		"git restore --staged a":     "vcs",
		"git reset --hard HEAD~1":    "edit+vcs",
		"git reset HEAD a":           "vcs",
		"git apply x.patch":          "edit+vcs r:x.patch",
		"git apply --check x.patch":  "vcs r:x.patch",
		"git stash":                  "edit+vcs",
		"git stash -u":               "edit+vcs",
		"git stash list":             "vcs",
		"git stash pop":              "edit+vcs",
		"git pull --rebase":          "edit+vcs",
		"git merge x":                "edit+vcs",
		"git clean -fd build":        "edit+vcs x:build",
		"git clean -nd":              "vcs",
		"git mv a b":                 "edit+vcs w:b x:a",
		"git rm a":                   "edit+vcs x:a",
		"git rm --cached a":          "vcs",
		"git diff main -- a b":       "vcs r:a r:b",
		"git diff a.go":              "vcs r:a.go",
		"git diff main..x":           "vcs",
		"git show HEAD:src/a.go":     "vcs r:src/a.go",
		"git grep x src":             "search+vcs r:src",
		"git -C d checkout -- a":     "edit+vcs w:a",
	})
}

func TestCommands_Tools(t *testing.T) {
	checkAbout(t, map[string]string{
		"go test ./...": "test > go test", "go build ./...": "build", "pytest -q": "test > pytest", "python -m pytest x": "test > pytest",
		"python3 -u -m pytest": "test > pytest", "python3.12 -m unittest": "test > unittest", "uv run python -m pytest": "test > pytest",
		"coverage run -m pytest": "test > pytest", "python manage.py test": "test > unittest", "python -c 'import pytest; pytest.main()'": "test > pytest",
		"python x.py": "", "python test_calc.py": "test > any", "python3 -c 'print(1)'": "",
		"npx jest t": "test > jest", "npx vitest run": "test > vitest", "node --test": "test > node", "node x.js": "", "yarn jest": "test > jest",
		"npm test": "test > any", "npm t": "test > any", "npm run test -- --watch=false": "test > any", "npm run test:unit": "test > any", "npm run build": "build", "npm run lint": "", "npm ci": "",
		"npm --prefix web test": "test > any", "pnpm test": "test > any", "pnpm run build": "build", "yarn build": "build", "pnpm -s vitest": "test > vitest", "bun test": "test > node",
		"make": "build", "make -j8": "build", "make test": "test > any", "make lint test": "test > any", "make check": "test > any", "make build": "build", "make lint": "", "make V=1": "build",
		"just test": "test > any", "task verify": "test > any", "just": "", "make -C d test": "test > any",
		"cargo test": "test > cargo", "cargo nextest run": "test > cargo", "cargo build": "build", "cargo test --no-run": "", "cargo run": "",
		"mvn -q test": "test > maven", "mvn test": "test > maven", "./mvnw verify": "test > maven", "mvn package": "build > maven", "./gradlew test": "test > gradle", "gradle build": "build > gradle",
		"ctest -R x": "test > ctest", "dotnet test": "test > dotnet", "vendor/bin/phpunit": "test > phpunit", "php vendor/bin/phpunit": "test > phpunit", "bundle exec rspec": "test > rspec", "bin/rails test": "test > any",
		"./run_tests.sh": "test > any", "bash scripts/check.sh": "test > any", "./deploy.sh prod": "", "sh ci.sh": "", "uv run test_x.py": "test > any", "swift test --filter X": "test > any", "tox": "test > any",
		"docker build .": "build", "docker compose run --rm web pytest -q": "test > pytest", "docker exec c go test ./...": "test > go test", "docker logs c": "", "tsc --noEmit": "build",
		"curl -s x": "http", "wget x": "http", "pytest --version": "", "pytest --collect-only": "", "cmake --build b": "build", "cmake --build b --target test": "build+test > any",
		"cat pytest.log": "read r:pytest.log", "echo pytest": "", "which pytest": "", "pip install pytest": "",
	})
}

func TestClassify(t *testing.T) {
	for _, c := range []struct {
		tool, args string
		want       []Class
	}{
		{"Bash", `{"command":"cd /w && git add . && go test ./..."}`, []Class{ClassShell, ClassTest, ClassVCS}},
		{"Bash", `{"command":"if then"}`, []Class{ClassShell}},
		{"Edit", `{"file_path":"a"}`, []Class{ClassEdit}},
		{"str_replace_based_edit_tool", `{"command":"view","path":"a"}`, []Class{ClassRead}},
		{"str_replace_based_edit_tool", `{"command":"create","path":"a"}`, []Class{ClassEdit}},
		{"config.write", `{"command":"rm a"}`, nil},
	} {
		run, cl := first(t, call(c.tool, `"result":"","args":`+c.args))
		got, err := Classify(run, cl)
		if want := (Set{}); err != nil || !maps.Equal(got, add(want, c.want)) {
			t.Errorf("%s %s: %v, %v, want %v", c.tool, c.args, got, err, c.want)
		}
	}
}

func add(s Set, classes []Class) Set {
	for _, c := range classes {
		s[c] = true
	}
	return s
}

func TestPaths(t *testing.T) {
	for _, c := range []struct{ tool, args, want string }{
		{"Edit", `{"file_path":"a.go"}`, "w:a.go"},
		{"Write", `{"file_path":"/w/a.go","cwd":"/x"}`, "w:/w/a.go"},
		{"Edit", `{"file_path":"a.go","cwd":"/x"}`, "w:/x/a.go"},
		{"NotebookEdit", `{"notebook_path":"n.ipynb"}`, "w:n.ipynb"},
		{"Read", `{"file_path":"a.go"}`, "r:a.go"},
		{"Grep", `{"pattern":"x","path":"src"}`, "r:src"},
		{"read_many_files", `{"paths":["a","b"]}`, "r:a r:b"},
		{"file_change", `{"changes":[{"path":"a","kind":"update"}]}`, "w:a"},
		{"apply_patch", `{"changes":{"a":{"type":"add"},"b":{"type":"update"},"":{}}}`, "w:a w:b"},
		{"apply_patch", `"*** Begin Patch\n*** Add File: a\n*** Update File: b\n*** Move to: c\n*** Delete File: d\n"`, "w:a w:b w:c x:d"},
		{"apply_patch", `{"input":"--- a/x.go\n+++ b/x.go\n--- a/y\n+++ /dev/null\n"}`, "w:x.go x:y"},
		{"node_pack.patch", `{"file_path":"h3.py"}`, "n:h3.py"},
		{"str_replace_editor", `{"command":"view","path":"a"}`, "r:a"},
		{"Bash", `{"command":"cd /w/sub && rm a && cat ../b > /c","path":"x"}`, "r:/w/b w:/c x:/w/sub/a"},
		{"Bash", `{"command":"cd sub && rm a"}`, "x:sub/a"},
		{"Bash", `{"command":"rm a","cwd":"/w"}`, "x:/w/a"},
		{"Edit", `{}`, ""},
		{"Edit", `{"file_path":7,"paths":{}}`, ""},
	} {
		run, cl := first(t, call(c.tool, `"result":"","args":`+c.args))
		f, err := Paths(run, cl)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, list := range []struct {
			mark  string
			paths []Path
		}{{"r:", f.Read}, {"w:", f.Written}, {"x:", f.Removed}, {"n:", f.Named}} {
			for _, p := range list.paths {
				got = append(got, list.mark+p.Full())
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s %s: %v, want %s", c.tool, c.args, got, c.want)
		}
	}
}
