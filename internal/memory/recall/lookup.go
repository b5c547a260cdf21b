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
	// rareLanguage is of how many sections one at least must be in a language for its
	// stems to be looked for.
	rareLanguage = 200
	// wPart is the weight of a term of which a word is a part.
	wPart = 0.5
	// wCompound is the weight of the two parts of a word that no text has.
	wCompound = 0.8
)

// lookups look words of a query up among the documents that are open, and remember
// what they stand for, over the parts of a prompt.
type lookups struct {
	x      *Index
	open   []bool
	parts  bool    // a word that no text has may be a part of one
	typo   float64 // the weight of a term nearly alike
	terms  map[string][]term
	unseen int // how many were compared with the terms of the index
}

func newLookups(x *Index, open []bool, q Query, w Weights) *lookups {
	return &lookups{x: x, open: open, parts: q.parts, typo: w.Typo, terms: map[string][]term{}}
}

// lookUp finds a word in the index, by its stem in each language that the memory has,
// among the documents that are open. A word that none of them has is two words
// written as one, or stands for the terms that are nearest to it.
func (k *lookups) lookUp(w word, l language) []term {
	key := languages[l].code + " " + w.text
	if w.whole {
		key = w.text
	}
	found, known := k.terms[key]
	if !known {
		found = k.find(w, l)
		k.terms[key] = found
	}
	return slices.Clone(found)
}

func (k *lookups) find(w word, l language) []term {
	t := term{word: w.text, common: w.whole && w.extra && utf8.RuneCountInString(w.text) == 1 || isCommon(w)}
	for _, text := range k.x.stemsOf(w, l) {
		if id, ok := k.x.terms[text]; ok && k.has(id) {
			t.at = append(t.at, variant{text, id, 1})
			t.common = t.common || !w.whole && commonWords[text]
		}
	}
	if t.at != nil || w.extra && !k.parts || k.unseen > max(leastUnseen, mostCompared/(1+len(k.x.terms))) {
		return []term{t}
	}
	k.unseen++
	return k.guess(t, w, l)
}

const (
	// mostCompared bounds how often words of a query that no text has are compared with
	// terms: so many words times terms, but at least leastUnseen words.
	mostCompared = 600_000
	leastUnseen  = 8
	// longestUnseen is how many characters such a word may have: longer ones are data.
	longestUnseen = 32
)

// guess takes a word that no text has for what it may be: a part of terms, a
// character of pairs, two words, or a term nearly alike.
func (k *lookups) guess(t term, w word, l language) []term {
	n := utf8.RuneCountInString(w.text)
	if k.parts {
		for _, stem := range k.x.stemsOf(w, l) {
			if t.at = k.partsOf(stem); t.at != nil {
				return []term{t}
			}
		}
		if w.extra {
			return []term{t}
		}
	}
	switch {
	case n > longestUnseen:
	case w.whole:
		if n == 1 && unbroken([]rune(w.text)[0]) {
			t.at = k.pairsWith(w.text)
		}
	default:
		if a, b, ok := k.compound(w.text, l); ok {
			first, second := t, t
			first.at, second.at = a, b
			return []term{first, second}
		}
		t.at = k.nearly(w.text, l)
	}
	return []term{t}
}

// stemsOf returns the different stems of a word: first in the language of the
// query, then in the others that the memory has.
func (x *inverted) stemsOf(w word, l language) []string {
	if w.whole {
		return []string{w.text}
	}
	all := []string{l.stem(w.text)}
	for other, sections := range x.langs {
		if sections*rareLanguage <= x.live && sections < x.live || l == language(other) {
			continue // hardly spoken: a text taken for another's
		}
		if s := language(other).stem(w.text); !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

// has reports whether a document that is open has a term: what a query may not see
// does not count.
func (k *lookups) has(id int32) bool {
	return slices.ContainsFunc(k.x.postings(id), func(p posting) bool {
		doc := k.x.sections[p.section()].doc
		return doc >= 0 && k.open[doc]
	})
}

// compound takes a word for two that memories have.
func (k *lookups) compound(w string, l language) (a, b []variant, ok bool) {
	for i := range w {
		if utf8.RuneCountInString(w[:i]) < leastPart || utf8.RuneCountInString(w[i:]) < leastPart {
			continue
		}
		if a = k.known(w[:i], l); a == nil {
			continue
		}
		if b = k.known(w[i:], l); b != nil {
			return a, b, true
		}
	}
	return nil, nil, false
}

// known returns the term that a part of a compound is.
func (k *lookups) known(w string, l language) []variant {
	s := l.stem(w)
	if id, ok := k.x.terms[s]; ok && k.has(id) {
		return []variant{{s, id, wCompound}}
	}
	return nil
}

// pairsWith returns the pairs of characters that one character stands in.
func (k *lookups) pairsWith(one string) []variant {
	var all []variant
	for text, id := range k.x.terms {
		if len(text) > len(one) && len(text) <= len(one)+utf8.UTFMax && strings.Contains(text, one) && k.has(id) {
			all = append(all, variant{text, id, wPart})
		}
	}
	return k.x.commonest(all, mostParts)
}

// partsOf returns the terms of the index that a word is the beginning of, else
// those that it stands in, the commonest first. Of a stem only its beginning is
// known: a longer word is compared up to there.
func (k *lookups) partsOf(of string) []variant {
	if utf8.RuneCountInString(of) < leastPart {
		return nil
	}
	var begins, inside []variant
	for text, id := range k.x.terms {
		at := strings.Index(text, of)
		if at < 0 || !k.has(id) {
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
	return k.x.commonest(begins, mostParts/2)
}

// commonest sorts terms of one weight: the map has no order.
func (x *inverted) commonest(all []variant, most int) []variant {
	slices.SortFunc(all, func(a, b variant) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), x.number(b.id)-x.number(a.id), strings.Compare(a.text, b.text))
	})
	return all[:min(len(all), most)]
}

func isLetters(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return !unicode.IsLetter(r) }) < 0
}
