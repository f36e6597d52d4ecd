package rules

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxSentence   = 2000 // bytes of a sentence that is judged
	maxStatements = 500  // sentences that are judged; more are not checked
	maxSummary    = 1 << 20
)

// Sentences splits a summary into its statements: one a sentence, list item,
// heading or row of a table. What stands in code fences or is quoted is no
// statement of the agent's.
func Sentences(summary string) []string {
	if len(summary) > maxSummary {
		summary = summary[:maxSummary]
	}
	summary = strings.ToValidUTF8(summary, "\uFFFD")
	var out []string
	var paragraph strings.Builder
	flush := func() {
		out = appendSentences(out, paragraph.String())
		paragraph.Reset()
	}
	fence := ""
	for line := range strings.Lines(summary) {
		line = strings.TrimSpace(line)
		if mark := fenceMark(line); fence != "" || mark != "" {
			switch {
			case fence == "":
				flush()
				fence = mark
			case mark != "" && mark[0] == fence[0] && len(mark) >= len(fence) && strings.Trim(line, mark[:1]) == "":
				fence = ""
			}
			continue
		}
		switch {
		case line == "" || strings.HasPrefix(line, ">"):
			flush()
		case strings.HasPrefix(line, "|"):
			flush()
			// A cell means nothing without its neighbours: "142 passed" may be of last week.
			if row := strings.Trim(line, "| "); strings.ContainsFunc(row, unicode.IsLetter) {
				out = append(out, row)
			}
		default:
			text := strip(line)
			if first, _ := utf8.DecodeRuneInString(text); text != line || unicode.Is(unicode.So, first) {
				flush() // a list item, a heading or a mark of its own
			}
			if strings.HasPrefix(line, "#") {
				out = appendSentences(out, text)
				continue
			}
			paragraph.WriteString(text)
			paragraph.WriteByte(' ')
		}
	}
	flush()
	return out
}

// fenceMark returns the ``` or ~~~ that a line begins with.
func fenceMark(line string) string {
	for _, c := range []string{"`", "~"} {
		if n := len(line) - len(strings.TrimLeft(line, c)); n >= 3 && (c == "~" || !strings.Contains(line[n:], "`")) {
			return line[:n]
		}
	}
	return ""
}

var listMark = regexp.MustCompile(`^(?:#{1,6}\s+|[-*+•–—]\s+|\d{1,3}[.)]\s+|\[[ xX✓]\]\s*)+`)

// undone is an unticked box: a task, and no statement.
var undone = regexp.MustCompile(`^(?:[-*+•]\s+|\d{1,3}[.)]\s+)*(?:\[ \]|☐)`)

// strip removes the marks before a line's text: of headings, lists and boxes, and
// emoji. A cross is kept: it says that the rest is not so.
func strip(line string) string {
	line = strings.TrimSpace(line)
	if undone.MatchString(line) {
		return "☐ " + strings.TrimSpace(undone.ReplaceAllString(line, ""))
	}
	for range 16 { // marks before a line; more are no text of a person's
		before := line
		if m := listMark.FindStringIndex(line); m != nil {
			line = line[m[1]:]
		}
		r, n := utf8.DecodeRuneInString(line)
		if r == '\uFE0F' || r >= 0x2000 && !strings.ContainsRune("❌✗✘✖🚫⛔⚠🔴☐⏳🟡🚧🔜“‘”’…", r) && unicode.Is(unicode.So, r) || r == '\u200D' {
			line = line[n:]
		}
		line = strings.TrimSpace(line)
		if line == before {
			break
		}
	}
	return line
}

// appendSentences splits a paragraph.
func appendSentences(out []string, text string) []string {
	for text = strings.TrimSpace(text); text != ""; {
		i := sentenceEnd(text)
		if s := strip(text[:i]); strings.ContainsFunc(s, unicode.IsLetter) {
			out = append(out, s)
		}
		text = strings.TrimSpace(text[i:])
	}
	return out
}

// abbreviations end with a full stop that ends no sentence.
var abbreviations = regexp.MustCompile(`(?i)(?:^|[\s(])(?:e\.g|i\.e|etc|vs|cf|approx|resp|incl|no|nr|fig|ca|dr|mr|mrs|st|[a-z])\.$`)

// sentenceEnd returns where the first sentence of a text ends: behind a full stop,
// question or exclamation mark, and the marks that close on it, that a blank and no
// small letter follow. What stands in code marks is one word.
func sentenceEnd(text string) int {
	code := false
	for i := 0; i < len(text); i++ {
		if text[i] == '`' {
			code = !code && strings.IndexByte(text[i+1:min(len(text), i+1+maxSentence)], '`') >= 0
		}
		if code || strings.IndexByte(".?!", text[i]) < 0 {
			continue
		}
		end := i + 1
		for end < len(text) && strings.IndexByte(".?!)\"'*_`", text[end]) >= 0 {
			end++
		}
		if end < len(text) && text[end] != ' ' {
			continue
		}
		rest := strings.TrimLeft(text[end:], " ")
		if rest != "" && rest[0] >= 'a' && rest[0] <= 'z' {
			continue
		}
		if text[i] == '.' && abbreviations.MatchString(text[max(0, i-10):i+1]) && rest != "" {
			continue
		}
		return end
	}
	return len(text)
}

// plain writes a sentence as the patterns want it: straight quotation marks and
// apostrophes, no marks of bold and italic text, single blanks, links by their text.
func plain(s string) string {
	s = straight.Replace(s)
	s = link.ReplaceAllString(s, "$1")
	s = emphasis.ReplaceAllString(s, "")
	return strings.Join(strings.Fields(s), " ")
}

var (
	straight = strings.NewReplacer("’", "'", "‘", "'", "“", `"`, "”", `"`, "«", `"`, "»", `"`, "„", `"`, "‑", "-", "\u00a0", " ", "\u200b", "")
	link     = regexp.MustCompile(`\[([^\]\[]+)\]\([^()\s]+\)`) // sentences are short enough
	emphasis = regexp.MustCompile(`\*{1,3}|\b__|__\b`)
)

var (
	codeSpan  = regexp.MustCompile("`[^`]+`")
	quoted    = regexp.MustCompile(`"[^"]+"|(?:^|[\s(])'[^']+'`)
	quoteMark = byte('"')
)

// mask blanks out what stands in code marks or quotation marks, byte by byte, so
// that nothing in it reads as the agent's own words, and places stay the same.
func mask(s string) string {
	b := []byte(s)
	for _, re := range []*regexp.Regexp{codeSpan, quoted} {
		for _, m := range re.FindAllIndex(b, -1) {
			from := m[0]
			for b[from] != '`' && b[from] != quoteMark && b[from] != '\'' {
				from++
			}
			for i := from + 1; i < m[1]-1; i++ {
				b[i] = 'x'
			}
		}
	}
	return string(b)
}
