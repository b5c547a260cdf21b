package matrix

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	// MostBytes and MostPieces bound what is read of one text: about two pages.
	MostBytes, MostPieces = 16 << 10, 1024
	// longestWord is how many characters a word may have, as in BERT.
	longestWord = 100
	inside      = "##" // begins a piece that does not begin a word
)

// vocabulary finds pieces of words by a table of hashes, which is made ten times as
// fast as a map of strings: a prompt's hook makes it each time.
type vocabulary struct {
	text    string
	starts  []uint32 // of each piece in text, and its end
	table   []uint32 // numbers of pieces, from 1; the length is a power of 2
	longest int      // piece, in bytes
}

func newVocabulary(text string) (*vocabulary, error) {
	v := &vocabulary{text: text, starts: make([]uint32, 1, strings.Count(text, "\n")+1)}
	for at := 0; at < len(text); {
		n := strings.IndexByte(text[at:], '\n')
		if n <= 0 {
			return nil, fmt.Errorf("%w: a piece is empty or has no end", errFile)
		}
		at += n + 1
		v.starts = append(v.starts, uint32(at))
		v.longest = max(v.longest, n)
	}
	size := 2
	for size < 2*v.len() {
		size *= 2
	}
	v.table = make([]uint32, size)
	for id := range uint32(v.len()) {
		piece := v.piece(id)
		h := hash(piece)
		for v.table[h&uint32(size-1)] != 0 {
			h++
		}
		v.table[h&uint32(size-1)] = id + 1
	}
	return v, nil
}

func (v *vocabulary) len() int { return len(v.starts) - 1 }

func (v *vocabulary) piece(id uint32) string { return v.text[v.starts[id] : v.starts[id+1]-1] }

// hash is FNV-1a.
func hash(s string) uint32 {
	h := uint32(2166136261)
	for i := range len(s) {
		h = (h ^ uint32(s[i])) * 16777619
	}
	return h
}

func (v *vocabulary) find(piece string) (uint32, bool) {
	mask := uint32(len(v.table) - 1)
	for h := hash(piece); ; h++ {
		id := v.table[h&mask]
		if id == 0 {
			return 0, false
		}
		if v.piece(id-1) == piece {
			return id - 1, true
		}
	}
}

// ids cuts a text into pieces as BERT does for lower case: accents are taken off,
// punctuation and Chinese characters stand alone. What is not known is left out.
func (v *vocabulary) ids(text string) []uint32 {
	var ids []uint32
	var word strings.Builder
	words := 0
	flush := func() {
		if word.Len() > 0 {
			ids = v.cut(ids, word.String())
			word.Reset()
			words++
		}
	}
	for _, r := range norm.NFD.String(text) {
		switch {
		case unicode.IsSpace(r):
			flush()
		case unicode.In(r, unicode.Mn, unicode.Cc, unicode.Cf, unicode.Co), r == utf8.RuneError:
		case alone(r):
			flush()
			word.WriteRune(unicode.ToLower(r))
			flush()
		default:
			word.WriteRune(unicode.ToLower(r))
		}
		if len(ids) >= MostPieces || words >= MostPieces {
			return ids[:min(len(ids), MostPieces)]
		}
	}
	flush()
	return ids[:min(len(ids), MostPieces)]
}

// alone reports whether a character is a word of its own: each that is no letter,
// digit or space in ASCII, other punctuation, and Chinese ones.
func alone(r rune) bool {
	if r < utf8.RuneSelf {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}
	return unicode.IsPunct(r) || r >= 0x4E00 && r <= 0x9FFF || r >= 0x3400 && r <= 0x4DBF ||
		r >= 0xF900 && r <= 0xFAFF || r >= 0x20000 && r <= 0x2CEAF || r >= 0x2F800 && r <= 0x2FA1F
}

// cut adds the longest pieces that a word consists of, from its beginning on; none
// if something of it is left over.
func (v *vocabulary) cut(ids []uint32, word string) []uint32 {
	if utf8.RuneCountInString(word) > longestWord {
		return ids
	}
	known, before := len(ids), ""
	for word != "" {
		end := min(len(word), v.longest-len(before))
		for ; end > 0; end-- {
			if end < len(word) && !utf8.RuneStart(word[end]) {
				continue
			}
			if id, ok := v.find(before + word[:end]); ok {
				ids = append(ids, id)
				break
			}
		}
		if end == 0 {
			return ids[:known]
		}
		word, before = word[end:], inside
	}
	return ids
}
