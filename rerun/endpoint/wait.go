package endpoint

import (
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const (
	minWait     = time.Second
	maxWait     = 25 * time.Hour // a day and a clock that is wrong
	defaultWait = 5 * time.Second
)

// retryText finds the wait in a sentence: "try again in 5.289s", "retry in 1m30s",
// "Try again in 60 seconds".
var retryText = regexp.MustCompile(`(?i)(?:try again|retry)(?: again)? (?:in|after) ((?:\d+(?:\.\d+)?\s*(?:hours?|minutes?|mins?|milliseconds?|seconds?|secs?|ms|h|m|s)\s*)+)`)

var textUnit = regexp.MustCompile(`(?i)(\d+(?:\.\d+)?)\s*(hours?|minutes?|mins?|milliseconds?|seconds?|secs?|ms|h|m|s)`)

// toldWait is the longest wait that an answer asks for, in headers or body, from
// a second to 25 hours; 0 where it names none.
func toldWait(h http.Header, f fault, now time.Time) time.Duration {
	var longest time.Duration
	told := false
	take := func(d time.Duration, ok bool) {
		if ok {
			longest, told = max(longest, d), true
		}
	}
	for _, header := range []http.Header{h, f.header} {
		take(parseReset(header.Get("Retry-After"), now))
		if ms, err := strconv.ParseFloat(header.Get("Retry-After-Ms"), 64); err == nil {
			take(seconds(ms/1000), ms >= 0)
		}
		for name := range header {
			window, isReset := strings.CutPrefix(name, "X-Ratelimit-Reset")
			if isReset && windowEmpty(header, window) {
				take(parseReset(header.Get(name), now))
			}
		}
	}
	take(parseReset(f.delay, now))
	take(waitInText(f.message + "\n" + f.raw))
	if !told {
		return 0
	}
	return min(max(roundUp(longest), minWait), maxWait)
}

// windowEmpty tells whether a limit's reset matters: not while something remains.
func windowEmpty(h http.Header, window string) bool {
	remaining := h.Get("X-Ratelimit-Remaining" + window)
	n, err := strconv.ParseFloat(remaining, 64)
	return err != nil || n <= 0
}

// parseReset reads the forms that servers use: seconds, a Go duration, a date,
// and a time since 1970 in seconds or milliseconds, told apart by magnitude. A
// time in the past or a negative number is no wait that can be believed.
func parseReset(s string, now time.Time) (time.Duration, bool) {
	s = strings.TrimSpace(s)
	if s == "" {
		return 0, false
	}
	if n, err := strconv.ParseFloat(s, 64); err == nil {
		switch {
		case math.IsNaN(n) || n < 0:
			return 0, false
		case n > 1e12:
			return positive(time.UnixMilli(int64(min(n, 1e15))).Sub(now))
		case n > 1e9:
			return positive(time.Unix(int64(n), 0).Sub(now))
		}
		return seconds(n), true
	}
	if d, err := time.ParseDuration(s); err == nil {
		return positive(d)
	}
	if t, err := http.ParseTime(s); err == nil {
		return positive(t.Sub(now))
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return positive(t.Sub(now))
	}
	return 0, false
}

func positive(d time.Duration) (time.Duration, bool) { return d, d >= 0 }

func waitInText(s string) (time.Duration, bool) {
	m := retryText.FindStringSubmatch(s)
	if m == nil {
		return 0, false
	}
	var total float64
	for _, part := range textUnit.FindAllStringSubmatch(m[1], -1) {
		n, err := strconv.ParseFloat(part[1], 64)
		if err != nil {
			return 0, false
		}
		switch unit := strings.ToLower(part[2]); {
		case strings.HasPrefix(unit, "ms") || strings.HasPrefix(unit, "milli"):
			n /= 1000
		case strings.HasPrefix(unit, "h"):
			n *= 3600
		case strings.HasPrefix(unit, "m"):
			n *= 60
		}
		total += n
	}
	return seconds(total), true
}

// seconds stays within what a Duration can hold.
func seconds(n float64) time.Duration {
	return time.Duration(min(n, maxWait.Seconds()*2) * float64(time.Second))
}

func roundUp(d time.Duration) time.Duration {
	if up := d.Truncate(time.Second); up != d {
		return up + time.Second
	}
	return d
}

// nextMidnight is when daily limits of most servers start anew.
func nextMidnight(now time.Time) time.Time {
	return now.UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
}
