package transcript

import (
	"strings"

	"engramd/nips/frontmatter"
)

// indent is what a line of somebody else's text begins with: a code block in
// Markdown, which nothing in it can end.
const indent = "    "

// shown is a text in which nothing hides: neither controls and separators that end a line
// in some programs, nor what changes the direction of writing, nor what shows nothing.
func shown(s string) string { return frontmatter.Shown(strings.ToValidUTF8(s, "\uFFFD")) }

// line makes any text one harmless line.
func line(s string) string { return strings.TrimSpace(shown(lineEnds.Replace(s))) }

var lineEnds = strings.NewReplacer("\n", " ", "\t", " ", "\r", " ")

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
	s = shown(strings.ReplaceAll(s, "\r\n", "\n"))
	for l := range strings.SplitSeq(strings.TrimRight(s, "\n"), "\n") {
		b.WriteString(indent + l + "\n")
	}
	b.WriteString("\n")
	return b.String()
}
