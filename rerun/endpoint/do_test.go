package endpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

const okBody = `{"id":"c","object":"chat.completion","created":1796032800,"model":"test-model","choices":[{"index":0,"message":{"role":"assistant","content":"done"},"finish_reason":"stop"}],"usage":{"prompt_tokens":120,"completion_tokens":8,"total_tokens":128}}`

// answerWith is a 200 with these choices and this usage.
func answerWith(choices, usage string) string {
	return fmt.Sprintf(`{"id":"c","created":1796032800.25,"model":"test-model","choices":%s,"usage":%s}`, choices, usage)
}

func callWith(calls, finish string) string {
	return answerWith(`[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":`+calls+`},"finish_reason":`+finish+`}]`, goodUsage)
}

const goodUsage = `{"prompt_tokens":120,"completion_tokens":8,"total_tokens":128}`

func TestDo_Text(t *testing.T) {
	choice := func(message, finish string) string {
		return answerWith(`[{"index":"0","message":`+message+`,"finish_reason":`+finish+`}]`, goodUsage)
	}
	tests := []struct{ name, body, text, finish string }{
		{"plain", okBody, "done", "stop"},
		{"blanks before the body", "   \n\n" + okBody, "done", "stop"},
		{"byte-order mark", "\ufeff" + okBody, "done", "stop"},
		{"in a list", "[" + okBody + "]", "done", "stop"},
		{"finish reason is a number", choice(`{"content":"done"}`, `1`), "done", "1"},
		{"finish reason is null", choice(`{"content":"done"}`, `null`), "done", ""},
		{"parts", choice(`{"content":[{"type":"text","text":"do"},{"type":"text","text":"ne"}]}`, `"stop"`), "done", "stop"},
		{"thinking part", choice(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"done"}]}`, `"stop"`), "done", "stop"},
		{"think block", choice(`{"content":"<think>\nhm {}\n</think>\n\ndone"}`, `"stop"`), "done", "stop"},
		{"only thoughts", choice(`{"content":"<think>\nhm"}`, `"length"`), "", "length"},
		{"two choices, the first empty", answerWith(`[{"index":0,"message":{"content":""}},{"index":1,"message":{"content":"done"},"finish_reason":"stop"}]`, goodUsage), "done", "stop"},
		{"call printed as text", choice(`{"content":"{\"name\":\"config_read\",\"arguments\":{}}"}`, `"stop"`), `{"name":"config_read","arguments":{}}`, "stop"},
		{"empty error beside the choices", strings.Replace(okBody, `{"id"`, `{"error":null,"id"`, 1), "done", "stop"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, _ := serve(t, 200, nil, tt.body)
			reply, err := ask(t, newClient(t, s.URL, nil), testRequest())
			if err != nil {
				t.Fatal(err)
			}
			if reply.Text != tt.text || reply.FinishReason != tt.finish || len(reply.ToolCalls) != 0 || reply.Model != "test-model" || reply.Usage == nil {
				t.Errorf("Do() = %+v", reply)
			}
		})
	}
}

func TestDo_ToolCalls(t *testing.T) {
	one := func(arguments string) string {
		return callWith(`[{"id":"call_1","type":"function","function":{"name":"config_read","arguments":`+arguments+`}}]`, `"tool_calls"`)
	}
	tests := []struct{ name, body, args, bad string }{
		{"a string", one(`"{\"path\":\"/a\"}"`), `{"path":"/a"}`, ""},
		{"an object", one(`{"path":"/a"}`), `{"path":"/a"}`, ""},
		{"encoded twice", one(`"\"{\\\"path\\\":1}\""`), `{"path":1}`, ""},
		{"code fence", one("\"```json\\n{\\\"path\\\":\\\"/a\\\"}\\n```\""), `{"path":"/a"}`, ""},
		{"text after it", one(`"{\"path\":\"/a\"} and then"`), "", `{"path":"/a"} and then`},
		{"raw line break", one(`"{\"path\":\"/a\nb\"}"`), "", "{\"path\":\"/a\nb\"}"},
		{"python", one(`"{'path': None}"`), "", "{'path': None}"},
		{"cut off", one(`"{\"path\":"`), "", `{"path":`},
		{"a list", one(`[1]`), "", "[1]"},
		{"empty although needed", one(`""`), "", "(none)"},
		{"null although needed", one(`null`), "", "(none)"},
		{"empty and not needed", callWith(`[{"id":"1","function":{"name":"status","arguments":""}}]`, `"stop"`), `{}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, _ := serve(t, 200, nil, tt.body)
			reply, err := ask(t, newClient(t, s.URL, nil), testRequest())
			if err != nil {
				t.Fatal(err)
			}
			if len(reply.ToolCalls) != 1 {
				t.Fatalf("Do() = %+v", reply)
			}
			call := reply.ToolCalls[0]
			if string(call.Arguments) != tt.args || call.BadArguments != tt.bad || (call.Name != "config.read" && call.Name != "status") {
				t.Errorf("call = %+v", call)
			}
		})
	}
}

func TestDo_CallIDsAndDroppedCalls(t *testing.T) {
	call := func(id, name string) string {
		return fmt.Sprintf(`{"id":%s,"index":"0","function":{"name":%q,"arguments":"{\"path\":\"/a\"}"},"extra_content":{"g":1.50}}`, id, name)
	}
	body := callWith("["+call(`""`, "config_read")+","+call(`"x"`, "config.read")+","+call(`"x"`, "config_raed")+","+call(`7`, "status")+","+call(`"old"`, "status")+","+call(`"y"`, "")+"]", `"tool_call"`)
	s, _ := serve(t, 200, nil, body)
	req := testRequest()
	req.Messages = append(req.Messages, Message{Role: RoleAssistant, ToolCalls: []ToolCall{{ID: "old", Name: "status"}}}, Message{Role: RoleTool, ToolCallID: "old"})
	reply, err := ask(t, newClient(t, s.URL, nil), req)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{"": true, "old": true}
	var names []string
	for _, c := range reply.ToolCalls {
		if seen[c.ID] || string(c.Extra) != `{"g":1.50}` {
			t.Errorf("call = %+v", c)
		}
		seen[c.ID] = true
		names = append(names, c.Name)
	}
	if got := strings.Join(names, " "); got != "config.read config.read config_raed status status" || len(reply.Dropped) != 1 || !seen["7"] {
		t.Errorf("calls %s, dropped %+v", got, reply.Dropped)
	}

	s, _ = serve(t, 200, nil, callWith("["+call(`"a"`, "config_read")+"]", `"length"`))
	if reply, err = ask(t, newClient(t, s.URL, nil), testRequest()); err != nil || len(reply.ToolCalls) != 0 || len(reply.Dropped) != 1 {
		t.Errorf("an answer that was cut off = %+v, %v", reply, err)
	}
}

func TestDo_Usage(t *testing.T) {
	tests := []struct {
		name, usage string
		want        *Usage
	}{
		{"ints", goodUsage, &Usage{Prompt: 120, Completion: 8, Total: 128}},
		{"floats", `{"prompt_tokens":120.0,"completion_tokens":7.5,"total_tokens":1.28e2}`, &Usage{Prompt: 120, Completion: 8, Total: 128}},
		{"strings", `{"prompt_tokens":"120","completion_tokens":" 8","total_tokens":"128"}`, &Usage{Prompt: 120, Completion: 8, Total: 128}},
		{"total too small", `{"prompt_tokens":120,"completion_tokens":8,"total_tokens":0}`, &Usage{Prompt: 120, Completion: 8, Total: 128}},
		{"total larger", `{"prompt_tokens":120,"completion_tokens":8,"total_tokens":400}`, &Usage{Prompt: 120, Completion: 8, Total: 400}},
		{"total alone", `{"total_tokens":128}`, &Usage{Total: 128}},
		{"details", `{"prompt_tokens":120,"completion_tokens":508,"prompt_tokens_details":{"cached_tokens":100},"completion_tokens_details":{"reasoning_tokens":500}}`, &Usage{Prompt: 120, Completion: 508, Total: 628, Cached: 100, Reasoning: 500}},
		{"null", `null`, nil},
		{"empty", `{}`, nil},
		{"zeros", `{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0}`, nil},
		{"no prompt", `{"prompt_tokens":0,"completion_tokens":8,"total_tokens":8}`, nil},
		{"answer that cost nothing", `{"prompt_tokens":120,"completion_tokens":0,"total_tokens":120}`, nil},
		{"negative", `{"prompt_tokens":-120,"completion_tokens":8}`, nil},
		{"huge", `{"prompt_tokens":1e999999,"completion_tokens":8}`, nil},
		{"too many", `{"prompt_tokens":92233720368547758070,"completion_tokens":8}`, nil},
		{"words", `{"prompt_tokens":"many","completion_tokens":8}`, nil},
		{"a list", `[1]`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, _ := serve(t, 200, nil, answerWith(`[{"index":0,"message":{"content":"done"},"finish_reason":"stop"}]`, tt.usage))
			reply, err := ask(t, newClient(t, s.URL, nil), testRequest())
			if err != nil {
				t.Fatal(err)
			}
			if (reply.Usage == nil) != (tt.want == nil) || (tt.want != nil && *reply.Usage != *tt.want) {
				t.Errorf("usage = %+v, want %+v", reply.Usage, tt.want)
			}
		})
	}
}

func TestDo_ConnectionLost(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	_, e := ask(t, newClient(t, "http://"+addr, nil), testRequest())
	if e == nil || e.Billed != BillingNot || e.Class != ClassRetry {
		t.Errorf("connection refused: %+v", e)
	}

	hijack := func(answer string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_, _ = io.WriteString(conn, answer)
				conn.Close()
			}
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	cut := "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 254\r\n\r\n" + okBody[:60]
	tests := []struct {
		name, answer, kind string
		billed             Billing
	}{
		{"nothing", "", "no_connection", BillingUnknown},
		{"part of the body", cut, "truncated_body", BillingUnknown},
		{"part of the body, no length", "HTTP/1.1 200 OK\r\n\r\n" + okBody[:60], "truncated_body", BillingUnknown},
		{"part of a limit's body", "HTTP/1.1 429 no\r\nContent-Length: 99\r\n\r\n{", "rate_limit", BillingNot},
		{"part of a failure's body", "HTTP/1.1 500 no\r\nContent-Length: 99\r\n\r\n{", "upstream_error", BillingUnknown},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, e := ask(t, newClient(t, hijack(tt.answer), nil), testRequest())
			if e == nil || e.Billed != tt.billed || e.Class != ClassRetry || e.Kind != tt.kind || e.Wait < time.Second {
				t.Errorf("Do() error = %+v", e)
			}
		})
	}
}

func TestDo_TimeoutAndCancel(t *testing.T) {
	arrived, release := make(chan struct{}, 1), make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		arrived <- struct{}{}
		<-release
	}))
	defer s.Close()
	defer close(release)
	_, e := ask(t, newClient(t, s.URL, func(o *Options) { o.Timeout = 50 * time.Millisecond }), testRequest())
	if e == nil || e.Kind != "timeout" || e.Billed != BillingUnknown || !errors.Is(e, context.DeadlineExceeded) {
		t.Errorf("timeout: %+v", e)
	}
	<-arrived
	c := newClient(t, s.URL, nil)
	p, err := c.Prepare(testRequest())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	if _, err = c.Do(ctx, p); !errors.Is(err, context.Canceled) || err.(*Error).Billed != BillingUnknown {
		t.Errorf("cancel while waiting: %+v", err)
	}
	if _, err = c.Do(ctx, p); !errors.Is(err, context.Canceled) || err.(*Error).Billed != BillingNot {
		t.Errorf("cancelled before: %+v", err)
	}
}

func TestDo_Redirects(t *testing.T) {
	other, seen := serve(t, 200, nil, okBody)
	for _, to := range []string{other.URL + "/v1/chat/completions", "/elsewhere"} {
		s, _ := serve(t, 302, map[string]string{"Location": to}, "")
		if _, e := ask(t, newClient(t, s.URL, nil), testRequest()); e == nil || e.Class != ClassDisable || e.Billed != BillingNot || !strings.Contains(e.Message, "base_url") {
			t.Errorf("redirect to %s: %+v", to, e)
		}
	}
	s, _ := serve(t, 307, map[string]string{"Location": other.URL + "/v1/chat/completions"}, "")
	if _, e := ask(t, newClient(t, s.URL, nil), testRequest()); e == nil || len(*seen) != 0 {
		t.Errorf("the key went to another host: %+v", e)
	}
	mux := http.NewServeMux()
	mux.Handle("/v1/chat/completions", http.RedirectHandler("/v2", http.StatusTemporaryRedirect))
	mux.HandleFunc("/v2", func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); !json.Valid(body) {
			t.Errorf("the redirected body is %q", body)
		}
		_, _ = io.WriteString(w, okBody)
	})
	same := httptest.NewServer(mux)
	defer same.Close()
	if _, e := ask(t, newClient(t, same.URL+"/v1", nil), testRequest()); e != nil {
		t.Errorf("redirect on the same host: %v", e)
	}
}
