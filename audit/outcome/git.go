package outcome

import (
	"regexp"
	"slices"
	"strings"
)

var (
	sedInPlace  = regexp.MustCompile(`^(-[nErsuz]*i|--in-place)`)
	sedScripted = regexp.MustCompile(`^-[nErsuzi]+[ef]$`)
	perlInPlace = regexp.MustCompile(`^-[0-9alnpsw]*i`)
	fileName    = regexp.MustCompile(`^\.?/|\.[A-Za-z][A-Za-z0-9]*$|^\.$|[*]`)
)

// git says which files the subcommands of git are about, and takes back the class
// edit where the options leave the working tree alone.
func git(c *Command) {
	if len(c.Argv) < 2 {
		return
	}
	sub, rest := c.Argv[1], c.Argv[2:]
	operands, given := split(rest, "-b -B -c -C -m -s --source -S --orphan --strategy -X -n")
	after := []string(nil) // what stands behind `--`: paths and nothing else
	if i := slices.Index(rest, "--"); i >= 0 {
		after = rest[i+1:]
	}
	switch sub {
	case "checkout", "switch":
		made := given["-b"] || given["-B"] || given["-c"] || given["-C"] || given["--create"] || given["--orphan"]
		if made && len(operands) == 0 {
			leaveAlone(c) // a new branch of what is checked out
			return
		}
		c.Writes = pathOperands(operands, after)
	case "restore":
		if (given["--staged"] || given["-S"]) && !given["--worktree"] && !given["-W"] {
			leaveAlone(c)
			return
		}
		c.Writes = operands
	case "reset":
		if !given["--hard"] && !given["--merge"] && !given["--keep"] {
			leaveAlone(c) // the index only
		}
	case "apply":
		c.Reads = operands
		if given["--check"] || given["--stat"] || given["--numstat"] || given["--summary"] || given["--cached"] {
			leaveAlone(c)
		}
	case "clean":
		c.Removes = operands
		if slices.ContainsFunc(rest, func(w string) bool {
			return w == "--dry-run" || strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "--") && strings.Contains(w, "n")
		}) {
			leaveAlone(c)
		}
	case "rm":
		if given["--cached"] || given["--dry-run"] {
			leaveAlone(c)
		}
	case "diff", "show", "log", "blame", "status":
		for _, p := range pathOperands(operands, after) {
			if _, inCommit, ok := strings.Cut(p, ":"); ok && sub == "show" {
				p = inCommit
			}
			c.Reads = append(c.Reads, p)
		}
	}
}

// leaveAlone takes back that a command edits files.
func leaveAlone(c *Command) {
	delete(c.Classes, ClassEdit)
	c.Writes, c.Removes = nil, nil
}

// pathOperands picks the paths among operands that may be commits and branches too.
func pathOperands(operands, after []string) []string {
	if after != nil {
		return after
	}
	var out []string
	for _, w := range operands {
		if fileName.MatchString(w) && !strings.Contains(w, "..") {
			out = append(out, w)
		}
	}
	return out
}
