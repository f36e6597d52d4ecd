package claudecode

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"nightaudit/trace"
)

// Sub-agents since 2.1 write files of their own: SESSION/subagents/agent-ID.jsonl,
// with agent-ID.meta.json beside it, whose toolUseId names the call that started
// it. Before that, agent-ID.jsonl stood beside the session.

// maxDepth is how deep sub-agents may start others whose files are followed.
const maxDepth = 8

// agentName is what an agentId may be to stand in a path.
var agentName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,100}$`)

// family is the files of a session's sub-agents.
type family struct {
	src   trace.Source
	files []string            // their paths, the newer layout first
	byUse map[trace.ID]string // by the call that started it
	taken map[string]bool     // those that have been attached
}

// findFamily lists the files of the sub-agents of the session in src.
func findFamily(src trace.Source, session string) (*family, error) {
	f := &family{src: src, byUse: map[trace.ID]string{}, taken: map[string]bool{}}
	if src.Siblings == nil {
		return f, nil
	}
	folders := []string{"."}
	if agentName.MatchString(session) {
		folders = []string{session + "/subagents", "."}
	}
	for _, folder := range folders {
		files, err := src.Siblings(path.Join(folder, "agent-*.jsonl"))
		if err != nil {
			return nil, fmt.Errorf("find sub-agents of %s: %w", src.Name, err)
		}
		f.files = append(f.files, files...)
		for _, name := range files {
			if folder == "." {
				continue
			}
			if use, err := f.startedBy(name); err != nil {
				return nil, err
			} else if use != "" {
				f.byUse[use] = name
			}
		}
	}
	return f, nil
}

// startedBy reads which call started the sub-agent of a file, "" where nothing
// says so.
func (f *family) startedBy(file string) (trace.ID, error) {
	src, closer, err := f.src.OpenSibling(strings.TrimSuffix(file, ".jsonl") + ".meta.json")
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return "", nil
		}
		return "", err
	}
	defer closer.Close() //nolint:errcheck // it was only read
	if src.Size > 1<<20 {
		return "", nil
	}
	raw := make([]byte, src.Size)
	if _, err := src.ReadAt(raw, 0); err != nil {
		return "", fmt.Errorf("read %s: %w", src.Name, err)
	}
	v, err := trace.ParseValue(raw)
	if err != nil {
		return "", nil // damaged: the result may still name the agent
	}
	return v.Get("toolUseId").ID(), nil
}

// of names the file of the sub-agent that a call started, "" for none.
func (f *family) of(use trace.ID, agent string) string {
	if name := f.byUse[use]; name != "" && use != "" {
		return name
	}
	if !agentName.MatchString(agent) {
		return ""
	}
	for _, name := range f.files {
		if path.Base(name) == "agent-"+agent+".jsonl" {
			return name
		}
	}
	return ""
}

// attachFiles reads the files of sub-agents whose calls are in none that was read,
// and puts their calls behind the call that started them. A file that cannot be
// read leaves that call without its record.
func (s *session) attachFiles(ctx context.Context, f *family, depth int) {
	for k := len(s.children.agents) - 1; k >= 0; k-- {
		i := s.children.agents[k]
		c := &s.run.Calls[i]
		if !c.Delegates {
			continue
		}
		file := f.of(c.ID, s.children.names[i])
		if file == "" || f.taken[file] || depth >= maxDepth {
			continue
		}
		f.taken[file] = true
		if child, err := f.read(ctx, file, depth+1); err != nil {
			s.run.Gaps = append(s.run.Gaps, trace.Gap{Pos: c.Pos, Reason: fmt.Sprintf("the sub-agent's file %s cannot be read: %v", file, err)})
		} else if child.Child {
			s.run.Attach(i, child, file)
		}
	}
}

// read reads a sub-agent's file, with those of the sub-agents that it started.
func (f *family) read(ctx context.Context, file string, depth int) (*trace.Run, error) {
	src, err := f.src.Reopened(file)
	if err != nil {
		return nil, err
	}
	return readFamily(ctx, src, func(string) (*family, error) { return f, nil }, depth)
}
