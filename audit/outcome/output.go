package outcome

import (
	"bytes"
	"encoding/json"
	"strings"

	"nightaudit/trace"
)

// Output returns the text that a call returned: a string as it stands; text
// blocks joined by line breaks; stdout, a line break and stderr of an object, or
// its output where metadata stands beside it; any other result as compact JSON; the
// error's text when there is no result. The lines that Codex puts above a command's
// own are left out.
func Output(run *trace.Run, c *trace.Call) (string, error) {
	result, err := run.Value(c.Result)
	if err != nil {
		return "", err
	}
	if result.Kind() == trace.KindAbsent {
		e, err := run.Value(c.Error)
		if err != nil {
			return "", err
		}
		return plain(e), nil
	}
	if run.Format == "codex" {
		return withoutHead(plain(result)), nil
	}
	return plain(result), nil
}

func plain(v trace.Value) string {
	switch v.Kind() {
	case trace.KindString:
		return v.Text()
	case trace.KindAbsent:
		return ""
	case trace.KindArray:
		if blocks, ok := textBlocks(v); ok {
			return strings.Join(blocks, "\n")
		}
	case trace.KindObject:
		if content := v.Get("content"); content.Kind() == trace.KindArray {
			if blocks, ok := textBlocks(content); ok {
				return strings.Join(blocks, "\n")
			}
		}
		if out := v.Get("output"); out.Kind() == trace.KindString && v.Get("metadata").Kind() == trace.KindObject {
			return out.Text()
		}
		stdout, stderr := v.Get("stdout"), v.Get("stderr")
		if stdout.Kind() == trace.KindString || stderr.Kind() == trace.KindString {
			if stderr.Text() == "" {
				return stdout.Text()
			}
			return stdout.Text() + "\n" + stderr.Text()
		}
	}
	var b bytes.Buffer
	if json.Compact(&b, v.Raw()) != nil {
		return string(v.Raw())
	}
	return b.String()
}

// textBlocks returns the texts of a list of content blocks; false for a list of
// anything else.
func textBlocks(v trace.Value) ([]string, bool) {
	var out []string
	for block := range v.Elements() {
		if block.Kind() != trace.KindObject || block.Get("type").Kind() != trace.KindString {
			return nil, false
		}
		switch block.Get("type").Text() {
		case "text", "input_text", "output_text":
			out = append(out, block.Get("text").Text())
		}
	}
	return out, true
}

// singleText returns the one text of a result that is exactly one: a string, or
// content with exactly one text block beside whatever is no text.
func singleText(result trace.Value) (string, bool) {
	if result.Kind() == trace.KindString {
		return result.Text(), true
	}
	blocks := result
	if result.Kind() == trace.KindObject {
		blocks = result.Get("content")
	}
	if blocks.Kind() != trace.KindArray {
		return "", false
	}
	texts, ok := textBlocks(blocks)
	if !ok || len(texts) != 1 {
		return "", false
	}
	return texts[0], true
}

// Payload returns the object that a call's result carries as data: the structured
// content if it is an object, else a content that is an object, else exactly one
// text that is a JSON object, else the object result itself. The zero Value where
// there is none.
func Payload(run *trace.Run, c *trace.Call) (trace.Value, error) {
	structured, err := run.Value(c.Structured)
	if err != nil {
		return trace.Value{}, err
	}
	result, err := run.Value(c.Result)
	if err != nil {
		return trace.Value{}, err
	}
	if c.Envelope && result.Kind() == trace.KindObject {
		return result, nil
	}
	for _, v := range []trace.Value{structured, result.Get("structuredContent"), result.Get("content")} {
		if v.Kind() == trace.KindObject {
			return v, nil
		}
	}
	if text, ok := singleText(result); ok {
		v, err := trace.ParseValue([]byte(text))
		if err != nil || v.Kind() != trace.KindObject {
			return trace.Value{}, nil
		}
		return v, nil
	}
	if result.Kind() == trace.KindObject && result.Get("content").Kind() == trace.KindAbsent &&
		result.Get("structuredContent").Kind() == trace.KindAbsent {
		return result, nil
	}
	return trace.Value{}, nil
}
