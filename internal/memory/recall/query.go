package recall

import (
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"engramd/nips/frontmatter"
)

const (
	// MaxQuery is how much of a query is read, in bytes.
	MaxQuery = 4 << 10
	// maxTerms is how many terms of a query count, mostRead how many words are read to
	// find them: some are left out.
	maxTerms   = 64
	mostRead   = 4 * maxTerms
	maxPhrases = 8
)

// Query is what is asked for.
type Query struct {
	Text string
	Now  time.Time // for "last week", and for what is recent
	// Emotion is what the asker feels, by frontmatter.Emotions; zero for nothing.
	Emotion [8]float64
	Near    Near // nil without vectors
	Filter

	parts bool // a word that no text has may be a part of one
	// What parts of a prompt share: what words stand for, and where it is computed.
	looked *lookups
	room   *room
}

// Filter says which documents may be found. Its zero value is all that are
// active.
type Filter struct {
	Types        []frontmatter.Type
	Tags         []string            // each of them
	Prefix       string              // of the slug
	Since, Until time.Time           // of When; Until is not in it
	States       []frontmatter.State // active if empty
	MinTrust     frontmatter.Trust
	// Holds leaves out what is stale: see Truth.Stale. Matching and Count do not.
	Holds bool
	// Slugs says which slugs may be found; nil for all.
	Slugs func(slug string) bool
	// Within says whose memory may be found; nil for all.
	Within *Within
}

func (f *Filter) allows(d *document) bool {
	switch {
	case len(f.Types) > 0 && !slices.Contains(f.Types, d.typ),
		!strings.HasPrefix(d.slug, f.Prefix),
		f.Slugs != nil && !f.Slugs(d.slug),
		!f.Within.has(d.slug, d.project),
		d.trust < f.MinTrust,
		!f.Since.IsZero() && d.when < f.Since.Unix(),
		!f.Until.IsZero() && d.when >= f.Until.Unix():
		return false
	case len(f.States) == 0 && d.state != frontmatter.Active, len(f.States) > 0 && !slices.Contains(f.States, d.state):
		return false
	}
	return !slices.ContainsFunc(f.Tags, func(t string) bool { return !slices.Contains(d.tags, t) })
}

// asked is a query as the index understands it.
type asked struct {
	terms   []term
	phrases [][]word // words that must follow each other
	who     string   // the one person that is named, "" for none or several
	alone   bool     // there is nothing but a person
	dates   []date
	time    bool            // it asks for a time
	foreign bool            // hardly a section is in its language, or it has words without blanks: what they share is meant
	only    map[string]bool // slugs that may hold the phrases; nil without any
	open    []bool          // documents that the filter lets through
	live    int             // their sections: how rare a word is counts among these
	room    *room
}

func read(x *Index, q Query, w Weights, open []bool) asked {
	text := strings.ToValidUTF8(q.Text[:min(len(q.Text), MaxQuery)], "")
	a := asked{dates: datesIn(text, q.Now), time: asksTime(wordsOf(text)), open: open, room: q.room}
	if a.room == nil {
		a.room = &room{}
	}
	for id, yes := range open {
		if yes {
			a.live += int(x.docs[id].to - x.docs[id].from)
		}
	}
	lang := languageIn(text)
	a.foreign = foreignShare*x.langs[lang] < x.live || strings.ContainsFunc(text, unbroken)
	if a.phrases = phrasesIn(text); a.phrases != nil {
		a.only = x.holding(a.phrases, lang)
	}
	if q.looked == nil {
		q.looked = newLookups(x, open, q, w)
	}
	words, people := split(x, text, lang)
	if len(people) == 1 {
		a.who = people[0]
	}
	meant := slices.DeleteFunc(slices.Clone(words), func(w said) bool { return w.person == "" && lang == theEnglish && generic(w.text) })
	if !slices.ContainsFunc(meant, func(w said) bool { return w.person == "" }) {
		if meant = words; !slices.ContainsFunc(words, func(w said) bool { return w.person == "" }) {
			a.alone = a.who != ""
		}
	}
	for _, one := range meant[:min(len(meant), maxTerms)] {
		for _, t := range q.looked.lookUp(one.word, lang) {
			t.dated = a.dates != nil && (month(t.word) != 0 || t.word[0] >= '0' && t.word[0] <= '9')
			t.person = one.person
			a.terms = append(a.terms, t)
		}
	}
	a.terms = a.terms[:min(len(a.terms), maxTerms)]
	q.looked.together(meant, a.terms)
	if x.allOf(a.dates, open) && slices.ContainsFunc(a.terms, func(t term) bool { return !t.dated }) {
		a.dates = nil
	}
	return a
}

// foreignShare is of how many sections one at least is in a language that is not foreign.
const foreignShare = 10

// said is a word of a query, with the person whose name it is part of.
type said struct {
	word
	person string
}

// split returns the words of a query that say something, each once, and whom they
// name.
func split(x *Index, text string, lang language) (words []said, named []string) {
	var run []string // words of a name that follow each other
	first := 0       // the first of them in words
	end := func() {
		if len(run) == 0 {
			return
		}
		for _, name := range x.people.named(run) {
			if x.everybody(name) {
				continue
			}
			if !slices.Contains(named, name) {
				named = append(named, name)
			}
			for i := first; i < len(words); i++ {
				words[i].person = name
			}
		}
		run = nil
	}
	seen := map[string]bool{}
	add := func(w word, key string) {
		if !seen[key] {
			seen[key] = true
			words = append(words, said{word: w})
		}
	}
	eachWord(text, func(w word) {
		if len(words) >= mostRead {
			return
		}
		folded := fold(w.text)
		key := lang.term(w)
		if !w.whole && x.people.byWord[folded] != nil && (key != "" || w.upper) {
			if run = append(run, folded); len(run) == 1 {
				first = len(words)
			}
			add(w, keyOf(w, lang))
			return
		}
		end()
		if key != "" && (!w.extra || x.knows(key)) {
			add(w, key)
		}
	})
	end()
	if len(words) > 0 {
		return words, named
	}
	eachWord(text, func(w word) { // stop words alone: a name, a letter, a character may be meant
		if key := keyOf(w, theEnglish); len(words) < mostRead && (!w.whole && x.knows(key) || w.whole && unbroken([]rune(w.text)[0])) {
			add(w, key)
		}
	})
	return words, named
}

// allOf reports whether more than half of the documents are of some dates, which then
// tell none from another: on the first day all are of today.
func (x *documents) allOf(dates []date, open []bool) bool {
	of, all := 0, 0
	for i := range x.docs {
		if dates == nil || !open[i] {
			continue
		}
		all++
		when := moment(x.docs[i].when)
		if slices.ContainsFunc(dates, func(d date) bool { return d.holds(when) }) {
			of++
		}
	}
	return of > 1 && 2*of > all
}

// everybody reports whether nearly all documents are of a person, whose name then
// tells none from another.
func (x *documents) everybody(name string) bool {
	return len(x.bySlug) > leastPeople && 3*x.people.count[name] > 2*len(x.bySlug)
}

// leastPeople is how many documents make a crowd.
const leastPeople = 10

func (x *inverted) knows(text string) bool { _, ok := x.terms[text]; return ok }

// keyOf is what words of a query are the same by.
func keyOf(w word, lang language) string {
	if w.whole {
		return w.text
	}
	return lang.stem(w.text)
}

// together lets two words that follow each other also stand for the one word that
// they are in a memory: rule book, rulebook.
func (k *lookups) together(words []said, terms []term) {
	for i := 1; i < len(words) && len(terms) == len(words); i++ {
		a, b := words[i-1], words[i]
		if a.whole || b.whole {
			continue
		}
		for _, v := range k.known(a.text+b.text, theEnglish) {
			terms[i-1].at, terms[i].at = append(terms[i-1].at, v), append(terms[i].at, v)
		}
	}
}

var genericWords = setOf(`kind type name mention describe according feel think say said tell talk thing stuff lot specific certain recently happen happened`)

// generic reports whether a word is one by which people ask.
func generic(w string) bool {
	return genericWords[w] || genericWords[strings.TrimSuffix(w, "s")] || genericWords[forms[w]]
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

// phrasesIn returns what stands in double quotes, as words. Quotes that
// are not closed are no phrase.
func phrasesIn(text string) [][]word {
	var all [][]word
	from := -1
	for i, r := range text {
		switch {
		case !strings.ContainsRune("\"“”„", r):
		case from < 0:
			from = i + utf8.RuneLen(r)
		default:
			words := plainWords(text[from:i])
			if len(words) > 0 && len(all) < maxPhrases {
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
