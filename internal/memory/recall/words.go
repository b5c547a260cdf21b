package recall

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxWord is the length of the longest word that counts, in bytes. A longer run
// of letters is data.
const maxWord = 64

// word is a word of a text in the form in which words are compared: lower case,
// normalised (NFKC), without the rest of an apostrophe.
type word struct {
	text string
	// full is the word with the rest of its apostrophe; "" without one.
	full string
	// upper says that the word begins with a capital.
	upper bool
	// whole says that the word is a term as it is, without a stem: characters of a
	// script without blanks, a symbol, an identifier beside its parts.
	whole bool
	// extra says that the word stands beside others of the same place, and adds no
	// length to a text: a single character beside pairs, an identifier.
	extra bool
}

// eachWord calls f with the words of a text in order. They are runs of letters
// and digits. An identifier (camelCase, snake_case, kebab-case, ABC123) gives its
// parts and itself. Scripts without blanks give every two characters that follow
// each other, and each character.
func eachWord(text string, f func(word)) { eachPlace(text, func(w word, _ int) { f(w) }) }

// eachPlace is eachWord with the byte at which each word begins.
func eachPlace(text string, f func(w word, at int)) {
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case unbroken(r):
			i += characters(text[i:], func(w word, at int) { f(w, i+at) })
		case wordRune(r):
			i += identifier(text[i:], func(w word, at int) { f(w, i+at) })
		case unicode.Is(unicode.So, r) && r != utf8.RuneError:
			f(word{text: text[i : i+n], whole: true}, i)
			i += n
		default:
			i += n
		}
	}
}

// identifier reads a word or identifier at the beginning of s and returns its length.
func identifier(s string, f func(w word, at int)) int {
	var joined strings.Builder
	parts, end := 0, 0
	piece := func(from, to int) {
		text := narrow(s[from:to])
		for _, cut := range cuts(text) {
			emit(text[cut[0]:cut[1]], "", func(w word) { f(w, min(from+cut[0], to-1)) })
			parts++
		}
		joined.WriteString(s[from:to])
	}
	for from := 0; ; from = end + 1 {
		end = from + lettersIn(s[from:])
		if suffix := apostrophe(s[end:]); parts == 0 && suffix > 0 && suffix <= maxSuffix { // it's, Rotterdam'a; in l'orage a word follows
			emit(s[:end], s[:end+suffix], func(w word) { f(w, 0) })
			return end + suffix
		}
		piece(from, end)
		if next := end + 1; next >= len(s) || s[end] != '_' && s[end] != '-' || lettersIn(s[next:]) == 0 || end > maxWord {
			break
		}
	}
	if parts > 1 && joined.Len() <= maxWord && strings.ContainsFunc(joined.String(), unicode.IsLetter) {
		emit(joined.String(), "", func(w word) { w.whole, w.extra, w.text = true, true, fold(w.text); f(w, 0) })
	}
	return end
}

// maxSuffix is how many bytes an apostrophe and what follows it may have to be an
// ending and not a word.
const maxSuffix = len("’re")

// lettersIn returns the length of the letters and digits at the beginning of s.
func lettersIn(s string) int {
	end := 0
	for end < len(s) {
		r, n := utf8.DecodeRuneInString(s[end:])
		if !wordRune(r) || unbroken(r) {
			break
		}
		end += n
	}
	return end
}

// apostrophe returns the length of an apostrophe and the letters behind it; 0 if
// s does not begin with one.
func apostrophe(s string) int {
	r, n := utf8.DecodeRuneInString(s)
	if r != '\'' && r != '’' {
		return 0
	}
	return n + lettersIn(s[n:])
}

// cuts divides an identifier where its case changes and between at least two
// letters and two digits.
func cuts(s string) [][2]int {
	var all [][2]int
	from := 0
	kind := func(i int) byte {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z':
			return 'a'
		case c >= 'A' && c <= 'Z':
			return 'A'
		case c >= '0' && c <= '9':
			return '0'
		}
		return 0 // not of ASCII: no identifier's
	}
	for i := 1; i < len(s); i++ {
		a, b := kind(i-1), kind(i)
		camel := a == 'a' && b == 'A' || a == 'A' && b == 'A' && i+1 < len(s) && kind(i+1) == 'a' && i-from > 1
		number := !ordinal(s[i:]) && (a == '0') != (b == '0') && a != 0 && b != 0 && i-from >= 2 && len(s)-i >= 2 && (kind(i+1) == '0') == (b == '0') && (kind(i-2) == '0') == (a == '0')
		if camel || number {
			all = append(all, [2]int{from, i})
			from = i
		}
	}
	return append(all, [2]int{from, len(s)})
}

// ordinal reports whether letters behind digits are those of 15th.
func ordinal(s string) bool { return s == "st" || s == "nd" || s == "rd" || s == "th" }

func emit(s, full string, f func(word)) {
	if len(s) > maxWord {
		return
	}
	first, _ := utf8.DecodeRuneInString(s)
	w := word{text: normal(s), upper: unicode.IsUpper(first)}
	if len(w.text) > maxWord || unicode.IsMark(first) && fold(w.text) == "" { // some characters become many; marks alone are no word
		return
	}
	if full != "" {
		w.full = strings.ReplaceAll(strings.ToLower(full), "’", "'")
	}
	f(w)
}

// narrow makes letters of full width those that identifiers are of.
func narrow(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return r >= 0xFF00 }) {
		return norm.NFKC.String(s)
	}
	return s
}

// normal is a word in lower case, with characters of full and half width as one.
func normal(s string) string {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return norm.NFKC.String(strings.ToLower(norm.NFKC.String(s)))
		}
	}
	return strings.ToLower(s)
}

func wordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

// unbroken reports whether words of a character's script are not divided by
// blanks, or end in particles (Korean).
func unbroken(r rune) bool {
	return r >= 0x0E00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Hangul)
}

// characters calls f with the characters of the run at the beginning of s, alone
// and in pairs, and returns the length of the run.
func characters(s string, f func(w word, at int)) int {
	end := 0
	for end < len(s) {
		r, n := utf8.DecodeRuneInString(s[end:])
		if !unbroken(r) && !(end > 0 && r == 'ー') {
			break
		}
		end += n
	}
	text, moved := s[:end], false
	if n := norm.NFKC.String(text); n != text { // half-width: places within the run are not known
		text, moved = n, true
	}
	before := -1
	for at, r := range text {
		place := at
		if moved {
			place = 0
		}
		if before >= 0 {
			start := before
			if moved {
				start = 0
			}
			f(word{text: text[before : at+utf8.RuneLen(r)], whole: true}, start)
		}
		f(word{text: string(r), whole: true, extra: utf8.RuneLen(r) < len(text)}, place)
		before = at
	}
	return end
}

// letters are those that have no accent to take away and are written without
// them all the same.
var letters = strings.NewReplacer("ß", "ss", "æ", "ae", "œ", "oe", "ø", "o", "đ", "d", "ł", "l", "ı", "i")

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

// wordsOf returns the folded words of a text, each place once.
func wordsOf(text string) []string {
	var all []string
	eachWord(text, func(w word) {
		if !w.extra {
			all = append(all, fold(w.text))
		}
	})
	return all
}
