package transcript

import (
	"strings"
	"unicode"
)

// indent is what a line of somebody else's text begins with: a code block in
// Markdown, which nothing in it can end.
const indent = "    "

// harmless reports whether a character can do nothing but be shown. Controls,
// separators that end a line in some programs, and what changes the direction
// of writing or hides are not.
func harmless(r rune) bool {
	switch {
	case r == '\u2028', r == '\u2029', r == '\u061c', r == '\u200e', r == '\u200f', r == '\u200b', r == '\ufeff':
		return false
	case r >= '\u202a' && r <= '\u202e', r >= '\u2060' && r <= '\u206f', r >= '\ufff9' && r <= '\ufffb', r >= 0xe0000 && r <= 0xe007f:
		return false
	}
	return !unicode.IsControl(r)
}

// line makes any text one harmless line.
func line(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t', r == '\r':
			return ' '
		case !harmless(r):
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD")))
}

// code is any text as code within a line.
func code(s string) string {
	s = line(s)
	longest, run := 0, 0
	for _, r := range s {
		if run++; r != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	fence := strings.Repeat("`", longest+1)
	if s == "" || longest > 0 {
		s = " " + s + " " // the blanks are not shown
	}
	return fence + s + fence
}

// block is any text as a code block, with a blank line before and after it.
func block(s string) string {
	var b strings.Builder
	b.WriteString("\n")
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\r\n", "\n")
	for l := range strings.SplitSeq(strings.TrimRight(s, "\n"), "\n") {
		b.WriteString(indent)
		for _, r := range l {
			if r != '\t' && !harmless(r) {
				r = unicode.ReplacementChar
			}
			b.WriteRune(r)
		}
		b.WriteString("\n")
	}
	b.WriteString("\n")
	return b.String()
}
