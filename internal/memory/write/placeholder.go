package write

import (
	"fmt"
	"regexp"
	"strings"
)

// PlaceholderError is a line that stands for a text which was left out: whoever
// writes it means to keep what is there, and would lose it.
type PlaceholderError struct{ Line int }

// Error names the line.
func (e *PlaceholderError) Error() string {
	return fmt.Sprintf("line %d stands for text that was left out", e.Line)
}

const (
	// maxPlaceholder is the longest line that is looked at, in bytes.
	maxPlaceholder = 160
	whatIsLeftOut  = `(file|text|content|contents|code|memory|document|note|notes|entries|lines|sections?|items|list|file contents?|text contents?)`
	which          = `((the|this|your|all|any) )*(existing|previous|original|other|remaining|current|earlier)`
	restOf         = `((keep|with) )?(the )?(rest|remainder) of (the |this |your )?(existing |previous |original |current )?(\w+ )?` + whatIsLeftOut
	rest           = `(` + restOf + `|((keep|with) )?(the )?(rest|remainder))`
	stays          = `(remains?|stays?|is|are|kept|left|continues?|goes)( (here|unchanged|the same|as is|as it was|as before|intact|omitted|unmodified))*|unchanged|the same|as is|as before|omitted|here`
	after          = `( (here|below|above|for brevity|from before))?`
)

var (
	// leftOut says that something stays as it is.
	leftOut = regexp.MustCompile(`(?i)^(` + rest + `|((keep|with) )?` + which + `( ` + whatIsLeftOut + `)?|everything else|all else|no changes|truncated) (` + stays + `)` + after + `$`)
	// named names only what is left out, or that something is: between dots,
	// brackets, or in a comment of code that is no heading.
	named = regexp.MustCompile(`(?i)^((keep|with) )?(` + restOf + `|` + which + ` ` + whatIsLeftOut + `|unchanged|snip|truncated|omitted|same as before)` + after + `$`)
)

// Placeholder finds a line of a text that stands for text left out, such as
// "[Rest of the file remains unchanged]", and is not in the old text already.
// Only lines count that look like an aside: in brackets, with dots, as a
// comment. The error is a *PlaceholderError.
func Placeholder(old, text string) error {
	n := 0
	for line := range strings.Lines(text) {
		n++
		if line = strings.TrimSpace(line); standsFor(line) && !strings.Contains(old, line) {
			return &PlaceholderError{Line: n}
		}
	}
	return nil
}

func standsFor(line string) bool {
	if len(line) > maxPlaceholder {
		return false
	}
	const marks = " \t.…[](){}<>/*#-!;:%\"'`"
	words := strings.Trim(line, marks)
	around := strings.Replace(line, words, "", 1)
	marked := strings.Contains(around, "...") || strings.Contains(around, "…")
	for _, mark := range []string{"//", "/*", "<", "(", "{", "["} {
		marked = marked || strings.HasPrefix(line, mark) && !strings.HasPrefix(line, "[[")
	}
	words = strings.Join(strings.Fields(words), " ")
	return marked && named.MatchString(words) || (marked || strings.HasPrefix(line, "#")) && leftOut.MatchString(words)
}
