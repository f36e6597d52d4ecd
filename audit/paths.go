package audit

import (
	"path"
	"strings"

	"nightaudit/audit/claims"
)

// slashed is a path with slashes for the backslashes of Windows.
func slashed(p string) string { return path.Clean(strings.ReplaceAll(p, `\`, "/")) }

// rooted tells whether a path with slashes says by itself where it is: from the
// root, from a home directory, or from a drive.
func rooted(p string) bool {
	return strings.HasPrefix(p, "/") || strings.HasPrefix(p, "~") || len(p) > 2 && p[1] == ':' && p[2] == '/'
}

// pathFits matches a glob. A relative one is tried on the path relative to the
// run's working directory, else on every suffix that begins after a slash.
func pathFits(glob, p, cwd string) bool {
	p = slashed(p)
	if cwd != "" {
		cwd = slashed(cwd)
	}
	try := func(s string) bool { return claims.Glob(glob, s) }
	if rooted(glob) {
		if !rooted(p) && cwd != "" {
			p = path.Join(cwd, p)
		}
		return try(p)
	}
	if cwd != "" && rooted(p) {
		if rel, ok := strings.CutPrefix(p, strings.TrimSuffix(cwd, "/")+"/"); ok {
			return try(rel)
		}
	}
	if !rooted(p) && cwd != "" {
		return try(p)
	}
	if try(p) {
		return true
	}
	for i := 0; i < len(p); i++ {
		if p[i] == '/' && try(p[i+1:]) {
			return true
		}
	}
	return false
}

// cwdFits tells whether a directory is this one or below. One that is not known may
// be.
func cwdFits(dir, cwd string) bool {
	if cwd == "" {
		return true
	}
	dir, cwd = slashed(dir), slashed(cwd)
	switch {
	case !rooted(dir):
		return strings.Contains("/"+cwd+"/", "/"+dir+"/")
	case !rooted(cwd):
		return true // below a directory that is not known
	}
	return cwd == dir || strings.HasPrefix(cwd, strings.TrimSuffix(dir, "/")+"/")
}
