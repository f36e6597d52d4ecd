package rules

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// value checks what a sentence gives for a parameter, and strips what does not
// belong to it; "" where it is none. A parameter is known by its name, with a
// digit behind it where a sentence has several.
func value(name, s string) string {
	if len(s) > maxValue {
		return ""
	}
	switch strings.TrimRight(name, "0123456789") {
	case "path":
		return pathValue(s)
	case "command":
		return commandValue(s)
	case "total", "passed", "number":
		return strings.ReplaceAll(s, ",", "")
	case "sha":
		if !sha.MatchString(s) {
			return ""
		}
		return s
	default:
		return strings.TrimRight(strings.TrimSpace(s), ".,;:!")
	}
}

// sha is the id of a commit; a word of these letters alone may be one of a language.
var sha = regexp.MustCompile(`^[0-9a-f]*[0-9][0-9a-f]*$`)

var lineSuffix = regexp.MustCompile(`:\d+(?:[-:]\d+)?$`)

// extensions are those by which a word without a slash is known for a file.
var extensions = strings.Fields(`adoc bash bat bicep c cc cfg cjs clj cmake conf cpp cs css csv cts cxx dart ex exs fish
	gql go gradle graphql h hpp hs html ini ipynb java jl js json json5 jsonl jsx kt kts less lua m md mdx mjs mk ml mm mts nix
	php pl prisma proto ps1 pug py pyi r rb rs rst sass scala scss sh sol sql svelte swift tex tf tfvars toml ts tsx txt vb vim vue xml yaml yml zig zsh`)

// bareNames are files that have no extension.
var bareNames = strings.Fields("Makefile Dockerfile Justfile justfile Vagrantfile Procfile Gemfile Rakefile Jenkinsfile README LICENSE CHANGELOG .gitignore .dockerignore .env .editorconfig .npmrc .nvmrc .gitattributes")

// brands are names of things that look like files.
var brands = regexp.MustCompile(`(?i)^(?:node|vue|next|nuxt|express|three|d3|react|angular|ember|backbone|moment|chart|discord|p5|alpine|solid|nest|nest|day|ext|electron|deno|bun|socket|require|handlebars)\.(?:js|ts|io)$`)

// pathValue accepts what is surely the name of one file: anything else (`foo.bar`,
// "and/or", a folder, a pattern) would be looked for in vain.
func pathValue(s string) string {
	s = strings.TrimRight(strings.TrimSpace(s), ".,;:!")
	s = lineSuffix.ReplaceAllString(s, "")
	if s == "" || strings.ContainsAny(s, " \t`\"'<>|*?{}[]()$=,;&#") || strings.Contains(s, "://") {
		return ""
	}
	base := path.Base(strings.ReplaceAll(s, `\`, "/"))
	if slices.Contains(bareNames, base) {
		return s
	}
	ext := strings.TrimPrefix(path.Ext(base), ".")
	if ext == "" || base == "."+ext || brands.MatchString(s) || !slices.Contains(extensions, strings.ToLower(ext)) {
		return ""
	}
	return s
}

// programs are those that a text in code marks is known for a command by.
var programs = strings.Fields(`act alembic ansible-playbook apt apt-get aws az bash bazel biome black brew buf bun bundle bunx cargo cat cmake composer cp ctest curl
	deno diff docker docker-compose dotnet eslint find flake8 flutter gcloud gh git go gofmt golangci-lint gradle grep hatch head helm isort jest journalctl jq just kubectl
	ls mage make mix mocha mkdir mv mvn mypy next node npm npx nx pdm php phpunit ping pip pip3 playwright pnpm poetry pre-commit prettier prisma psql pylint pyright pytest
	python python3 rails rake rg rm rspec rsync ruff rustc scp sed sh shellcheck sqlite3 ssh sudo swift systemctl tail task terraform tox tree ts-node tsc tsx turbo uv uvx vite vitest wc wget yarn`)

// commandValue accepts a command line, by its first word.
func commandValue(s string) string {
	s = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(s), "$ "))
	words := strings.Fields(s)
	if len(words) == 0 || strings.Contains(s, "...") && !strings.Contains(s, "/...") || strings.ContainsAny(s, "…<>") {
		return ""
	}
	for range 8 { // what is looked through in a call as well
		m := leadIn.FindString(s)
		if m == "" || len(m) == len(s) {
			break
		}
		s = s[len(m):]
	}
	if words = strings.Fields(s); !slices.Contains(programs, words[0]) && !strings.HasPrefix(words[0], "./") {
		return ""
	}
	return s
}

// leadIn is what stands before a command that is meant: a directory, assignments,
// and programs that run another one.
var leadIn = regexp.MustCompile(`^(?:cd \S+ && |[A-Z_][A-Z0-9_]*=\S* |(?:npx|bunx|pnpx|sudo|time|env|uvx|(?:uv|poetry|pdm|pipenv|rye|hatch) run|bundle exec|(?:pnpm|yarn) (?:exec|dlx)|npm exec) (?:-\S+ )*)`)
