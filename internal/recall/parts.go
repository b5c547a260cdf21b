package recall

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// A part of a word needs leastPart letters, and stands for mostParts words at
	// most.
	leastPart = 3
	mostParts = 8
	// wPart is what such a term counts, beside one that is there as it is.
	wPart = 0.5
)

// parts returns the terms of the index that a word is the beginning of, else
// those that it stands in, the commonest first. Of a stem only its beginning is
// known: what is longer than it is compared up to there.
func (x *Index) parts(t term) []term {
	if utf8.RuneCountInString(t.text) < leastPart {
		return nil
	}
	var begins, inside []term
	for text, id := range x.terms {
		at := strings.Index(text, t.text)
		if at < 0 || !x.has(id) {
			continue
		}
		found := term{text: text, word: t.word, id: id, weight: wPart}
		if at == 0 {
			begins = append(begins, found)
		} else {
			inside = append(inside, found)
		}
	}
	if begins == nil {
		begins = inside
	}
	slices.SortFunc(begins, func(a, b term) int {
		return cmp.Or(len(x.posts[b.id])-len(x.posts[a.id]), strings.Compare(a.text, b.text))
	})
	return begins[:min(len(begins), mostParts)]
}
