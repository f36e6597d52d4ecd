package endpoint

import (
	"fmt"
	"strings"
	"time"
	"unicode"
)

// Class says what to do after a failure.
type Class string

// The classes.
const (
	// ClassRetry: send the same request again after Error.Wait.
	ClassRetry Class = "retry"
	// ClassPark: leave the endpoint alone until Error.Until.
	ClassPark Class = "park"
	// ClassShrink: send a shorter prompt; the same one never fits.
	ClassShrink Class = "shrink"
	// ClassRepair: send a changed request; the same one is refused again.
	ClassRepair Class = "repair"
	// ClassDisable: do not ask this endpoint until its configuration changes.
	ClassDisable Class = "disable"
)

// Billing says what a failed request may have cost.
type Billing string

// The billings. Where it is neither of the other two, the whole reservation
// counts as spent.
const (
	BillingUnknown  Billing = "unknown"
	BillingNot      Billing = "not_billed"
	BillingReported Billing = "reported" // Error.Usage tells
)

// Error is why a request brought no answer.
type Error struct {
	Class Class
	// Kind is a stable word for the cause, e.g. rate_limit, overflow, not_json.
	Kind string
	// Status is that of HTTP, or the one that stood in the body of a 200; 0 where
	// no answer came.
	Status int
	// Wait is how long to wait, at least a second for ClassRetry; 0 otherwise
	// unless the endpoint named a time.
	Wait time.Duration
	// Until is the end of the pause that ClassPark asks for.
	Until  time.Time
	Billed Billing
	// Usage is what the failed exchange cost, where that was reported.
	Usage *Usage
	// Message is for people: redacted, one line, at most 500 characters.
	Message string

	endpoint string
	cause    error // a context's error or nil; its text is never shown
}

// Error names the endpoint, the cause and the status.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "endpoint %s: %s", e.endpoint, e.Message)
	if e.Status != 0 {
		fmt.Fprintf(&b, " (HTTP %d)", e.Status)
	}
	return b.String()
}

// Unwrap gives the context's error where a cancellation or a timeout is the cause.
func (e *Error) Unwrap() error { return e.cause }

const maxMessage = 500 // characters

// oneLine makes s safe to print: control characters are escaped, and what is too
// long is cut. Secrets are gone before, so that none is cut in half.
func oneLine(s string) string {
	var b strings.Builder
	n := 0
	for _, r := range strings.TrimSpace(s) {
		piece := string(r)
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			piece = " "
		case !unicode.IsPrint(r):
			piece = fmt.Sprintf("\\u%04x", r)
		}
		if n += len([]rune(piece)); n >= maxMessage {
			b.WriteString("…")
			break
		}
		b.WriteString(piece)
	}
	return b.String()
}
