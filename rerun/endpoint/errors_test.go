package endpoint

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestDo_Errors(t *testing.T) {
	type hdr = map[string]string
	long := strings.Repeat("very ", 300)
	tests := []struct {
		name   string
		status int
		header hdr
		body   string
		class  Class
		kind   string
		wait   time.Duration // exactly; 0: not compared
		billed Billing
		text   string // stands in the message
	}{
		{"retry after seconds", 429, hdr{"Retry-After": "12"}, `{"error":{"message":"Rate limit exceeded"}}`, ClassRetry, "rate_limit", 12 * time.Second, BillingNot, "Rate limit exceeded"},
		{"retry after a date", 429, hdr{"Retry-After": "Mon, 30 Nov 2026 10:00:30 GMT"}, `{}`, ClassRetry, "rate_limit", 30 * time.Second, BillingNot, "Too Many Requests"},
		{"retry after zero", 429, hdr{"Retry-After": "0"}, `{}`, ClassRetry, "rate_limit", time.Second, BillingNot, ""},
		{"negative", 429, hdr{"Retry-After": "-5"}, `{}`, ClassRetry, "rate_limit", defaultWait, BillingNot, ""},
		{"absurd", 429, hdr{"Retry-After": "9999999"}, `{}`, ClassPark, "rate_limit_day", 25 * time.Hour, BillingNot, ""},
		{"go duration", 429, hdr{"X-Ratelimit-Remaining-Tokens": "0", "X-Ratelimit-Reset-Tokens": "1m2.5s"}, `{}`, ClassRetry, "rate_limit", 63 * time.Second, BillingNot, ""},
		{"milliseconds since 1970", 429, hdr{"X-Ratelimit-Remaining": "0", "X-Ratelimit-Reset": "1796032858000"}, `{}`, ClassRetry, "rate_limit", 58 * time.Second, BillingNot, ""},
		{"a window that is not empty", 429, hdr{"X-Ratelimit-Remaining-Requests": "990", "X-Ratelimit-Reset-Requests": "14m", "X-Ratelimit-Remaining-Tokens": "0", "X-Ratelimit-Reset-Tokens": "7.66s"}, `{}`, ClassRetry, "rate_limit", 8 * time.Second, BillingNot, ""},
		{"array and details", 429, nil, `[{"error":{"code":429,"message":"You exceeded your current quota.","details":[{"violations":[{"quotaId":"RequestsPerMinute"}]},{"retryDelay":"37s"}]}}]`, ClassRetry, "rate_limit", 37 * time.Second, BillingNot, "current quota"},
		{"longer wait in the text", 429, hdr{"Retry-After": "3"}, `{"error":{"message":"Please try again in 1m30s."}}`, ClassRetry, "rate_limit", 90 * time.Second, BillingNot, ""},
		{"whole seconds in the text", 429, nil, `{"error":{"message":"No deployments available, Try again in 60 seconds."}}`, ClassRetry, "rate_limit", time.Minute, BillingNot, ""},
		{"upstream's reason", 429, nil, `{"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"m:free is temporarily rate-limited upstream"}}}`, ClassRetry, "rate_limit", 0, BillingNot, "temporarily rate-limited upstream"},
		{"looks like an overflow", 429, nil, `{"error":{"message":"Too many tokens, please wait before trying again."}}`, ClassRetry, "rate_limit", 0, BillingNot, ""},
		{"per day", 429, hdr{"X-Ratelimit-Remaining": "0", "X-Ratelimit-Reset": "1796083200000"}, `{"error":{"message":"Rate limit exceeded: free-models-per-day."}}`, ClassPark, "rate_limit_day", 14 * time.Hour, BillingNot, ""},
		{"per day without a time", 429, nil, `{"success":false,"errors":[{"code":3036,"message":"you have used up your daily free allocation"}]}`, ClassPark, "rate_limit_day", 14 * time.Hour, BillingNot, "daily free allocation"},
		{"quota without a time", 429, nil, `{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}`, ClassPark, "rate_limit_day", 14 * time.Hour, BillingNot, ""},
		{"not in the free tier", 429, nil, `[{"error":{"message":"Quota exceeded, limit: 0. Please retry in 5.1s."}}]`, ClassDisable, "quota_zero", 0, BillingNot, ""},
		{"no capacity", 429, nil, `{"errors":[{"code":3040,"message":"No more data centers"}]}`, ClassRetry, "overloaded", 0, BillingNot, ""},
		{"request larger than the window", 429, hdr{"Retry-After": "60"}, `{"error":{"message":"Request too large for model"}}`, ClassShrink, "overflow", 0, BillingNot, ""},
		{"413 without a body", 413, nil, ``, ClassShrink, "overflow", 0, BillingNot, "Request Entity Too Large"},
		{"context length", 400, nil, `{"error":{"message":"This model's maximum context length is 8192 tokens.","code":"context_length_exceeded"}}`, ClassShrink, "overflow", 0, BillingNot, "8192"},
		{"prompt too long", 400, nil, `{"error":{"message":"prompt is too long: 210000 tokens > 200000 maximum"}}`, ClassShrink, "overflow", 0, BillingNot, ""},
		{"message order", 400, nil, `{"object":"error","message":"Unexpected role 'user' after role 'tool'","code":"3230"}`, ClassRepair, "message_order", 0, BillingNot, "Unexpected role"},
		{"template", 500, nil, `{"error":{"message":"Error rendering prompt with jinja template"}}`, ClassRepair, "message_order", 0, BillingNot, ""},
		{"cut by the server", 500, nil, `{"error":{"message":"no user query found in messages"}}`, ClassShrink, "prompt_truncated", 0, BillingNot, ""},
		{"field name", 400, nil, `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model."}}`, ClassRepair, "unknown_field", 0, BillingNot, ""},
		{"model not found with 400", 400, nil, `{"error":{"message":"model 'm' not found"}}`, ClassDisable, "model_gone", 0, BillingNot, ""},
		{"other 400", 400, nil, `{"error":{"message":"bad"}}`, ClassRepair, "bad_request", 0, BillingNot, ""},
		{"detail list", 422, nil, `{"detail":[{"loc":["body","parallel_tool_calls"],"msg":"Extra inputs are not permitted"}]}`, ClassRepair, "unknown_field", 0, BillingNot, "body.parallel_tool_calls: Extra inputs"},
		{"tool use failed", 400, nil, `{"error":{"message":"Failed to call a function.","code":"tool_use_failed"}}`, ClassRetry, "tool_use_failed", 0, BillingUnknown, ""},
		{"key", 401, nil, `Unauthorized ` + testKey, ClassDisable, "auth", 0, BillingNot, "Unauthorized [REDACTED]"},
		{"forbidden", 403, nil, `Forbidden`, ClassDisable, "forbidden", 0, BillingNot, ""},
		{"model", 404, nil, "{\"error\":{\"message\":\"The model `m` does not exist\"}}", ClassDisable, "model_gone", 0, BillingNot, ""},
		{"tools", 404, nil, `{"error":{"message":"No endpoints found that support tool use."}}`, ClassDisable, "tools_unsupported", 0, BillingNot, ""},
		{"page", 404, nil, `<!DOCTYPE html><html>not here</html>`, ClassDisable, "endpoint_gone", 0, BillingNot, "is base_url right?"},
		{"retired", 410, nil, ``, ClassDisable, "model_gone", 0, BillingNot, "Gone"},
		{"no money", 402, nil, `{"error":"You have exceeded your monthly included credits"}`, ClassDisable, "payment", 0, BillingNot, "monthly included"},
		{"money in flight", 402, hdr{"Retry-After": "30"}, `{"error":{"message":"in flight"}}`, ClassPark, "payment", 30 * time.Second, BillingNot, ""},
		{"smaller answer", 402, nil, `{"error":{"message":"can only afford 312."}}`, ClassRepair, "payment", 0, BillingNot, ""},
		{"conflict", 409, nil, ``, ClassRetry, "upstream_error", 0, BillingNot, "Conflict"},
		{"server error as text", 500, nil, `{"error":"internal server error"}`, ClassRetry, "upstream_error", 0, BillingNot, "internal server error"},
		{"bad gateway page", 502, nil, `<html><h1>502</h1></html>`, ClassRetry, "upstream_error", 0, BillingNot, "HTML"},
		{"empty 503", 503, nil, ``, ClassRetry, "overloaded", 0, BillingNot, "Service Unavailable"},
		{"maintenance", 503, hdr{"Retry-After": "3600"}, ``, ClassPark, "overloaded", time.Hour, BillingNot, ""},
		{"loading", 503, nil, `{"error":{"message":"Loading model"}}`, ClassPark, "loading", loadingWait, BillingNot, ""},
		{"gateway timeout", 504, nil, ``, ClassRetry, "upstream_error", 0, BillingUnknown, ""},
		{"proxy timeout", 524, nil, `<html></html>`, ClassRetry, "upstream_error", 0, BillingUnknown, ""},
		{"overloaded", 529, nil, `{"error":{"message":"Overloaded"}}`, ClassRetry, "overloaded", 0, BillingNot, ""},
		{"failure that cost", 500, nil, `{"error":{"message":"x"},"usage":` + goodUsage + `}`, ClassRetry, "upstream_error", 0, BillingReported, ""},
		{"limit in a 200", 200, nil, `{"error":{"message":"Rate limit exceeded","code":429,"metadata":{"headers":{"X-RateLimit-Remaining":"0","X-RateLimit-Reset":"1796032820000"}}}}`, ClassRetry, "hidden_error", 20 * time.Second, BillingNot, ""},
		{"error in a 200", 200, nil, `{"error":{"message":"upstream broke"}}`, ClassRetry, "hidden_error", 0, BillingUnknown, "upstream broke"},
		{"choice with an error", 200, nil, answerWith(`[{"finish_reason":"error","error":{"code":502,"message":"Upstream error"},"message":{"content":""}}]`, "null"), ClassRetry, "hidden_error", 0, BillingUnknown, "Upstream error"},
		{"network error", 200, nil, answerWith(`[{"finish_reason":"network_error","message":{"content":"do"}}]`, "null"), ClassRetry, "hidden_error", 0, BillingUnknown, ""},
		{"empty 200", 200, nil, ``, ClassRetry, "empty_body", 0, BillingUnknown, "empty"},
		{"page in a 200", 200, nil, `<!DOCTYPE html><html>sign in</html>`, ClassRetry, "not_json", 0, BillingNot, "is base_url right?"},
		{"stream", 200, nil, "data: {\"choices\":[]}\n\ndata: [DONE]\n\n", ClassRetry, "not_json", 0, BillingUnknown, "event stream"},
		{"half", 200, nil, okBody[:80], ClassRetry, "truncated_body", 0, BillingUnknown, ""},
		{"a number", 200, nil, `7`, ClassRetry, "not_json", 0, BillingUnknown, ""},
		{"no choices", 200, nil, answerWith(`[]`, goodUsage), ClassRepair, "empty_answer", 0, BillingReported, ""},
		{"overflow as a finish reason", 200, nil, answerWith(`[{"message":{"content":""},"finish_reason":"model_context_window_exceeded"}]`, `{"prompt_tokens":4096,"completion_tokens":0}`), ClassShrink, "overflow", 0, BillingReported, ""},
		{"terminal escapes", 500, nil, "a\x1b[31mred\x00\r\nb\u202e", ClassRetry, "upstream_error", 0, BillingNot, `a\u001b[31mred\u0000  b\u202e`},
		{"long", 500, nil, long, ClassRetry, "upstream_error", 0, BillingNot, "very very"},
		{"too long an answer", 200, nil, okBody + strings.Repeat(" ", 4096), ClassRepair, "too_long", 0, BillingUnknown, "4096 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, _ := serve(t, tt.status, tt.header, tt.body)
			_, e := ask(t, newClient(t, s.URL, func(o *Options) { o.MaxResponseBytes = 4096 }), testRequest())
			if e == nil {
				t.Fatal("Do() succeeded")
			}
			if e.Class != tt.class || e.Kind != tt.kind || e.Billed != tt.billed || !strings.Contains(e.Message, tt.text) {
				t.Errorf("Do() error = %+v", e)
			}
			if tt.wait != 0 && e.Wait != tt.wait {
				t.Errorf("wait = %v, want %v", e.Wait, tt.wait)
			}
			if e.Class == ClassPark && !e.Until.Equal(testNow.Add(e.Wait)) {
				t.Errorf("until = %v", e.Until)
			}
			if e.Class == ClassRetry && e.Wait < time.Second {
				t.Errorf("wait = %v", e.Wait)
			}
			if (e.Usage != nil) != (e.Billed == BillingReported) || len([]rune(e.Message)) > maxMessage || strings.ContainsAny(e.Error(), "\n\x1b\x00") {
				t.Errorf("Do() error = %+v", e)
			}
		})
	}
}

func TestError_NeverShowsTheKey(t *testing.T) {
	for _, pad := range []int{0, 480, 490, 495, 16<<10 - 10} {
		s, _ := serve(t, 400, nil, fmt.Sprintf(`{"error":{"message":"%s%s"}}`, strings.Repeat("x", pad), testKey))
		_, e := ask(t, newClient(t, s.URL, nil), testRequest())
		if strings.Contains(e.Error(), testKey[:6]) {
			t.Errorf("padding %d: %v", pad, e)
		}
	}
}
