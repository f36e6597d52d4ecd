package endpoint

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	openai "github.com/sashabaranov/go-openai"
)

// Do sends a prepared request once and waits for the whole answer. Every failure
// is an *Error, which also says what the request may have cost.
func (c *Client) Do(ctx context.Context, p Prepared) (Reply, error) {
	if p.client != c || sha256.Sum256(p.body) != p.sum {
		return Reply{}, c.fail(ruling{class: ClassRepair, kind: "not_prepared"}, 0, BillingNot, "the request was not prepared by this client", nil)
	}
	ctx, cancel := context.WithTimeout(ctx, c.opts.Timeout)
	defer cancel()
	if err := ctx.Err(); err != nil {
		return Reply{}, c.fail(ruling{class: ClassRetry, kind: "cancelled", wait: minWait}, 0, BillingNot, "cancelled before it was sent", err)
	}
	x := &exchange{client: c, prepared: p}
	config := openai.DefaultConfig("") // the key is put in below go-openai
	config.BaseURL, config.HTTPClient = c.opts.BaseURL, x
	// The body is ours; go-openai would refuse some models' fields before sending.
	resp, err := openai.NewClientWithConfig(config).CreateChatCompletion(ctx, openai.ChatCompletionRequest{Model: c.opts.Model})
	if failure := (*Error)(nil); errors.As(err, &failure) {
		return Reply{}, failure
	}
	if err != nil || !x.sent {
		billed := BillingUnknown
		if !x.sent {
			billed = BillingNot
		}
		return Reply{}, c.fail(ruling{class: ClassDisable, kind: "not_sendable"}, x.status, billed, fmt.Sprintf("the client library refused the exchange: %v", err), nil)
	}
	return x.reply(resp), nil
}

// exchange is one request and its answer: the HTTPDoer below go-openai. It keeps
// what the library has no place for.
type exchange struct {
	client   *Client
	prepared Prepared
	sent     bool // Do was called
	wrote    atomic.Bool
	status   int
	header   http.Header
	answer   answer
}

// Do sends the prepared bytes in place of the library's and hands back an answer
// that the library can read, or an *Error.
func (x *exchange) Do(req *http.Request) (*http.Response, error) {
	if x.sent {
		return nil, x.client.fail(ruling{class: ClassRepair, kind: "sent_twice"}, 0, BillingUnknown, "the request was to be sent twice", nil)
	}
	x.sent = true
	body := x.prepared.body
	ctx := httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{WroteHeaders: func() { x.wrote.Store(true) }})
	out, err := http.NewRequestWithContext(ctx, http.MethodPost, req.URL.String(), bytes.NewReader(body))
	if err != nil {
		return nil, x.client.fail(ruling{class: ClassDisable, kind: "not_sendable"}, 0, BillingNot, "base_url gives no address that a request can be sent to", nil)
	}
	x.client.authorize(out.Header)
	out.Header.Set("Content-Type", "application/json")
	out.Header.Set("Accept", "application/json")
	resp, err := x.client.http.Do(out)
	if err != nil {
		return nil, x.lost(ctx, err)
	}
	defer resp.Body.Close()
	x.status, x.header = resp.StatusCode, resp.Header
	limit := x.client.opts.MaxResponseBytes
	raw, readErr := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	switch tooLong := int64(len(raw)) > limit; {
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return nil, x.refused(raw[:min(int64(len(raw)), limit)], readErr != nil || tooLong)
	case readErr != nil:
		return nil, x.cutOff(ctx, len(raw), readErr)
	case tooLong:
		return nil, x.unusable(ClassRepair, "too_long", BillingUnknown, fmt.Sprintf("the answer is longer than %d bytes", limit))
	}
	normal, err := x.accept(raw)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		Status: resp.Status, StatusCode: resp.StatusCode, Header: resp.Header, Request: req,
		Body: io.NopCloser(bytes.NewReader(normal)), ContentLength: int64(len(normal)),
	}, nil
}

// fail makes an Error; nothing that stands in it has escaped the mask.
func (c *Client) fail(r ruling, status int, billed Billing, message string, cause error) *Error {
	if message == "" {
		message = "no reason given"
		if text := http.StatusText(status); text != "" {
			message = text
		}
	}
	return &Error{
		Class: r.class, Kind: r.kind, Status: status, Wait: r.wait, Until: r.until, Billed: billed,
		Message: oneLine(c.mask(message)), endpoint: c.opts.Name, cause: cause,
	}
}

// lost is an exchange without any answer. Only what surely never left is free.
func (x *exchange) lost(ctx context.Context, err error) *Error {
	billed := BillingUnknown
	if !x.wrote.Load() && (x.client.ownWire || neverDialled(err)) {
		billed = BillingNot
	}
	retry := ruling{class: ClassRetry, kind: "no_connection", wait: defaultWait}
	var cause error
	message := "no answer: " + errorText(err)
	switch ctxErr := ctx.Err(); {
	case errors.Is(ctxErr, context.DeadlineExceeded):
		retry.kind, cause = "timeout", ctxErr
		message = "no answer within " + x.client.opts.Timeout.Round(time.Millisecond).String()
	case ctxErr != nil:
		retry.kind, cause, message = "cancelled", ctxErr, "cancelled"
	}
	return x.client.fail(retry, 0, billed, message, cause)
}

func neverDialled(err error) bool {
	var op *net.OpError
	var dns *net.DNSError
	return errors.As(err, &dns) || (errors.As(err, &op) && op.Op == "dial")
}

// errorText drops the URL that the standard library puts before a cause.
func errorText(err error) string {
	type urlError interface{ Unwrap() error }
	if u, ok := err.(urlError); ok && u.Unwrap() != nil {
		return u.Unwrap().Error()
	}
	return err.Error()
}

// refused is an answer with another status than 2xx.
func (x *exchange) refused(raw []byte, partial bool) *Error {
	f := parseFault(raw)
	r := classify(x.status, f, x.header, x.client.opts.Now())
	message := f.shown()
	switch {
	case x.status < 400:
		message = "the endpoint redirects to another place (" + x.header.Get("Location") + "): correct base_url"
	case f.html && x.status >= 500:
		message = "the endpoint or a proxy before it answered with an HTML page"
	}
	billed := billingOf(x.status, f.text())
	if partial && x.status >= 500 {
		billed = BillingUnknown
	}
	e := x.client.fail(r, x.status, billed, message, nil)
	x.addUsage(e, raw)
	return e
}

// addUsage records what an error body reports as spent.
func (x *exchange) addUsage(e *Error, raw []byte) {
	var top map[string]any
	if decode(raw, &top) != nil {
		return
	}
	u := readUsage(top, false)
	if u == nil {
		u = readUsage(object(top["error"]), false)
	}
	if u != nil {
		e.Usage, e.Billed = u, BillingReported
	}
}

// cutOff is an answer that ended before its end.
func (x *exchange) cutOff(ctx context.Context, got int, err error) *Error {
	r := ruling{class: ClassRetry, kind: "truncated_body", wait: defaultWait}
	message, cause := fmt.Sprintf("the answer broke off after %d bytes: %s", got, errorText(err)), ctx.Err()
	switch {
	case errors.Is(cause, context.DeadlineExceeded):
		r.kind, message = "timeout", fmt.Sprintf("the answer was not complete within %s", x.client.opts.Timeout.Round(time.Millisecond))
	case cause != nil:
		r.kind, message = "cancelled", "cancelled while the answer came in"
	}
	return x.client.fail(r, x.status, BillingUnknown, message, cause)
}

// unusable is a 200 that holds no answer.
func (x *exchange) unusable(class Class, kind string, billed Billing, message string) *Error {
	r := ruling{class: class, kind: kind}
	if class == ClassRetry {
		r.wait = defaultWait
	}
	return x.client.fail(r, x.status, billed, message, nil)
}
