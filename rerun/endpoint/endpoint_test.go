package endpoint

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

var testNow = time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)

const testKey = "sekret-key-0123456789"

// serve answers every request with exactly these bytes, and keeps the requests.
func serve(t *testing.T, status int, header map[string]string, body string) (*httptest.Server, *[]string) {
	t.Helper()
	var seen []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, _ := io.ReadAll(r.Body)
		seen = append(seen, string(got))
		w.Header().Set("Content-Type", "application/json")
		for k, v := range header {
			w.Header().Set(k, v)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return s, &seen
}

func newClient(t *testing.T, url string, change func(*Options)) *Client {
	t.Helper()
	o := Options{Name: "test", BaseURL: url, Model: "test-model", Key: testKey, MaxCompletion: 512, Now: func() time.Time { return testNow }}
	if change != nil {
		change(&o)
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func testRequest() Request {
	return Request{
		Messages: []Message{{Role: RoleSystem, Content: "be brief"}, {Role: RoleUser, Content: "go"}},
		Tools: []Tool{
			{Name: "config.read", Parameters: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)},
			{Name: "status"},
		},
	}
}

func ask(t *testing.T, c *Client, req Request) (Reply, *Error) {
	t.Helper()
	p, err := c.Prepare(req)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := c.Do(t.Context(), p)
	if err == nil {
		return reply, nil
	}
	e, ok := err.(*Error)
	if !ok {
		t.Fatalf("Do() error is a %T: %v", err, err)
	}
	if strings.Contains(fmt.Sprintf("%v %+v %#v", e, e, e), testKey) {
		t.Errorf("the error shows the key: %v", e)
	}
	return reply, e
}

func TestNew_ChecksOptions(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Options)
		want   string
	}{
		{"good", func(*Options) {}, ""},
		{"no model", func(o *Options) { o.Model = "" }, "model is missing"},
		{"scheme", func(o *Options) { o.BaseURL = "ftp://h/v1" }, "want http or https"},
		{"no URL", func(o *Options) { o.BaseURL = "http://a b:pw/%zz" }, "no URL"},
		{"no host", func(o *Options) { o.BaseURL = "https:///v1" }, "names no host"},
		{"password", func(o *Options) { o.BaseURL = "https://me:hunter2@h/v1" }, "holds a user or a password"},
		{"query", func(o *Options) { o.BaseURL = "https://h/v1?a=1" }, "query"},
		{"plain http", func(o *Options) { o.BaseURL = "http://example.com/v1" }, "unencrypted"},
		{"plain http without key", func(o *Options) { o.BaseURL, o.Key = "http://example.com/v1", "" }, ""},
		{"plain http allowed", func(o *Options) { o.BaseURL, o.AllowPlainHTTP = "http://example.com/v1", true }, ""},
		{"plain http to this machine", func(o *Options) { o.BaseURL = "http://[::1]:8080/v1" }, ""},
		{"key with line break", func(o *Options) { o.Key = "abc\n" }, "line break"},
		{"negative", func(o *Options) { o.ContextWindow = -1 }, "negative"},
		{"completion field", func(o *Options) { o.MaxCompletionField = "n" }, "want max_tokens"},
		{"header name", func(o *Options) { o.Headers = map[string]string{"a b": "c"} }, "no header name"},
		{"header value", func(o *Options) { o.Headers = map[string]string{"A": "c\r\nB: d"} }, "line break"},
		{"header that repeats requests", func(o *Options) { o.Headers = map[string]string{"idempotency-key": "c"} }, "cannot be set"},
		{"two authorizations", func(o *Options) { o.Headers = map[string]string{"authorization": "c"} }, "set from the key"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := Options{Name: "x", BaseURL: "https://h/v1", Model: "m", Key: testKey}
			tt.change(&o)
			c, err := New(o)
			if tt.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				if s := fmt.Sprintf("%v %+v %#v %v %+v", c, c, c, o, o); strings.Contains(s, testKey) {
					t.Errorf("the key is shown: %s", s)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("New() error = %v, want one with %q", err, tt.want)
			} else if strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), testKey) {
				t.Errorf("New() error shows a secret: %v", err)
			}
		})
	}
}

// sent asks once and decodes the request that the server saw.
func sent(t *testing.T, req Request, change func(*Options)) (map[string]any, string) {
	t.Helper()
	s, seen := serve(t, 200, nil, okBody)
	c := newClient(t, s.URL+"/v1/", change)
	p, err := c.Prepare(req)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Do(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if len(*seen) != 1 || (*seen)[0] != string(p.Body()) {
		t.Fatalf("the server saw %q, prepared was %q", *seen, p.Body())
	}
	var v map[string]any
	if err := json.Unmarshal(p.Body(), &v); err != nil {
		t.Fatal(err)
	}
	return v, string(p.Body())
}

func TestDo_RequestOnTheWire(t *testing.T) {
	req := testRequest()
	req.Messages = append(req.Messages,
		Message{Role: RoleAssistant, ToolCalls: []ToolCall{
			{ID: "call_abc|fc_1", Name: "config.read", Arguments: json.RawMessage(`{"path":"<&>","n":1.0}`), Extra: json.RawMessage(`{"google":{"thought_signature":"sig=="}}`)},
			{ID: "2", Name: "gone tool", BadArguments: "{'a'"},
		}},
		Message{Role: RoleTool, ToolCallID: "2", Content: ""},
		Message{Role: RoleTool, ToolCallID: "call_abc|fc_1", Content: "x \xff"},
	)
	v, raw := sent(t, req, nil)
	if v["temperature"] != 0.0 || v["max_tokens"] != 512.0 || v["stream"] != false || v["model"] != "test-model" {
		t.Errorf("top fields: %s", raw)
	}
	if _, ok := v["tool_choice"]; ok {
		t.Errorf("tool_choice is sent: %s", raw)
	}
	messages := v["messages"].([]any)
	for i, m := range messages {
		if _, ok := m.(map[string]any)["content"].(string); !ok {
			t.Errorf("message %d has no content string: %v", i+1, m)
		}
	}
	calls := messages[2].(map[string]any)["tool_calls"].([]any)
	first, second := calls[0].(map[string]any), calls[1].(map[string]any)
	fn1, fn2 := first["function"].(map[string]any), second["function"].(map[string]any)
	if fn1["name"] != "config_read" || fn1["arguments"] != `{"path":"<&>","n":1.0}` || fn2["name"] != "gone_tool" || fn2["arguments"] != "{}" {
		t.Errorf("calls: %v", calls)
	}
	if first["extra_content"] == nil || second["extra_content"] != nil {
		t.Errorf("extra content: %v", calls)
	}
	answer2, answer1 := messages[3].(map[string]any), messages[4].(map[string]any)
	if answer1["tool_call_id"] != first["id"] || answer2["tool_call_id"] != second["id"] || len(first["id"].(string)) != 9 || first["id"] == second["id"] {
		t.Errorf("ids: %v %v %v", calls, answer1, answer2)
	}
	tools := v["tools"].([]any)
	if fn := tools[1].(map[string]any)["function"].(map[string]any); len(fn) != 1 {
		t.Errorf("a tool without parameters: %v", fn)
	}
	v, raw = sent(t, Request{Messages: req.Messages[:2], MaxCompletion: 7}, func(o *Options) { o.MaxCompletionField = "max_completion_tokens"; o.Model = "gpt-5" })
	if v["max_completion_tokens"] != 7.0 || v["max_tokens"] != nil || v["tools"] != nil {
		t.Errorf("without tools: %s", raw)
	}
}

func TestDo_SendsKeyAndHeaders(t *testing.T) {
	var got http.Header
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		_, _ = io.WriteString(w, okBody)
	}))
	defer s.Close()
	c := newClient(t, s.URL, func(o *Options) { o.Headers = map[string]string{"X-Title": "nightaudit"} })
	if _, err := ask(t, c, testRequest()); err != nil {
		t.Fatal(err)
	}
	if got.Get("Authorization") != "Bearer "+testKey || got.Get("X-Title") != "nightaudit" || got.Get("Content-Type") != "application/json" {
		t.Errorf("headers: %v", got)
	}
}

func TestPrepare_Refuses(t *testing.T) {
	user := Message{Role: RoleUser, Content: "go"}
	call := Message{Role: RoleAssistant, ToolCalls: []ToolCall{{ID: "1", Name: "a"}}}
	answer := Message{Role: RoleTool, ToolCallID: "1"}
	tests := []struct {
		name string
		req  Request
		want string
	}{
		{"nothing", Request{}, "no messages"},
		{"role", Request{Messages: []Message{{Role: "developer"}}}, "unknown role"},
		{"ends with the assistant", Request{Messages: []Message{user, {Role: RoleAssistant, Content: "ok"}}}, "must be of the user"},
		{"unanswered", Request{Messages: []Message{user, call}}, "1 calls have no answer"},
		{"unanswered before a user", Request{Messages: []Message{user, call, user}}, "have no answer"},
		{"orphan", Request{Messages: []Message{user, answer}}, "answers no call"},
		{"answered twice", Request{Messages: []Message{user, call, answer, answer}}, "answers no call"},
		{"no id", Request{Messages: []Message{user, {Role: RoleAssistant, ToolCalls: []ToolCall{{Name: "a"}}}}}, "empty or stands twice"},
		{"tool twice", Request{Messages: []Message{user}, Tools: []Tool{{Name: "a"}, {Name: "a"}}}, "given twice"},
		{"tool without name", Request{Messages: []Message{user}, Tools: []Tool{{}}}, "no name"},
		{"schema", Request{Messages: []Message{user}, Tools: []Tool{{Name: "a", Parameters: json.RawMessage(`[]`)}}}, "no JSON schema"},
		{"completion", Request{Messages: []Message{user}, MaxCompletion: -1}, "max completion"},
	}
	c := newClient(t, "http://localhost:1", nil)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := c.Prepare(tt.req); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Prepare() error = %v, want one with %q", err, tt.want)
			}
		})
	}
	if _, err := c.Prepare(Request{Messages: []Message{user, call, answer, call, answer}}); err != nil {
		t.Errorf("an id that comes again in a later turn: %v", err)
	}
}

func TestPrepared_Bound(t *testing.T) {
	c := newClient(t, "http://localhost:1", nil)
	p, err := c.Prepare(testRequest())
	if err != nil {
		t.Fatal(err)
	}
	if least := int64(len(p.Body()) + 512 + 2*perMessage); p.Bound() < least {
		t.Errorf("Bound() = %d, want at least %d", p.Bound(), least)
	}
	small := newClient(t, "http://localhost:1", func(o *Options) { o.ContextWindow = 700 })
	if p, err = small.Prepare(testRequest()); err != nil || p.Bound() != 700 {
		t.Errorf("Bound() = %d, %v, want the context window", p.Bound(), err)
	}
	if _, err := c.Do(t.Context(), p); err == nil || err.(*Error).Billed != BillingNot {
		t.Errorf("a request of another client: %v", err)
	}
	if _, err := c.Do(t.Context(), Prepared{}); err == nil {
		t.Error("an empty Prepared is sent")
	}
}

func TestToolNames(t *testing.T) {
	long := strings.Repeat("x", 80)
	tools := []Tool{{Name: "config.write"}, {Name: "config_write"}, {Name: "config/write"}, {Name: long + "1"}, {Name: long + "2"}, {Name: "ü"}, {Name: "日"}}
	n, err := newToolNames(tools)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, tool := range tools {
		wire := n.out(tool.Name)
		if seen[wire] || wireName(wire) != wire || n.back(wire) != tool.Name {
			t.Errorf("%q became %q", tool.Name, wire)
		}
		seen[wire] = true
	}
	if n.out("config_write") != "config_write" || n.back("config.write") != "config.write" || n.back("other") != "other" {
		t.Error("names that are fine were changed")
	}
}
