package recall

import (
	"strings"
	"unicode"
)

const (
	// A section that is shorter than leastWords takes the next paragraph too, as
	// long as both have at most mostWords.
	leastWords = 60
	mostWords  = 120
	// maxSections is how many sections of one memory are told apart; what comes
	// after belongs to the last. An engram's text has less than 64 KiB.
	maxSections = 1024
)

// sections divides a text: at headings, and at blank lines or, in longer
// paragraphs, after lines, sentences or words, so that each section has 60 to
// 120 words where the text allows it. Every text has at least one.
func sections(text string) []string {
	var all []string
	var current strings.Builder
	words := 0
	flush := func() {
		if words > 0 && len(all) < maxSections {
			all = append(all, current.String())
			current.Reset()
			words = 0
		}
	}
	for _, p := range paragraphs(text) {
		n := countWords(p)
		if isHeading(p) || words >= leastWords || words+n > mostWords {
			flush()
		}
		for _, piece := range pieces(p, n) {
			if words+piece.words > mostWords {
				flush()
			}
			current.WriteString(piece.text)
			current.WriteByte('\n')
			words += piece.words
		}
	}
	if flush(); len(all) == 0 {
		return []string{text}
	}
	if current.Len() > 0 { // more than maxSections
		all[len(all)-1] += current.String()
	}
	return all
}

// paragraphs divides a text at blank lines and before headings; a heading begins
// the paragraph that follows it.
func paragraphs(text string) []string {
	var all []string
	var current strings.Builder
	heading := false // all that the paragraph has is a heading
	flush := func() {
		if current.Len() > 0 {
			all = append(all, current.String())
			current.Reset()
		}
	}
	for line := range strings.Lines(text) {
		switch {
		case strings.TrimSpace(line) == "":
			if !heading {
				flush()
			}
			continue
		case isHeading(line):
			flush()
			heading = true
		default:
			heading = false
		}
		current.WriteString(line)
	}
	flush()
	return all
}

func isHeading(p string) bool {
	level := len(p) - len(strings.TrimLeft(p, "#"))
	return level > 0 && level <= 6 && len(p) > level && p[level] == ' '
}

func countWords(s string) int {
	n := 0
	eachWord(s, func(w word) {
		if !w.extra {
			n++
		}
	})
	return n
}

type piece struct {
	text  string
	words int
}

// pieces divides a paragraph that is too long: at lines, then at sentences, then
// at blanks.
func pieces(p string, words int) []piece {
	if words <= mostWords {
		return []piece{{p, words}}
	}
	var all []piece
	for line := range strings.Lines(p) {
		for _, sentence := range sentences(line) {
			n := countWords(sentence)
			for n > mostWords {
				head, rest := splitWords(sentence, mostWords)
				if rest == "" {
					break // without blanks: as it is
				}
				words := countWords(head) // the rest is not counted again: a line may be long
				all = append(all, piece{head, words})
				sentence, n = rest, n-words
			}
			all = append(all, piece{sentence, n})
		}
	}
	return all
}

// sentences divides a line behind each mark that ends a sentence and has a blank
// after it, or stands in a script without blanks.
func sentences(line string) []string {
	var all []string
	from := 0
	ended := false
	for i, r := range line {
		if ended && (unicode.IsSpace(r) || unbroken(r)) {
			all = append(all, line[from:i])
			from = i
		}
		ended = strings.ContainsRune(".!?。！？", r)
	}
	return append(all, line[from:])
}

func splitWords(s string, most int) (head, rest string) {
	n, inside := 0, false
	for i, r := range s {
		space := unicode.IsSpace(r)
		if !space && !inside {
			if n == most {
				return s[:i], s[i:]
			}
			n++
		}
		inside = !space
	}
	return s, ""
}

// Sections returns the texts of a document's sections, in the order in which
// hits and Query.Near number them, each with the description: what a model makes
// a vector of.
func Sections(d Document) []string {
	parts := sections(d.Body)
	if d.Description == "" {
		return parts
	}
	all := make([]string, len(parts))
	for i, part := range parts {
		all[i] = d.Description + "\n" + part
	}
	return all
}
