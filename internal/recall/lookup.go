package recall

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// term is a word of a query and the terms of the index that it stands for.
type term struct {
	word   string // as it was asked
	at     []variant
	dated  bool   // it is part of a date
	person string // whose name it belongs to
	common bool   // it is a word by which people ask for anything
}

// variant is a term of the index. Weight is 1 for the word itself and less for
// one that it may mean.
type variant struct {
	text   string
	id     int32
	weight float64
}

const (
	// mostMeant is how many terms a word may stand for that no text has.
	mostMeant = 4
	// mostParts is how many terms a part of a word stands for.
	mostParts = 16
	// leastPart is how many letters a part of a compound has.
	leastPart = 3
	// wPart is the weight of a term of which a word is a part.
	wPart = 0.5
	// wCompound is the weight of the two parts of a word that no text has.
	wCompound = 0.8
)

// lookUp finds a word in the index: by its stem in each language that the memory
// has. A word that no text has is two words written as one, or stands for the
// terms that are nearest to it.
func (x *Index) lookUp(w word, l language, q Query, weights Weights) []term {
	t := term{word: w.text, common: w.whole && w.extra && utf8.RuneCountInString(w.text) == 1 || commonWords[w.text] || !w.whole && commonWords[forms[w.text]]}
	if x.older && !cutAlike(w) {
		return []term{t}
	}
	for _, text := range x.stemsOf(w, l) {
		if id, ok := x.terms[text]; ok && x.has(id) {
			t.at = append(t.at, variant{text, id, 1})
		}
	}
	if t.at != nil || w.extra && !q.parts {
		return []term{t}
	}
	found, known := q.unseen[w.text]
	if !known && len(q.unseen) <= max(leastUnseen, mostCompared/(1+len(x.terms))) {
		found = x.unseen(t, w, l, q.parts, weights)
		q.unseen[w.text] = found
	}
	if found == nil {
		return []term{t}
	}
	return slices.Clone(found)
}

const (
	// mostCompared bounds how often words of a query that no text has are compared with
	// terms: so many words times terms, but at least leastUnseen words.
	mostCompared = 1_500_000
	leastUnseen  = 8
	// longestUnseen is how many characters such a word may have: longer ones are data.
	longestUnseen = 32
)

// unseen takes a word that no text has for what it may be: a part of terms, a
// character of pairs, two words, or a term nearly alike.
func (x *Index) unseen(t term, w word, l language, parts bool, weights Weights) []term {
	n := utf8.RuneCountInString(w.text)
	if parts {
		if t.at = x.parts(x.stemsOf(w, l)[0]); t.at != nil || w.extra {
			return []term{t}
		}
	}
	switch {
	case n > longestUnseen:
	case w.whole:
		if n == 1 && unbroken([]rune(w.text)[0]) {
			t.at = x.pairsWith(w.text)
		}
	default:
		if a, b, ok := x.compound(w.text, l); ok {
			first, second := t, t
			first.at, second.at = a, b
			return []term{first, second}
		}
		t.at = x.nearly(w.text, l.stem(w.text), weights.Typo)
	}
	return []term{t}
}

// stemsOf returns the different stems of a word: first in the language of the
// query, then in the others that the memory has.
func (x *Index) stemsOf(w word, l language) []string {
	if w.whole {
		return []string{w.text}
	}
	all := []string{l.stem(w.text)}
	for other, sections := range x.langs {
		if sections == 0 || l == language(other) {
			continue
		}
		if s := language(other).stem(w.text); !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

// cutAlike reports whether older versions made the same term of a word: of letters
// without accents, and of two characters of a script without blanks.
func cutAlike(w word) bool {
	if w.whole {
		return !w.extra && utf8.RuneCountInString(w.text) == 2
	}
	return isLetters(w.text) && fold(w.text) == w.text && w.text[0] < utf8.RuneSelf
}

// has reports whether a live section has a term.
func (x *Index) has(id int32) bool {
	return slices.ContainsFunc(x.posts[id], func(p posting) bool { return x.sections[p.section()].doc >= 0 })
}

// compound takes a word for two that memories have.
func (x *Index) compound(w string, l language) (a, b []variant, ok bool) {
	for i := range w {
		if utf8.RuneCountInString(w[:i]) < leastPart || utf8.RuneCountInString(w[i:]) < leastPart {
			continue
		}
		if a = x.known(w[:i], l); a == nil {
			continue
		}
		if b = x.known(w[i:], l); b != nil {
			return a, b, true
		}
	}
	return nil, nil, false
}

// known returns the term that a part of a compound is.
func (x *Index) known(w string, l language) []variant {
	s := l.stem(w)
	if id, ok := x.terms[s]; ok && x.has(id) {
		return []variant{{s, id, wCompound}}
	}
	return nil
}

// pairsWith returns the pairs of characters that one character stands in.
func (x *Index) pairsWith(one string) []variant {
	var all []variant
	for text, id := range x.terms {
		if len(text) > len(one) && len(text) <= len(one)+utf8.UTFMax && strings.Contains(text, one) && x.has(id) {
			all = append(all, variant{text, id, wPart})
		}
	}
	return x.commonest(all, mostParts)
}

// parts returns the terms of the index that a word is the beginning of, else
// those that it stands in, the commonest first. Of a stem only its beginning is
// known: a longer word is compared up to there.
func (x *Index) parts(of string) []variant {
	if utf8.RuneCountInString(of) < leastPart {
		return nil
	}
	var begins, inside []variant
	for text, id := range x.terms {
		at := strings.Index(text, of)
		if at < 0 || !x.has(id) {
			continue
		}
		if at == 0 {
			begins = append(begins, variant{text, id, wPart})
		} else {
			inside = append(inside, variant{text, id, wPart})
		}
	}
	if begins == nil {
		begins = inside
	}
	return x.commonest(begins, mostParts/2)
}

// commonest sorts terms of one weight: the map has no order.
func (x *Index) commonest(all []variant, most int) []variant {
	slices.SortFunc(all, func(a, b variant) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), len(x.posts[b.id])-len(x.posts[a.id]), strings.Compare(a.text, b.text))
	})
	return all[:min(len(all), most)]
}

func isLetters(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return !unicode.IsLetter(r) }) < 0
}
