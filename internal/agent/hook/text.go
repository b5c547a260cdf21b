package hook

import (
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Measure says how long a text is for a harness.
type Measure func(text string) int

// Units counts UTF-16 units, as JavaScript does.
func Units(text string) (n int) {
	for _, r := range text {
		n += utf16.RuneLen(r)
	}
	return n
}

// MeasureOf is how a harness counts what it takes at the start of a session.
// Codex keeps 2,500 tokens and counts them by bytes; the others count characters.
func MeasureOf(h Harness) Measure {
	if h == Codex {
		return func(text string) int { return len(text) }
	}
	return Units
}

// cut shortens a text to a length, at the end of a line, and says so in a last
// line, which how describes for a reader who wants the rest.
func (m Measure) cut(text string, most int, how string) string {
	if m(text) <= most {
		return text
	}
	note := fmt.Sprintf("(cut: %s)\n", how)
	left := most - m(note)
	if left <= 0 {
		return ""
	}
	var head strings.Builder
	for l := range strings.Lines(text) {
		if m(l) > left {
			break
		}
		left -= m(l)
		head.WriteString(l)
	}
	if head.Len() == 0 { // one long line: rather its beginning than nothing
		head.WriteString(m.begin(text, left-1) + "\n")
	}
	return head.String() + note
}

// begin returns as much of a text as fits, up to a blank if there is one.
func (m Measure) begin(text string, most int) string {
	end := 0
	for end < len(text) {
		_, size := utf8.DecodeRuneInString(text[end:])
		if most -= m(text[end : end+size]); most < 0 {
			break
		}
		end += size
	}
	if at := strings.LastIndexByte(text[:end], ' '); at > end/2 {
		end = at
	}
	return strings.TrimRight(text[:end], " ")
}
