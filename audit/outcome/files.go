package outcome

import (
	"strings"

	"nightaudit/trace"
)

// Path is a file's name as it was written, and the directory that it is relative
// to: "" where that is not known.
type Path struct{ Name, Cwd string }

// Full is the path, resolved as far as the directory is known.
func (p Path) Full() string { return join(p.Cwd, p.Name) }

// Files is the files that a call names.
type Files struct {
	Read, Written, Removed []Path
	// Named is those of a tool of which it is not known what it does to them.
	Named []Path
}

// For returns the files that a call of a class is about: those that an edit wrote
// and removed, those that a read or a search read, else all.
func (f Files) For(class Class) []Path {
	var out []Path
	switch class {
	case ClassEdit:
		return append(append(out, f.Written...), f.Removed...)
	case ClassRead, ClassSearch:
		return append(out, f.Read...)
	default:
		out = append(append(out, f.Read...), f.Written...)
		return append(append(out, f.Removed...), f.Named...)
	}
}

// Files returns the files that a command reads, writes and removes.
func (c *Command) Files() Files {
	return Files{
		Read: appendPaths(nil, c.Cwd, c.Reads), Written: appendPaths(nil, c.Cwd, c.Writes), Removed: appendPaths(nil, c.Cwd, c.Removes),
	}
}

var (
	pathKeys = []string{
		"file_path", "path", "filename", "notebook_path", "target_file", "absolute_path", "filePath", "dir_path", "file", "relative_path",
		"targetFile", "TargetFile", "absolutePath", "AbsolutePath",
	}
	moveKeys  = [][2]string{{"source", "destination"}, {"source_path", "destination_path"}, {"old_path", "new_path"}} // from, to
	pathLists = []string{"paths", "files", "changes", "file_paths"}
	patchKeys = []string{"input", "patch", "diff", "patch_text", "patchText"}
)

// paths finds the files that a call names.
func (v *View) paths() (Files, error) {
	var out Files
	args, err := v.run.Value(v.call.Args)
	if err != nil {
		return out, err
	}
	classes := v.tables.classesOf(v.call, args)
	if classes[ClassShell] {
		shell, err := v.parse()
		for i := range shell.Commands {
			f := shell.Commands[i].Files()
			out.Read, out.Written, out.Removed = append(out.Read, f.Read...), append(out.Written, f.Written...), append(out.Removed, f.Removed...)
		}
		return out, err
	}
	cwd := callCwd(v.run, v.call, args)
	names := argumentPaths(args)
	switch {
	case classes[ClassEdit]:
		for _, k := range moveKeys {
			if from, to := args.Get(k[0]).Text(), args.Get(k[1]).Text(); from != "" && to != "" {
				names = append(names, from, to)
			}
		}
		written, removed := argumentPatch(args)
		out.Written = appendPaths(appendPaths(out.Written, cwd, names), cwd, written)
		out.Removed = appendPaths(out.Removed, cwd, removed)
	case classes.any(ClassRead, ClassSearch):
		out.Read = appendPaths(out.Read, cwd, names)
	default:
		out.Named = appendPaths(out.Named, cwd, names)
	}
	return out, nil
}

// argumentPaths finds the files that a tool's arguments name.
func argumentPaths(args trace.Value) []string {
	var out []string
	add := func(v trace.Value) {
		if v.Kind() == trace.KindString && v.Text() != "" {
			out = append(out, v.Text())
		}
	}
	for _, key := range pathKeys {
		add(args.Get(key))
	}
	for name := range args.Get("changes").Members() { // path → change, as Codex writes it
		if t := name.Text(); t != "" {
			out = append(out, t)
		}
	}
	for _, key := range pathLists {
		for v := range args.Get(key).Elements() {
			add(v)
			for _, inner := range pathKeys {
				add(v.Get(inner))
			}
		}
	}
	return out
}

// argumentPatch finds the files of a patch among a tool's arguments.
func argumentPatch(args trace.Value) (written, removed []string) {
	texts := []string{args.Text()}
	for _, key := range patchKeys {
		texts = append(texts, args.Get(key).Text())
	}
	for _, text := range texts {
		w, r := patchFiles(text)
		written, removed = append(written, w...), append(removed, r...)
	}
	return written, removed
}

// patchFiles returns the files that a patch writes and removes: one of the form
// that apply_patch takes, or a unified diff.
func patchFiles(text string) (written, removed []string) {
	from := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		switch kind, name, _ := strings.Cut(line, ": "); kind {
		case "*** Add File", "*** Update File", "*** Move to":
			written = append(written, name)
			continue
		case "*** Delete File":
			removed = append(removed, name)
			continue
		}
		if name, ok := strings.CutPrefix(line, "--- "); ok {
			from = diffName(name, "a/")
		}
		if name, ok := strings.CutPrefix(line, "+++ "); ok {
			if name = diffName(name, "b/"); name == "/dev/null" {
				removed = append(removed, from)
			} else {
				written = append(written, name)
			}
		}
	}
	return written, removed
}

func diffName(name, side string) string {
	name, _, _ = strings.Cut(name, "\t")
	return strings.TrimPrefix(name, side)
}

func appendPaths(list []Path, cwd string, names []string) []Path {
	for _, n := range names {
		if n != "" {
			list = append(list, Path{n, cwd})
		}
	}
	return list
}
