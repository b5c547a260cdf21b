package recall

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxWord is the longest word that is looked at, in bytes; what is longer is no
// word but data.
const maxWord = 64

// word is a word of a text as it is compared: lower case, without the rest of an
// apostrophe.
type word struct {
	text string
	// full is the word with the rest of its apostrophe; "" if it has none.
	full string
	// upper says that it begins with a capital.
	upper bool
	// whole says that it is a term as it is: a pair of characters of a script
	// that is written without blanks.
	whole bool
}

// eachWord calls f with the words of a text in order: runs of letters and
// digits, and in scripts without blanks every two characters that follow each
// other.
func eachWord(text string, f func(word)) { eachPlace(text, func(w word, _ int) { f(w) }) }

// eachPlace is eachWord with the byte at which each word begins.
func eachPlace(text string, f func(w word, at int)) {
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case unbroken(r):
			i += bigrams(text[i:], func(w word, at int) { f(w, i+at) })
		case wordRune(r):
			end, letters := i+n, i+n
			for end < len(text) {
				r, n := utf8.DecodeRuneInString(text[end:])
				if (r == '\'' || r == '’') && letters == end { // it's, the boys'
					end += n
					continue
				}
				if !wordRune(r) || unbroken(r) {
					break
				}
				end += n
				if letters == end-n {
					letters = end
				}
			}
			emit(text[i:letters], text[i:end], func(w word) { f(w, i) })
			i = end
		default:
			i += n
		}
	}
}

func emit(s, full string, f func(word)) {
	if len(full) > maxWord {
		return
	}
	first, _ := utf8.DecodeRuneInString(s)
	w := word{text: norm.NFC.String(strings.ToLower(s)), upper: unicode.IsUpper(first)}
	if full != s {
		w.full = strings.ReplaceAll(strings.ToLower(full), "’", "'")
	}
	f(w)
}

func wordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

// unbroken reports whether a character's script is written without blanks.
func unbroken(r rune) bool {
	return r >= 0x0E00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// bigrams calls f with each two characters of the run at the beginning of s, or
// with the one that is there, and returns how long the run is.
func bigrams(s string, f func(w word, at int)) int {
	before, at := -1, 0
	for at < len(s) {
		r, n := utf8.DecodeRuneInString(s[at:])
		if !unbroken(r) {
			break
		}
		if before >= 0 {
			f(word{text: s[before : at+n], whole: true}, before)
		}
		before, at = at, at+n
	}
	if _, n := utf8.DecodeRuneInString(s); n == at {
		f(word{text: s[:n], whole: true}, 0)
	}
	return at
}

// letters are those that have no accent to take away and are written without
// them all the same.
var letters = strings.NewReplacer("ß", "ss", "æ", "ae", "œ", "oe", "ø", "o", "đ", "d", "ł", "l", "ı", "i")

// fold takes accents away.
func fold(s string) string {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return letters.Replace(strings.Map(func(r rune) rune {
				if unicode.Is(unicode.Mn, r) {
					return -1
				}
				return r
			}, norm.NFD.String(s)))
		}
	}
	return s
}

// wordsOf returns the folded words of a text.
func wordsOf(text string) []string {
	var all []string
	eachWord(text, func(w word) { all = append(all, fold(w.text)) })
	return all
}
