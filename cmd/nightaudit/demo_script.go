package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// script is the demo's endpoint: an OpenAI-compatible server whose answers are
// written down here. It stands in for a model so that the demo needs no key and
// no network; everything around it is the real thing.
type script struct {
	url    string
	server *http.Server
}

func startScript(ctx context.Context) (*script, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the scripted endpoint: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", answerByScript)
	s := &script{url: "http://" + l.Addr().String() + "/v1", server: &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}}
	go s.server.Serve(l) //nolint:errcheck // it ends with ErrServerClosed when the demo is over
	return s, nil
}

func (s *script) close() { s.server.Close() }

// scripted is what the model would do: look, repair, look again, say so.
var scripted = []struct {
	tool string
	args string
	text string
}{
	{tool: "config_read", args: `{"path": "nginx.json"}`},
	{tool: "config_write", args: `{"path": "nginx.json", "retry_interval": 45}`},
	{tool: "config_read", args: `{"path": "nginx.json"}`},
	{text: "retry_interval is 45 now, and reading the file back shows it."},
}

// answerByScript answers by how many tool results the conversation already holds.
func answerByScript(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	var req struct {
		Model    string
		Messages []struct{ Role string }
	}
	if err = errors.Join(err, json.Unmarshal(body, &req)); err != nil {
		http.Error(w, `{"error": {"message": "not a chat request"}}`, http.StatusBadRequest)
		return
	}
	step := 0
	for _, m := range req.Messages {
		if m.Role == "tool" {
			step++
		}
	}
	next := scripted[min(step, len(scripted)-1)]
	message := map[string]any{"role": "assistant", "content": next.text}
	finish := "stop"
	if next.tool != "" {
		finish = "tool_calls"
		message["tool_calls"] = []any{map[string]any{
			"id": fmt.Sprintf("call_%d", step+1), "type": "function",
			"function": map[string]any{"name": next.tool, "arguments": next.args},
		}}
	}
	// Usage as a server would count it: about four bytes a token.
	prompt, completion := len(body)/4, 20+len(next.args)/4+len(next.text)/4
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(map[string]any{ //nolint:errcheck // the client sees a cut answer
		"id": fmt.Sprintf("scripted-%d", step+1), "object": "chat.completion", "created": 1785600000, "model": req.Model,
		"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": finish}},
		"usage":   map[string]any{"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion},
	})
}
