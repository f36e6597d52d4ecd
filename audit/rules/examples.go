package rules

import (
	"encoding/json"

	"nightaudit/audit/claims"
)

func (e *Examples) read(v claims.Value) error {
	return v.Fields("examples", []string{"fits", "fits_not", "pass", "fail"}, func(key string, v claims.Value) (err error) {
		switch key {
		case "fits":
			e.Fits, err = texts(v, key)
		case "fits_not":
			e.FitsNot, err = texts(v, key)
		case "pass":
			e.Pass, err = traces(v, key)
		case "fail":
			e.Fail, err = traces(v, key)
		}
		return err
	})
}

func texts(v claims.Value, key string) ([]string, error) {
	list, err := v.List(key)
	var out []string
	for _, e := range list {
		text, err := e.Text(key)
		if err != nil {
			return nil, err
		}
		out = append(out, text)
	}
	return out, err
}

func traces(v claims.Value, key string) ([]Example, error) {
	list, err := v.List(key)
	var out []Example
	for _, e := range list {
		example, err := readExample(e, key)
		if err != nil {
			return nil, err
		}
		out = append(out, example)
	}
	return out, err
}

// readExample reads one example; those that pass have no verdict to state.
func readExample(v claims.Value, key string) (Example, error) {
	e := Example{Verdict: "PASS", Line: v.Fault("", "", "").Line}
	allowed := []string{"trace", "sentence"}
	if key == "fail" {
		allowed = append(allowed, "verdict", "reason")
		e.Verdict = ""
	}
	err := v.Fields(key, allowed, func(key string, v claims.Value) (err error) {
		switch key {
		case "trace":
			e.Trace, err = lines(v)
		case "sentence":
			e.Sentence, err = v.Text(key)
		case "verdict":
			if e.Verdict, err = v.Text(key); err == nil && e.Verdict != "UNSUPPORTED" && e.Verdict != "CONTRADICTED" {
				err = v.Fault(claims.BadValue, key, "verdict must be UNSUPPORTED or CONTRADICTED")
			}
		case "reason":
			e.Reason, err = v.Text(key)
		}
		return err
	})
	if err == nil && (len(e.Trace) == 0 || e.Sentence == "" || e.Verdict == "") {
		err = v.Fault(claims.MissingKey, key, "an example needs trace and sentence, and one that fails its verdict")
	}
	return e, err
}

// lines reads a trace: records of the native format, as objects or as lines.
func lines(v claims.Value) ([]string, error) {
	list, err := v.List("trace")
	var out []string
	for _, e := range list {
		switch t := e.Any().(type) {
		case string:
			out = append(out, t)
		case map[string]any:
			line, err := json.Marshal(t)
			if err != nil {
				return nil, e.Fault(claims.BadValue, "trace", err.Error())
			}
			out = append(out, string(line))
		default:
			return nil, e.Fault(claims.WrongType, "trace", "a trace is a list of records, as objects or as lines")
		}
	}
	return out, err
}
