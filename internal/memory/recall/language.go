package recall

import (
	_ "embed"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/arabic"
	"github.com/blevesearch/snowballstem/danish"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/english"
	"github.com/blevesearch/snowballstem/finnish"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/hungarian"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/norwegian"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/romanian"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"
	"github.com/blevesearch/snowballstem/swedish"
	"github.com/blevesearch/snowballstem/turkish"
)

// language is a language whose words have stems: its place in languages. It
// stands in the kept index, so the order never changes.
type language uint8

// languages are the codes of ISO 639-1 and their stemmers (snowballstem.org).
var languages = [...]struct {
	code string
	stem func(*snowballstem.Env) bool
}{
	{"en", english.Stem}, {"de", german.Stem}, {"fr", french.Stem}, {"es", spanish.Stem}, {"pt", portuguese.Stem},
	{"it", italian.Stem}, {"nl", dutch.Stem}, {"sv", swedish.Stem}, {"no", norwegian.Stem}, {"da", danish.Stem},
	{"fi", finnish.Stem}, {"tr", turkish.Stem}, {"ro", romanian.Stem}, {"hu", hungarian.Stem}, {"ru", russian.Stem},
	{"ar", arabic.Stem},
}

const (
	theEnglish language = 0
	theRussian language = 14
	theArabic  language = 15
)

var (
	//go:embed stops.txt
	stopText string
	//go:embed forms.txt
	formText string
	//go:embed common.txt
	commonText string

	// stops are the words of each language that say nothing of a text's subject,
	// by code. They also tell which language a text is in.
	stops = stopsOf(stopText)
	// votes are the languages that have a stop word.
	votes = votesOf()
	// forms are irregular English forms, and pairs of words for one thing that a
	// stemmer does not bring together: what they become, by form.
	forms = formsOf(formText)
	// commonWords are English words by which people ask for anything. A hook tells
	// no memory for them alone.
	commonWords = commonOf(commonText)
	// charStops are characters and pairs of them that say nothing, of scripts
	// without blanks.
	charStops = joined(stops["zh"], stops["ja"], stops["ko"])
)

// letterOf are letters that one language with stems uses more than all others.
var letterOf = lettersOf("de ßäöü", "fr çêœ", "es ñ¿¡", "pt ãõ", "sv å", "da ø", "tr ığş", "ro țșă", "hu őű")

func lettersOf(lines ...string) map[rune]language {
	all := map[rune]language{}
	for _, line := range lines {
		for l := range languages {
			if languages[l].code == line[:2] {
				for _, r := range line[3:] {
					all[r] = language(l)
				}
			}
		}
	}
	return all
}

func spokenWords(text string) []word {
	var all []word
	eachWord(text, func(w word) { all = append(all, w) })
	return all
}

// plainWords are the same, each place once.
func plainWords(text string) []word {
	return slices.DeleteFunc(spokenWords(text), func(w word) bool { return w.extra })
}

// languageIn is languageOf a text.
func languageIn(text string) language { return languageOf(spokenWords(text), text) }

// languageOf returns the language of the words in Latin letters of a text: the one
// that has most of its stop words, with the letters that are its own; English
// without any.
func languageOf(words []word, text string) language {
	var count [len(languages)]float64
	counted := map[string]bool{} // a name that is written again says no more
	for _, w := range words {
		for _, form := range []string{w.text, w.full} {
			if of := votes[form]; of != nil && !w.whole && !counted[form] {
				counted[form] = true
				for _, l := range of {
					count[l]++
				}
			}
		}
	}
	for _, r := range text {
		if r >= utf8.RuneSelf {
			if l, ok := letterOf[unicode.ToLower(r)]; ok {
				count[l] += 0.5
			}
		}
	}
	best := theEnglish
	for l := range languages {
		if count[l] > count[best] {
			best = language(l)
		}
	}
	return best
}

// terms returns the terms of words in order, and how many of them count for the
// length of their text.
func (l language) terms(words []word) (all []string, length int) {
	for _, w := range words {
		if t := l.term(w); t != "" {
			all = append(all, t)
			if !w.extra {
				length++
			}
		}
	}
	return all, length
}

// termsOf returns the terms of a text in its language, in order.
func termsOf(text string) []string {
	words := spokenWords(text)
	all, _ := languageOf(words, text).terms(words)
	return all
}

// scripted is the language of a word of a text in that one: its script's, where
// that has another.
func (l language) scripted(w string) language {
	for _, r := range w {
		switch {
		case r < 0x370:
			return l
		case unicode.Is(unicode.Cyrillic, r):
			return theRussian
		case unicode.Is(unicode.Arabic, r):
			return theArabic
		}
		break
	}
	return l
}

// stopped reports whether a word says nothing in a language.
func (l language) stopped(w word) bool {
	if w.whole {
		return charStops[w.text]
	}
	set := stops[languages[l.scripted(w.text)].code]
	return set[w.text] || w.full != "" && set[w.full]
}

// term returns what a word is compared by; "" for one that says nothing.
func (l language) term(w word) string {
	switch {
	case l.stopped(w):
		return ""
	case w.whole:
		return w.text
	}
	return l.stem(w.text)
}

// stem returns the stem of a word, without accents. English forms are looked up
// twice, because a form may become a word that has another name: children, child,
// kid.
func (l language) stem(w string) string {
	l = l.scripted(w)
	if l == theEnglish {
		for range 2 {
			if form, ok := forms[w]; ok {
				w = form
			}
		}
		w = fold(w)
	}
	env := snowballstem.NewEnv(w)
	languages[l].stem(env)
	return fold(env.Current())
}

// stopsOf reads lines of a code, a colon and words.
func stopsOf(text string) map[string]map[string]bool {
	all := map[string]map[string]bool{}
	for line := range strings.Lines(text) {
		code, words, _ := strings.Cut(line, ":")
		all[code] = setOf(words)
	}
	return all
}

func votesOf() map[string][]language {
	all := map[string][]language{}
	for l := range languages {
		for w := range stops[languages[l].code] {
			all[w] = append(all[w], language(l))
		}
	}
	return all
}

func commonOf(text string) map[string]bool {
	set := setOf(text)
	for w := range setOf(text) {
		set[theEnglish.stem(w)] = true
	}
	return set
}

// isCommon reports whether a word, in any form, is one by which people ask.
func isCommon(w word) bool {
	return !w.whole && (commonWords[w.text] || commonWords[theEnglish.stem(w.text)])
}

func joined(sets ...map[string]bool) map[string]bool {
	all := map[string]bool{}
	for _, set := range sets {
		for w := range set {
			all[w] = true
		}
	}
	return all
}

// setOf makes a set of the words of a text.
func setOf(text string) map[string]bool {
	set := make(map[string]bool)
	for _, w := range strings.Fields(text) {
		set[w] = true
	}
	return set
}

// formsOf reads lines of a word and, after a colon, the forms that become it.
func formsOf(text string) map[string]string {
	forms := make(map[string]string)
	for line := range strings.Lines(text) {
		word, all, _ := strings.Cut(line, ":")
		for _, form := range strings.Fields(all) {
			forms[form] = word
		}
	}
	return forms
}
