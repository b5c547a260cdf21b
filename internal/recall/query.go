package recall

import (
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"engramd/nips/unit"
)

const (
	// MaxQuery is how much of a query is read, in bytes.
	MaxQuery = 4 << 10
	// maxTerms is how many terms of a query count.
	maxTerms   = 64
	maxPhrases = 8
)

// Query is what is asked for.
type Query struct {
	Text string
	Now  time.Time // for "last week", and for what is recent
	// Emotion is what the asker feels, by unit.Emotions; zero for nothing.
	Emotion [8]float64
	// Near gives the cosine of the query and a section, by its slug and its
	// place in the memory, where there are vectors; nil without.
	Near func(slug string, section int) (cosine float64, ok bool)
	Filter

	parts bool // a word that no text has may be a part of one
}

// Filter says which documents may be found. Its zero value is all that are
// active.
type Filter struct {
	Types        []unit.Type
	Tags         []string     // each of them
	Prefix       string       // of the slug
	Since, Until time.Time    // of When; Until is not in it
	States       []unit.State // active if empty
	MinTrust     unit.Trust
	// Holds leaves out what is stale: see Index.Stale. Matching and Count do not.
	Holds bool
	// Slugs says which slugs may be found; nil for all.
	Slugs func(slug string) bool
}

// allows reports whether a document may be found.
func (f *Filter) allows(d *document) bool {
	switch {
	case len(f.Types) > 0 && !slices.Contains(f.Types, d.typ),
		!strings.HasPrefix(d.slug, f.Prefix),
		f.Slugs != nil && !f.Slugs(d.slug),
		d.trust < f.MinTrust,
		!f.Since.IsZero() && d.when < f.Since.Unix(),
		!f.Until.IsZero() && d.when >= f.Until.Unix():
		return false
	case len(f.States) == 0 && d.state != unit.Active, len(f.States) > 0 && !slices.Contains(f.States, d.state):
		return false
	}
	return !slices.ContainsFunc(f.Tags, func(t string) bool { return !slices.Contains(d.tags, t) })
}

// asked is a query as the index understands it.
type asked struct {
	terms   []term
	phrases [][]string // words that must follow each other
	who     string     // the one person that is named, "" for none or several
	alone   bool       // there is nothing but a person
	dates   []date
	time    bool            // it asks for a time
	only    map[string]bool // slugs that may hold the phrases; nil without any
	open    []bool          // documents that the filter lets through
}

// term is one of the query's.
type term struct {
	text   string
	word   string // as it was asked
	id     int32  // -1: in no text
	weight float64
	dated  bool // it is part of a date
}

// read takes a query apart.
func (x *Index) read(q Query, w Weights) asked {
	text := strings.ToValidUTF8(q.Text[:min(len(q.Text), MaxQuery)], "")
	a := asked{dates: datesIn(text, q.Now), time: asksTime(wordsOf(text)), open: x.open(&q.Filter)}
	if a.phrases = phrasesIn(text); a.phrases != nil {
		a.only = x.holding(a.phrases)
	}
	terms, names, people := x.split(text)
	if len(people) == 1 {
		a.who = people[0]
	}
	meant := slices.DeleteFunc(slices.Clone(terms), func(t term) bool { return x.generic(t.word) })
	if len(meant) == 0 {
		meant = terms
	}
	if len(meant) == 0 {
		meant, a.alone = names, a.who != ""
	}
	for _, t := range meant[:min(len(meant), maxTerms)] {
		t.dated = a.dates != nil && (month(t.word) != 0 || t.word[0] >= '0' && t.word[0] <= '9')
		a.terms = append(a.terms, x.lookUp(t, q.parts, w)...)
	}
	a.terms = a.terms[:min(len(a.terms), maxTerms)]
	return a
}

// split returns the terms of a query, each once, those of names, and whom these
// name.
func (x *Index) split(text string) (terms, names []term, named []string) {
	var run []string // words of a name that follow each other
	end := func() {
		if len(run) > 0 {
			for _, name := range x.people.named(run) {
				if !slices.Contains(named, name) {
					named = append(named, name)
				}
			}
			run = nil
		}
	}
	eachWord(text, func(w word) {
		folded := fold(w.text)
		stop := x.lang.term(w) == ""
		if x.people.byWord[folded] != nil && (!stop || w.upper) {
			run = append(run, folded)
			names = once(names, term{text: x.lang.stemmed(w.text), word: w.text})
			return
		}
		end()
		if t := x.lang.term(w); t != "" {
			terms = once(terms, term{text: t, word: w.text})
		}
	})
	end()
	return terms, names, named
}

func once(all []term, t term) []term {
	if slices.ContainsFunc(all, func(o term) bool { return o.text == t.text }) {
		return all
	}
	return append(all, t)
}

var genericWords = setOf(generic)

// generic reports whether a word is one by which people ask.
func (x *Index) generic(w string) bool {
	if x.lang.name != DefaultLanguage {
		return false
	}
	return genericWords[w] || genericWords[strings.TrimSuffix(w, "s")] || genericWords[x.lang.forms[w]]
}

// asksTime reports whether a question is for a time: when, how long, what date.
func asksTime(w []string) bool {
	switch {
	case len(w) == 0:
		return false
	case w[0] == "when":
		return true
	case len(w) < 2:
		return false
	case w[0] == "how":
		return w[1] == "long"
	}
	return (w[0] == "what" || w[0] == "which") && slices.Contains([]string{"year", "month", "date", "day"}, w[1])
}

// phrasesIn returns what stands in double quotes, as folded words. Quotes that
// are not closed are no phrase.
func phrasesIn(text string) [][]string {
	var all [][]string
	from := -1
	for i, r := range text {
		switch {
		case !strings.ContainsRune("\"“”„", r):
		case from < 0:
			from = i + utf8.RuneLen(r)
		default:
			if words := wordsOf(text[from:i]); len(words) > 0 && len(all) < maxPhrases {
				all = append(all, words)
			}
			from = -1
		}
	}
	return all
}

// idf is how much a term says that so many of all have.
func idf(with, all int) float64 {
	return math.Log(1 + (float64(all-with)+0.5)/(float64(with)+0.5))
}

func isLetters(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return !unicode.IsLetter(r) }) < 0
}
