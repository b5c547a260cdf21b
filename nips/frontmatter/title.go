package frontmatter

import (
	"strings"
	"unicode"
)

// Heading returns what stands for the unit in a list: its description, its
// title, or the first line of its body that says something, without the marks of
// a heading; on one line and at most that many characters long, "…" for the
// rest. "" means that there is nothing to show.
func (d Doc) Heading(most int) string {
	f := d.Fields()
	for _, s := range []string{f.Description, f.Title} {
		if line := OneLine(s); says(line) {
			return cut(line, most)
		}
	}
	for line := range strings.Lines(d.Body()) {
		if line = OneLine(strings.TrimLeft(strings.TrimSpace(line), "#")); says(line) {
			return cut(line, most)
		}
	}
	return ""
}

// says reports whether there is a letter, a digit or a symbol in a line; one
// that has only punctuation is a rule, or the mark of a text in several lines.
func says(line string) bool {
	return strings.ContainsFunc(line, func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.So, r)
	})
}

// OneLine puts one blank for each run of blanks and control characters, and leaves
// out what is not [Visible]: a text as a list shows it.
func OneLine(s string) string {
	return strings.Join(strings.Fields(Visible(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s))), " ")
}

func cut(s string, most int) string {
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}
