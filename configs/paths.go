package configs

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// DefaultPath lists where the file is looked for, best first. What
// $NIGHTAUDIT_CONFIG names must be there, so then it is the only one.
func DefaultPath(getenv func(string) string) []string {
	if p := getenv("NIGHTAUDIT_CONFIG"); p != "" {
		return []string{p}
	}
	const name = "nightaudit/nightaudit.yaml"
	var list []string
	if dir := getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		list = append(list, filepath.Join(dir, name))
	}
	if home := getenv("HOME"); home != "" {
		list = append(list, filepath.Join(home, ".config", name))
	}
	return slices.Compact(append(list, filepath.Join("/etc", name)))
}

// resolve makes the paths absolute; relative ones start at dir, the file's folder.
func (c *Config) resolve(dir string, getenv func(string) string) []*FieldError {
	r := resolver{dir: dir, getenv: getenv}
	if c.StateDir == "" {
		c.StateDir = r.stateDir()
	}
	r.path("state_dir", &c.StateDir)
	if creds := getenv("CREDENTIALS_DIRECTORY"); creds != "" && filepath.IsLocal(c.Endpoint.APIKeyFile) {
		c.Endpoint.APIKeyFile = filepath.Join(creds, c.Endpoint.APIKeyFile)
	}
	r.path("endpoint.api_key_file", &c.Endpoint.APIKeyFile)
	for i := range c.Sources {
		s, key := &c.Sources[i], fmt.Sprintf("sources[%d]", i)
		for j := range s.Paths {
			r.path(fmt.Sprintf("%s.paths[%d]", key, j), &s.Paths[j])
		}
		for j := range s.Expect {
			r.path(fmt.Sprintf("%s.expect[%d].claims", key, j), &s.Expect[j].Claims)
		}
	}
	for i := range c.Formats {
		r.path(fmt.Sprintf("formats[%d].jq_file", i), &c.Formats[i].JQFile)
	}
	for i := range c.Rules {
		r.path(fmt.Sprintf("rules[%d]", i), &c.Rules[i])
	}
	for i := range c.Tools {
		t, key := &c.Tools[i], fmt.Sprintf("tools[%d]", i)
		r.path(key+".parameters_file", &t.ParametersFile)
		r.path(key+".dir", &t.Dir)
	}
	return r.found
}

type resolver struct {
	checker
	dir    string
	getenv func(string) string
}

func (r *resolver) path(key string, p *string) {
	if *p == "" {
		return
	}
	full, err := r.absolute(*p)
	if err != nil {
		r.add(key, "%q %v", *p, err)
		return
	}
	*p = full
}

func (r *resolver) absolute(p string) (string, error) {
	if rest, ok := strings.CutPrefix(p, "~"); ok {
		home := r.getenv("HOME")
		switch {
		case rest != "" && rest[0] != '/':
			return "", errors.New("names another user's home; write the path out")
		case !filepath.IsAbs(home):
			return "", errors.New("needs $HOME, which is not set")
		}
		return filepath.Join(home, rest), nil
	}
	if !filepath.IsAbs(p) {
		p = filepath.Join(r.dir, p)
	}
	return filepath.Abs(p)
}

// stateDir is where state is kept by default. systemd may name several folders;
// the first is ours.
func (r *resolver) stateDir() string {
	if dir, _, _ := strings.Cut(r.getenv("STATE_DIRECTORY"), ":"); dir != "" {
		return dir
	}
	if dir := r.getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "nightaudit")
	}
	return "~/.local/state/nightaudit"
}
