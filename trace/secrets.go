package trace

import "nightaudit/trace/redact"

// Secrets reports what a body holds that must not be shown: kinds and places,
// never values.
func (r *Run) Secrets(b Body) ([]redact.Secret, error) {
	raw, err := r.Body(b)
	if err != nil || raw == nil {
		return nil, err
	}
	return redact.Find(raw), nil
}

// IsRedacted tells whether a text is a mark that stands for something taken out.
func IsRedacted(s string) bool { return redact.IsMark(s) }

// Redact returns a text with its secrets taken out.
func Redact(s string) string { return redact.Text(s) }

// RedactJSON returns a JSON value with its secrets taken out; JSON stays JSON.
func RedactJSON(raw []byte) []byte { return redact.JSON(raw) }
