package answer

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"engramd/internal/memory/quote"
	"engramd/internal/memory/recall"
	"engramd/nips/frontmatter"
)

const (
	maxSnippets = 3
	// around is how much text is shown on each side of a word, in bytes.
	around = 80
)

// Snippet is a part of a text.
type Snippet struct {
	Text   string // on one line, as quote.Line has it, behind "> " if it is somebody else's
	Offset int    // where it begins in the whole text
}

// snippets returns the parts of a text that have most of what was searched for:
// first the one with most of the words, then those with words that it has not.
// Front matter is not shown.
func snippets(d frontmatter.Doc, f recall.Finder) []Snippet {
	body := d.Body()
	before := len(d.Text()) - len(body)
	places := f.Places(body)
	var out []Snippet
	for len(out) < maxSnippets && len(places) > 0 {
		at, has := densest(places)
		text, from := part(body, at)
		out = append(out, Snippet{Text: text, Offset: before + from})
		places = slices.DeleteFunc(places, func(p recall.Place) bool { return slices.Contains(has, p.Term) })
	}
	return out
}

// densest returns the middle of the first stretch of text with most different
// terms, and these.
func densest(places []recall.Place) (middle int, terms []int) {
	for i, p := range places {
		var has []int
		last := p.At
		for _, q := range places[i:] {
			if q.At > p.At+around {
				break
			}
			if !slices.Contains(has, q.Term) {
				has, last = append(has, q.Term), q.At
			}
		}
		if len(has) > len(terms) {
			middle, terms = (p.At+last)/2, has
		}
	}
	return middle, terms
}

// part returns the text around a place on one quoted line, cut between words if
// possible, and where it begins.
func part(text string, middle int) (string, int) {
	for middle > 0 && !utf8.RuneStart(text[middle]) {
		middle--
	}
	start, end := max(0, middle-around), min(len(text), middle+around)
	for start > 0 && !utf8.RuneStart(text[start]) {
		start--
	}
	for end < len(text) && !utf8.RuneStart(text[end]) {
		end++
	}
	if start > 0 {
		if i := strings.IndexFunc(text[start:middle], unicode.IsSpace); i >= 0 {
			_, n := utf8.DecodeRuneInString(text[start+i:])
			start += i + n
		}
	}
	if end < len(text) {
		if i := strings.LastIndexFunc(text[middle:end], unicode.IsSpace); i > 0 {
			end = middle + i
		}
	}
	shown := quote.Line(text[start:end])
	if start > 0 {
		shown = "…" + shown
	}
	if end < len(text) {
		shown += "…"
	}
	return shown, start
}
