package otlp

import "nightaudit/trace"

// groups are the members in which an export request holds its records.
var groups = []string{
	"resourceSpans", "resource_spans", "resourceLogs", "resource_logs", "resourceMetrics", "resource_metrics",
}

// IsRecord tells whether a record is an export request.
func IsRecord(rec trace.Value) bool {
	for _, name := range groups {
		if rec.Get(name).Kind() == trace.KindArray {
			return true
		}
	}
	for b := range rec.Get("batches").Elements() { // as Tempo answers
		return b.Get("resource").Given() && firstGiven(b, "scopeSpans", "instrumentationLibrarySpans").Given()
	}
	return false
}

// IsDocument tells whether a file that is one JSON text is an export request, or a
// list of them.
func IsDocument(doc trace.Value) bool {
	for e := range doc.Elements() {
		return IsRecord(e)
	}
	return IsRecord(doc)
}
