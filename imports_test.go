// Package nightaudit_test holds the repository to its own rules: which package may
// import which, and that its Dockerfile builds.
package nightaudit_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "nightaudit"

// rule says what a folder may import beyond the standard library: folders of this
// module and modules of others, each with everything below it where it ends in
// "/...". Why is what a failure says.
type rule struct {
	may []string
	why string
}

const (
	yamlModule   = "go.yaml.in/yaml/v3"
	schemaModule = "github.com/santhosh-tekuri/jsonschema/v6"
	globModule   = "github.com/bmatcuk/doublestar/v4"
	unixModule   = "golang.org/x/sys/unix"
)

// table is the rule about the direction of the flow, trace → audit → rerun →
// budget, and about the one place where each dependency is used. A folder that is
// not here has no business in the module until it is.
var table = map[string]rule{
	"trace":          {[]string{"trace/redact"}, "the model of a trace and the scanner know no format and no stage"},
	"trace/redact":   {nil, "text without secrets is everybody's, so it knows nobody"},
	"trace/detect":   {[]string{"trace", "trace/..."}, "it picks a reader"},
	"trace/custom":   {[]string{"trace", "trace/native", "github.com/itchyny/gojq"}, "it makes native records"},
	"trace/unpack":   {[]string{"trace", "github.com/klauspost/compress/..."}, "it unpacks what a reader reads, and knows no format"},
	"trace/*":        {[]string{"trace", "trace/unpack", "trace/shelltext"}, "a format is a reader and nothing else"},
	"trace/qwen":     {[]string{"trace", "trace/geminicli"}, "its agents come from Gemini CLI and write results as it does"},
	"audit":          {[]string{"trace", "audit/outcome", "audit/claims", schemaModule, yamlModule}, "the audit judges what is recorded, and nothing that comes after it"},
	"audit/outcome":  {[]string{"trace", "mvdan.cc/sh/v3/..."}, "it says what one call came to"},
	"audit/claims":   {[]string{"trace", yamlModule, globModule, schemaModule}, "it reads claims"},
	"audit/rules":    {[]string{"trace", "audit/claims", "audit/outcome", yamlModule}, "a rule turns a sentence into a claim"},
	"budget":         {nil, "the budget counts tokens and knows no other stage"},
	"rerun":          {[]string{"audit", "audit/...", "budget", "trace", "trace/...", "rerun/endpoint", "rerun/tools"}, "a re-run leaves sending and running to its parts, and reporting to report"},
	"rerun/endpoint": {[]string{"trace/redact", "github.com/sashabaranov/go-openai/...", "github.com/cenkalti/backoff/v5"}, "the endpoint is asked here only, and knows no claim"},
	"rerun/tools":    {[]string{"trace", "trace/...", schemaModule, unixModule, "github.com/modelcontextprotocol/go-sdk/..."}, "a tool runs and is recorded; why is not its business"},
	"store":          {[]string{"store/sqlite", "audit", "audit/...", "trace", "trace/..."}, "the store remembers what was found; budget and rerun own their tables"},
	"store/sqlite":   {[]string{"modernc.org/sqlite/..."}, "SQLite files are opened here only"},
	"scheduler":      {[]string{"trace", "trace/...", "audit", "audit/...", "rerun", "rerun/...", "budget", "store", "store/sqlite", "report", globModule, "github.com/robfig/cron/v3"}, "the pass knows all stages; configuration and flags stay in cmd"},
	"report":         {[]string{"audit", "audit/...", "budget", "rerun", "trace", "trace/..."}, "a report shows what the stages came to, and does nothing"},
	"configs":        {[]string{"github.com/spf13/viper", "github.com/go-viper/mapstructure/v2", yamlModule}, "the configuration is plain data; cmd translates it for the packages"},
	"systemd":        {nil, "sd_notify needs a socket and nothing else"},
	"cmd/nightaudit": {[]string{"...", "github.com/spf13/cobra", unixModule}, "cmd wires packages of this module together"},
	".":              {nil, "the root holds tests of the repository"},

	// Formats that are another one in other words.
	"trace/claudestream": {[]string{"trace", "trace/claudecode"}, "it reads the messages of a session in another wrapping"},
}

// TestImports holds every import of a file that is no test to the table.
func TestImports(t *testing.T) {
	for dir, files := range goFiles(t) {
		r, ok := ruleOf(dir)
		if !ok {
			t.Errorf("%s: there is no rule for this folder; give it one in the table, and a reason in ARCHITECTURE.md", dir)
			continue
		}
		for _, f := range files {
			for _, imp := range f.imports {
				if !isStandard(imp.path) && !slices.ContainsFunc(r.may, func(p string) bool { return allows(p, imp.path) }) {
					t.Errorf("%s imports %s: %s", imp.at, imp.path, r.why)
				}
			}
		}
	}
}

// TestImports_Pure: "same trace in, same verdict out" holds because judging has
// no clock, no chance, no files, no network, no database and no log.
func TestImports_Pure(t *testing.T) {
	forbidden := []string{"os", "os/...", "net", "net/...", "database/sql", "log", "log/...", "math/rand", "math/rand/...", "crypto/rand", "syscall", "io/ioutil"}
	for dir, files := range goFiles(t) {
		if !isPure(dir) {
			continue
		}
		for _, f := range files {
			for _, imp := range f.imports {
				if slices.ContainsFunc(forbidden, func(p string) bool { return matches(p, imp.path) }) {
					if imp.path == "database/sql" && (dir == "trace" || path.Dir(dir) == "trace") {
						continue // a format that is a database is given one that is open
					}
					t.Errorf("%s imports %s: the same trace must give the same verdict anywhere", imp.at, imp.path)
				}
			}
			for _, at := range f.clock {
				t.Errorf("%s reads the clock: pass the time in", at)
			}
		}
	}
}

// TestImports_Table: a rule that nothing needs is a door left open.
func TestImports_Table(t *testing.T) {
	dirs := goFiles(t)
	planned := []string{"audit/rules"}
	for dir := range table {
		if _, ok := dirs[dir]; !ok && !strings.HasSuffix(dir, "/*") && !slices.Contains(planned, dir) && dir != "." {
			t.Errorf("%s: the table has a rule for a folder that is not there", dir)
		}
	}
}

func ruleOf(dir string) (rule, bool) {
	if r, ok := table[dir]; ok {
		return r, true
	}
	r, ok := table[path.Dir(dir)+"/*"]
	return r, ok
}

func isPure(dir string) bool {
	return dir == "trace" || dir == "audit" || strings.HasPrefix(dir, "trace/") || strings.HasPrefix(dir, "audit/")
}

// allows tells whether an entry of the table lets the import pass; what has no dot
// in its first part is a folder of this module.
func allows(entry, imported string) bool {
	first, _, _ := strings.Cut(entry, "/")
	if entry == "..." {
		return strings.HasPrefix(imported, module+"/")
	}
	if !strings.Contains(first, ".") {
		entry = module + "/" + entry
	}
	return matches(entry, imported)
}

func matches(pattern, imported string) bool {
	prefix, deep := strings.CutSuffix(pattern, "/...")
	return imported == prefix || deep && strings.HasPrefix(imported, prefix+"/")
}

func isStandard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return first != module && !strings.Contains(first, ".")
}

type goFile struct {
	imports []use
	clock   []string
}

type use struct{ path, at string }

// goFiles parses every Go file that is no test, by folder. Git names the files, so
// that what lies about in the working folder does not count; without git it is
// what the folders hold.
func goFiles(t *testing.T) map[string][]goFile {
	t.Helper()
	out := map[string][]goFile{}
	fset := token.NewFileSet()
	for _, name := range sources(t) {
		if strings.HasSuffix(name, "_test.go") || slices.Contains(strings.Split(name, "/"), "testdata") {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		out[path.Dir(name)] = append(out[path.Dir(name)], inspect(t, fset, f))
	}
	if len(out) < 10 {
		t.Fatalf("%d folders with Go files; the test does not see the module", len(out))
	}
	return out
}

func sources(t *testing.T) []string {
	t.Helper()
	if list, err := exec.CommandContext(t.Context(), "git", "ls-files", "-co", "--exclude-standard", "--", "*.go").Output(); err == nil && len(list) > 0 {
		names := strings.Fields(string(list))
		return slices.DeleteFunc(names, func(name string) bool { // deleted but not committed
			_, err := os.Stat(name)
			return err != nil
		})
	}
	var names []string
	err := filepath.WalkDir(".", func(p string, _ os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(p, ".go") {
			names = append(names, filepath.ToSlash(p))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// inspect lists a file's imports, and where it uses the clock of package time.
func inspect(t *testing.T, fset *token.FileSet, f *ast.File) goFile {
	t.Helper()
	var out goFile
	clock := "" // what package time is called in this file
	for _, spec := range f.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		out.imports = append(out.imports, use{p, fset.Position(spec.Pos()).String()})
		if p == "time" {
			clock = "time"
			if spec.Name != nil {
				clock = spec.Name.Name
			}
		}
	}
	reads := []string{"Now", "Since", "Until", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker", "Sleep"}
	ast.Inspect(f, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if x, ok := sel.X.(*ast.Ident); ok && clock != "" && x.Name == clock && slices.Contains(reads, sel.Sel.Name) {
			out.clock = append(out.clock, fset.Position(n.Pos()).String())
		}
		return true
	})
	return out
}
