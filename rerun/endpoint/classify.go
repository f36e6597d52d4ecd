package endpoint

import (
	"net/http"
	"regexp"
	"time"
)

// A wait that is longer than this is no pause between two attempts.
const parkAfter = 5 * time.Minute

// loadingWait is how long a server is left alone that loads its model.
const loadingWait = 30 * time.Second

// Words that tell causes apart which share a status. All are matched against the
// lower-case text of the fault.
var (
	tooLarge   = regexp.MustCompile(`request too large|reduce your message size|payload too large`)
	throttled  = regexp.MustCompile(`rate.?limit|too many requests|too many tokens, please wait|throttl`)
	overflow   = regexp.MustCompile(`context.?(length|window|size)|maximum context|exceed_context_size|prompt is too long|input is too long|input token count|too many (input )?tokens|exceeds the (maximum|available|model)|maximum number of tokens|上下文|超出最大长度`)
	noQuery    = regexp.MustCompile(`no user query found`)
	order      = regexp.MustCompile(`roles must alternate|jinja|unexpected role|message.?order|must be followed by tool|thought_signature|function response parts|tool_use.{0,20} without|number of function calls|tool_call_id|expected last role|after role`)
	modelGone  = regexp.MustCompile(`model.{0,80}(not.?found|does not exist|decommissioned|deprecated|no longer|not supported|unknown)|(unknown|invalid|no such) model|model_not_found`)
	noTools    = regexp.MustCompile(`support tool use|does not support tools|enable-auto-tool-choice`)
	dataPolicy = regexp.MustCompile(`data policy|privacy`)
	fieldNames = regexp.MustCompile(`extra inputs|unsupported (parameter|property|field)|is unsupported|unknown (name|field|parameter)|unrecognized (request )?(argument|field|parameter)|unexpected keyword`)
	daily      = regexp.MustCompile(`per.?day|daily|\btpd\b|\brpd\b|\b3036\b|insufficient_quota|per.?month|monthly`)
	perMinute  = regexp.MustCompile(`per.?minute|per.?second|\btpm\b|\brpm\b`)
	quota      = regexp.MustCompile(`quota`)
	limitZero  = regexp.MustCompile(`limit: 0\b`)
	noCapacity = regexp.MustCompile(`\b3040\b|no capacity|overloaded|capacity`)
	loading    = regexp.MustCompile(`loading model|model is loading`)
	affordable = regexp.MustCompile(`can only afford [1-9]`)
	burnt      = regexp.MustCompile(`tool_use_failed|failed_generation`)
)

// ruling is what a status and a fault come to.
type ruling struct {
	class Class
	kind  string
	wait  time.Duration // 0: the default where one is needed
	until time.Time
}

// classify decides by the words first where they are plainer than the status.
func classify(status int, f fault, h http.Header, now time.Time) ruling {
	text, told := f.text(), toldWait(h, f, now)
	r, decided := byWords(status, text)
	if !decided {
		r = byStatus(status, f, text, told, now)
	}
	switch {
	case r.class == ClassRetry && told > parkAfter:
		r.class, r.wait = ClassPark, told
	case r.class == ClassRetry:
		r.wait = max(told, r.wait)
		if r.wait == 0 {
			r.wait = defaultWait
		}
	}
	if r.class == ClassPark && r.until.IsZero() {
		r.until = now.Add(r.wait)
	}
	return r
}

func byWords(status int, text string) (ruling, bool) {
	switch {
	case status == http.StatusRequestEntityTooLarge || tooLarge.MatchString(text):
		return ruling{class: ClassShrink, kind: "overflow"}, true
	case status == http.StatusUnauthorized || status == http.StatusPaymentRequired || status == http.StatusTooManyRequests:
		return ruling{}, false
	case noQuery.MatchString(text):
		return ruling{class: ClassShrink, kind: "prompt_truncated"}, true
	case overflow.MatchString(text) && !throttled.MatchString(text):
		return ruling{class: ClassShrink, kind: "overflow"}, true
	case burnt.MatchString(text):
		return ruling{class: ClassRetry, kind: "tool_use_failed"}, true
	case order.MatchString(text) && (status < 500 || status == http.StatusInternalServerError):
		return ruling{class: ClassRepair, kind: "message_order"}, true
	}
	return ruling{}, false
}

func byStatus(status int, f fault, text string, told time.Duration, now time.Time) ruling {
	switch {
	case status == http.StatusTooManyRequests:
		return byLimit(text, told, now)
	case status == http.StatusPaymentRequired:
		return byPayment(text, told)
	case status == http.StatusUnauthorized:
		return ruling{class: ClassDisable, kind: "auth"}
	case status == http.StatusForbidden:
		return ruling{class: ClassDisable, kind: "forbidden"}
	case status == http.StatusNotFound || status == http.StatusGone:
		return ruling{class: ClassDisable, kind: goneKind(f, text)}
	case status == http.StatusBadRequest || status == http.StatusUnprocessableEntity:
		if fieldNames.MatchString(text) {
			return ruling{class: ClassRepair, kind: "unknown_field"}
		}
		if modelGone.MatchString(text) || noTools.MatchString(text) {
			return ruling{class: ClassDisable, kind: goneKind(f, text)}
		}
		return ruling{class: ClassRepair, kind: "bad_request"}
	case status == http.StatusServiceUnavailable && loading.MatchString(text):
		return ruling{class: ClassPark, kind: "loading", wait: max(told, loadingWait)}
	case status == 498 || status == 529 || status == http.StatusServiceUnavailable:
		return ruling{class: ClassRetry, kind: "overloaded"}
	case status == http.StatusRequestTimeout || status == http.StatusConflict || status == http.StatusTooEarly ||
		status == 499 || (status >= 500 && status != http.StatusNotImplemented):
		return ruling{class: ClassRetry, kind: "upstream_error"}
	case status >= 300 && status < 400:
		return ruling{class: ClassDisable, kind: "redirect"}
	default:
		return ruling{class: ClassDisable, kind: "refused"}
	}
}

// byLimit tells a limit that lasts seconds from one that lasts a day, and from a
// model that was never free.
func byLimit(text string, told time.Duration, now time.Time) ruling {
	day := daily.MatchString(text) || (quota.MatchString(text) && told == 0 && !perMinute.MatchString(text))
	switch {
	case limitZero.MatchString(text):
		return ruling{class: ClassDisable, kind: "quota_zero"}
	case day && told > 0:
		return ruling{class: ClassPark, kind: "rate_limit_day", wait: told}
	case day:
		until := nextMidnight(now)
		return ruling{class: ClassPark, kind: "rate_limit_day", wait: until.Sub(now), until: until}
	case told > parkAfter:
		return ruling{class: ClassPark, kind: "rate_limit_day", wait: told}
	case noCapacity.MatchString(text):
		return ruling{class: ClassRetry, kind: "overloaded"}
	default:
		return ruling{class: ClassRetry, kind: "rate_limit"}
	}
}

func byPayment(text string, told time.Duration) ruling {
	switch {
	case told > 0:
		return ruling{class: ClassPark, kind: "payment", wait: told}
	case affordable.MatchString(text):
		return ruling{class: ClassRepair, kind: "payment"} // with a smaller answer
	default:
		return ruling{class: ClassDisable, kind: "payment"}
	}
}

func goneKind(f fault, text string) string {
	switch {
	case f.html:
		return "endpoint_gone"
	case noTools.MatchString(text):
		return "tools_unsupported"
	case dataPolicy.MatchString(text):
		return "data_policy"
	default:
		return "model_gone"
	}
}

// billingOf says what an answer with an error status cost. Whoever passes a
// timeout of someone else on may have let the model run.
func billingOf(status int, text string) Billing {
	switch status {
	case 499, http.StatusGatewayTimeout, 520, 524, 598, 599:
		return BillingUnknown
	}
	if burnt.MatchString(text) {
		return BillingUnknown
	}
	return BillingNot
}
