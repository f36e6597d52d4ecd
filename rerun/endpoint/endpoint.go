// Package endpoint talks to one OpenAI-compatible chat endpoint: a Request goes
// in, a Reply or an *Error comes out, and with each of them what is known about
// the tokens that were spent.
//
// A transport below go-openai owns what the library hides: status, headers, the
// raw body and the raw usage. It irons out what servers send that the library
// cannot read, and turns every failure into an Error that says what to do next.
// The package never streams, never retries (the caller reserves tokens for each
// HTTP request) and never prints the key. Which endpoint is parked, what is
// reserved and when to ask again are left to its caller.
package endpoint

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"time"

	"nightaudit/trace/redact"
)

// Defaults of Options.
const (
	DefaultTimeout          = 2 * time.Minute
	DefaultMaxResponseBytes = 8 << 20
	DefaultMaxCompletion    = 1024
)

// Options describe one endpoint.
type Options struct {
	// Name is what people call the endpoint; it stands in every error.
	Name string
	// BaseURL ends where "/chat/completions" is added, e.g. http://localhost:11434/v1.
	BaseURL string
	// Model is sent as it is.
	Model string
	// Key is sent as a bearer token; "" sends none. It is never printed.
	Key string
	// Timeout bounds a whole exchange, body included. 0: DefaultTimeout.
	Timeout time.Duration
	// MaxResponseBytes bounds an answer's body. 0: DefaultMaxResponseBytes.
	MaxResponseBytes int64
	// MaxCompletion is how many tokens an answer may have where the Request names
	// no number. 0: DefaultMaxCompletion.
	MaxCompletion int
	// MaxCompletionField is "max_tokens" (also for "") or "max_completion_tokens":
	// servers know one of the two.
	MaxCompletionField string
	// ContextWindow is the model's, in tokens, prompt and answer together. 0: not
	// known. It caps Prepared.Bound, so a number that is too small lets a request
	// cost more than was reserved for it.
	ContextWindow int
	// Headers are sent with each request. Their values are kept out of errors.
	Headers map[string]string
	// AllowPlainHTTP lets a key travel unencrypted to another machine.
	AllowPlainHTTP bool
	// Transport replaces the network. Nil: one of its own.
	Transport http.RoundTripper
	// Now is the clock against which dates in answers are read. Nil: time.Now.
	Now func() time.Time
}

// String shows the endpoint without its key and headers.
func (o Options) String() string {
	return fmt.Sprintf("endpoint %s (%s, model %s)", o.Name, o.BaseURL, o.Model)
}

// GoString is String, so that %#v prints no key either.
func (o Options) GoString() string { return o.String() }

// Client asks one model of one endpoint. It may be used by several goroutines.
type Client struct {
	opts      Options // without Key and Headers
	http      *http.Client
	ownWire   bool // the transport is ours: what its trace says can be trusted
	authorize func(http.Header)
	mask      func(string) string
}

// String shows the endpoint without its key.
func (c *Client) String() string { return c.opts.String() }

// New checks the options and makes a Client. It sends nothing.
func New(opts Options) (*Client, error) {
	setDefaults(&opts)
	if err := checkOptions(opts); err != nil {
		return nil, fmt.Errorf("endpoint %s: %w", opts.Name, err)
	}
	c := &Client{
		authorize: authorizer(opts.Key, opts.Headers),
		mask:      masker(opts.Key, opts.Headers),
		ownWire:   opts.Transport == nil,
	}
	transport := opts.Transport
	if transport == nil {
		transport = newTransport()
	}
	c.http = &http.Client{Transport: transport, CheckRedirect: sameHostOnly}
	opts.Key, opts.Headers, opts.Transport = "", nil, nil
	c.opts = opts
	return c, nil
}

// newTransport opens a connection for each request: on a reused one the standard
// library may send a request twice, but the caller has reserved for one.
func newTransport() *http.Transport {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout:    30 * time.Second,
		MaxResponseHeaderBytes: 256 << 10,
		DisableKeepAlives:      true,
		Protocols:              &protocols,
	}
}

// sameHostOnly follows a redirect only where the request stays what it is and
// goes where the key may go. Anything else comes back as the answer it is.
func sameHostOnly(req *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) > 3 || req.Method != first.Method || req.URL.Host != first.URL.Host || req.URL.Scheme != first.URL.Scheme {
		return http.ErrUseLastResponse
	}
	return nil
}

func setDefaults(o *Options) {
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.MaxResponseBytes == 0 {
		o.MaxResponseBytes = DefaultMaxResponseBytes
	}
	if o.MaxCompletion == 0 {
		o.MaxCompletion = DefaultMaxCompletion
	}
	if o.MaxCompletionField == "" {
		o.MaxCompletionField = "max_tokens"
	}
	if o.Now == nil {
		o.Now = time.Now
	}
}

// checkOptions names every mistake at once.
func checkOptions(o Options) error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if o.Model == "" {
		fail("model is missing")
	}
	if o.Timeout < 0 || o.MaxResponseBytes < 0 || o.MaxCompletion < 0 || o.ContextWindow < 0 {
		fail("timeout, max_response_bytes, max_completion and context_window must not be negative")
	}
	if o.MaxCompletionField != "max_tokens" && o.MaxCompletionField != "max_completion_tokens" {
		fail("max_completion_field is %q, want max_tokens or max_completion_tokens", o.MaxCompletionField)
	}
	if !validHeaderValue(o.Key) {
		fail("the key holds a space, a line break or another character that no header takes")
	}
	errs = append(errs, checkHeaders(o)...)
	if err := checkBaseURL(o); err != nil {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func checkBaseURL(o Options) error {
	u, err := url.Parse(o.BaseURL)
	if err != nil {
		// The parser quotes the address, and with it what may be a password.
		return errors.New("base_url is no URL")
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("base_url begins with %q, want http or https", u.Scheme)
	case u.User != nil:
		return errors.New("base_url holds a user or a password; give the key instead")
	case u.Hostname() == "":
		return errors.New("base_url names no host")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return errors.New("base_url must not hold a query or a fragment")
	case u.Scheme == "http" && o.Key != "" && !o.AllowPlainHTTP && !loopback(u.Hostname()):
		return fmt.Errorf("base_url would send the key unencrypted to %s; use https, or allow plain HTTP", u.Hostname())
	}
	return nil
}

func loopback(host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// notSettable are the headers that belong to the client. An idempotency key would
// let the standard library send a request twice.
var notSettable = []string{
	"Host", "Content-Length", "Content-Type", "Transfer-Encoding", "Connection", "Accept", "Accept-Encoding",
	"Expect", "Te", "Trailer", "Idempotency-Key", "X-Idempotency-Key",
}

func checkHeaders(o Options) []error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(o.Headers)) {
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		switch {
		case !validHeaderName(name):
			errs = append(errs, fmt.Errorf("headers: %q is no header name", name))
		case slices.Contains(notSettable, canonical):
			errs = append(errs, fmt.Errorf("headers: %s cannot be set", canonical))
		case canonical == "Authorization" && o.Key != "":
			errs = append(errs, errors.New("headers: Authorization is set from the key"))
		case strings.ContainsAny(o.Headers[name], "\r\n\x00"):
			errs = append(errs, fmt.Errorf("headers: the value of %s holds a line break", canonical))
		}
	}
	return errs
}

func validHeaderName(s string) bool {
	for _, r := range s {
		if r <= ' ' || r >= 0x7f || strings.ContainsRune(`()<>@,;:\"/[]?={}`, r) {
			return false
		}
	}
	return s != ""
}

func validHeaderValue(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

// authorizer keeps the key in a closure, where no format verb finds it.
func authorizer(key string, headers map[string]string) func(http.Header) {
	headers = maps.Clone(headers)
	return func(h http.Header) {
		for name, value := range headers {
			h.Set(name, value)
		}
		if key != "" {
			h.Set("Authorization", "Bearer "+key)
		}
	}
}

// masker removes the key and the headers' values by name, then whatever else
// looks like a secret. Very short values are left: they are no secrets, and
// masking each "a" would leave nothing to read.
func masker(key string, headers map[string]string) func(string) string {
	var pairs []string
	for _, v := range slices.Sorted(maps.Values(headers)) {
		if len(v) >= 8 {
			pairs = append(pairs, v, "[REDACTED]")
		}
	}
	if len(key) >= 4 {
		pairs = append([]string{key, "[REDACTED]"}, pairs...)
	}
	known := strings.NewReplacer(pairs...)
	return func(s string) string {
		s = known.Replace(s)
		if len(s) > 16<<10 {
			s = s[:16<<10]
		}
		return redact.Text(s)
	}
}
