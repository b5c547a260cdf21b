package recall

import (
	"fmt"
	"maps"
	"slices"

	"github.com/kljensen/snowball/english"
	"github.com/kljensen/snowball/french"
	"github.com/kljensen/snowball/hungarian"
	"github.com/kljensen/snowball/norwegian"
	"github.com/kljensen/snowball/russian"
	"github.com/kljensen/snowball/spanish"
	"github.com/kljensen/snowball/swedish"
)

// DefaultLanguage is that of who names none.
const DefaultLanguage = "english"

// language makes terms of words.
type language struct {
	name string
	stem func(word string, stopWordsToo bool) string
	stop func(word string) bool
	// forms are what irregular forms become before they are stemmed.
	forms map[string]string
}

// noStops is for languages without a list.
func noStops(string) bool { return false }

var languages = map[string]language{
	"english":   {stem: english.Stem, stop: func(w string) bool { return englishStops[w] }, forms: englishForms},
	"french":    {stem: french.Stem, stop: french.IsStopWord},
	"spanish":   {stem: spanish.Stem, stop: spanish.IsStopWord},
	"swedish":   {stem: swedish.Stem, stop: swedish.IsStopWord},
	"hungarian": {stem: hungarian.Stem, stop: hungarian.IsStopWord},
	"norwegian": {stem: norwegian.Stem, stop: noStops},
	"russian":   {stem: russian.Stem, stop: noStops},
}

// Languages returns the languages that an index can be made for.
func Languages() []string { return slices.Sorted(maps.Keys(languages)) }

// languageOf returns a language by its name; "" is the default.
func languageOf(name string) (language, error) {
	if name == "" {
		name = DefaultLanguage
	}
	l, ok := languages[name]
	if !ok {
		return language{}, fmt.Errorf("no stems of %q: there are %v", name, Languages())
	}
	l.name = name
	return l, nil
}

// term returns what a word is compared by, "" for one that says nothing.
func (l language) term(w word) string {
	if w.whole {
		return w.text
	}
	if l.stop(w.text) || w.full != "" && l.stop(w.full) {
		return ""
	}
	return l.stemmed(w.text)
}

// stemmed returns the stem of a word. Forms are looked up twice, because a form
// may become a word that has another name: children, child, kid.
func (l language) stemmed(w string) string {
	for range 2 {
		if form, ok := l.forms[w]; ok {
			w = form
		}
	}
	if l.forms != nil { // English has no accents of its own
		w = fold(w)
	}
	return fold(l.stem(w, false))
}

// terms returns the terms of a text in order.
func (l language) terms(text string) []string {
	var all []string
	eachWord(text, func(w word) {
		if t := l.term(w); t != "" {
			all = append(all, t)
		}
	})
	return all
}
