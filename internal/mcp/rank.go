package mcp

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"engramd/internal/client"
)

// Bounds of a search.
const (
	maxQuery = 500 // bytes
	maxTerms = 16
	// maxOccurrences is how often a term is counted in one text; further
	// occurrences do not change its rank.
	maxOccurrences = 100
)

// How well a term fits where it is found, best first.
const (
	fitsWord   = 3.0 // a word of its own
	fitsPrefix = 2.0 // the beginning of a word
	fitsInside = 0.5 // even in both slug and text, less than one word in a text
	// slugFactor is how much more a hit in a slug counts than one in a text.
	slugFactor = 3.0
)

// match says how well an entry matches a query.
type match struct {
	entry client.Entry
	terms int   // how many different terms it has
	at    []int // first place of each term found in the text, in bytes of the folded text
	score float64
}

// parseQuery splits a query into folded terms, each once: words, and phrases in
// double quotes. It drops terms beyond maxTerms.
func parseQuery(query string) []string {
	var terms []string
	add := func(term string) {
		if term = fold(strings.Join(strings.Fields(term), " ")); term != "" && !slices.Contains(terms, term) && len(terms) < maxTerms {
			terms = append(terms, term)
		}
	}
	for i, part := range strings.Split(query, `"`) {
		if i%2 == 1 {
			add(part)
			continue
		}
		for word := range strings.FieldsSeq(part) {
			add(word)
		}
	}
	return terms
}

// rank returns the entries that have at least one term, best first: those with
// more of the terms come first, then those with the rarer and better fitting
// ones, then newer ones. rank calls stop between entries, and ends if it
// reports true.
func rank(entries []client.Entry, terms []string, stop func() bool) []match {
	found := make([]match, 0, len(entries))
	weights := make([][]float64, 0, len(entries))
	having := make([]int, len(terms))
	for _, e := range entries {
		if stop() {
			return nil
		}
		m, weight := look(e, terms)
		if m.terms == 0 {
			continue
		}
		for i, w := range weight {
			if w > 0 {
				having[i]++
			}
		}
		found, weights = append(found, m), append(weights, weight)
	}
	for i := range found {
		for t, w := range weights[i] {
			if w > 0 {
				found[i].score += w * math.Log(1+float64(len(entries))/float64(having[t]))
			}
		}
	}
	slices.SortFunc(found, func(a, b match) int {
		return cmp.Or(cmp.Compare(b.terms, a.terms), cmp.Compare(b.score, a.score),
			cmp.Compare(b.entry.CreatedAt, a.entry.CreatedAt), cmp.Compare(a.entry.Slug, b.entry.Slug))
	})
	return found
}

// look finds the terms in one entry and weighs each of them.
func look(e client.Entry, terms []string) (match, []float64) {
	m := match{entry: e}
	text, slug := fold(e.Text), fold(string(e.Slug))
	weight := make([]float64, len(terms))
	for i, term := range terms {
		inText, times, at := fit(text, term)
		inSlug, _, _ := fit(slug, term)
		if times > 0 {
			weight[i] = inText * (1 + math.Log(float64(times)))
			m.at = append(m.at, at)
		}
		weight[i] += slugFactor * inSlug
		if weight[i] > 0 {
			m.terms++
		}
	}
	slices.Sort(m.at)
	return m, weight
}

// fit returns how well a folded term fits into a folded text at its best place,
// how often it occurs, and where first.
func fit(text, term string) (best float64, times, first int) {
	for from := 0; times < maxOccurrences; times++ {
		i := strings.Index(text[from:], term)
		if i < 0 {
			break
		}
		start, end := from+i, from+i+len(term)
		if times == 0 {
			first = start
		}
		before, _ := utf8.DecodeLastRuneInString(text[:start])
		after, _ := utf8.DecodeRuneInString(text[end:])
		opens, closes := start == 0 || !inWord(before), end == len(text) || !inWord(after)
		switch {
		case opens && closes:
			best = fitsWord
		case opens:
			best = max(best, fitsPrefix)
		default:
			best = max(best, fitsInside)
		}
		from = end
	}
	return best, times, first
}

// inWord reports whether a character is part of words. Slugs join words with _,
// which is therefore not part of one.
func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

// fold makes texts that differ in case only the same, and every space a blank.
// Each character becomes exactly one.
func fold(s string) string { return strings.Map(foldRune, s) }

func foldRune(r rune) rune {
	switch {
	case 'a' <= r && r <= 'z':
		return r - 'a' + 'A'
	case r < utf8.RuneSelf:
		if r == '\n' || r == '\t' || r == '\r' {
			return ' '
		}
		return r
	case unicode.IsSpace(r):
		return ' '
	}
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return least
}
