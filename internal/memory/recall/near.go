package recall

import (
	"math/bits"
	"slices"
	"unicode/utf8"
)

const (
	// A word needs leastTypo letters before it may be one that was mistyped, and
	// twoTypos before two letters may be wrong. Shorter ones are too near to too
	// many others: tall is no talk.
	leastTypo = 5
	twoTypos  = 9
	// leastGrams is how many letters a word needs to be compared by groups of
	// three letters, and alike the least share of these that two words have in
	// common (Dice): inflections, compounds, cognates.
	leastGrams = 4
	alikeGrams = 0.5
	// wContained is how much a word counts that another one contains.
	wContained = 0.75
)

// nearly returns the terms of the index that are nearest to a word which no text
// has: mistyped, inflected, part of a compound, or of a language beside its own.
func (k *lookups) nearly(w string, l language) []variant {
	folded := fold(w)
	if n := utf8.RuneCountInString(folded); k.typo == 0 || n < leastGrams || !isLetters(folded) {
		return nil
	}
	words, stems := k.x.vocabulary(), []*shapes{shapesOf(folded, l.stem(w))}
	if main := k.x.mainLanguage(); main != l && main.stem(w) != l.stem(w) {
		stems = append(stems, shapesOf(folded, main.stem(w)))
	}
	var found []variant
	for i, text := range words.texts {
		near := 0.
		for _, s := range stems {
			if shares := s.shares(words.pairs[i]); shares || s.mistyped(text) {
				near = max(near, s.near([]rune(text), shares))
			}
		}
		if near > 0 && k.has(words.ids[i]) {
			found = append(found, variant{text, words.ids[i], k.typo * near})
		}
	}
	found = k.x.commonest(found, mostMeant)
	for i := range found { // what is much nearer stands alone
		if found[i].weight < 0.8*found[0].weight {
			return found[:i]
		}
	}
	return found
}

// mainLanguage is that of most sections.
func (x *inverted) mainLanguage() language {
	main := theEnglish
	for l, n := range x.langs {
		if n > x.langs[main] {
			main = language(l)
		}
	}
	return main
}

// shapes is a word in the forms in which it is compared.
type shapes struct {
	word  []rune
	stem  []rune
	grams []uint32 // of the stem, sorted
	seen  uint64   // bits of the pairs of letters of the word
	first byte     // of the word
	bytes int      // of the word
}

func shapesOf(w, stem string) *shapes {
	s := &shapes{word: []rune(w), stem: []rune(stem), first: w[0], bytes: len(w)}
	s.grams = gramsOf(s.stem)
	s.seen = pairsOf(w)
	return s
}

// vocabulary are the terms that a word may be near to, with the pairs of letters that
// each has: of all others most are passed over by these.
type vocabulary struct {
	of    int // so many terms the index had
	texts []string
	ids   []int32
	pairs []uint64
}

func (x *inverted) vocabulary() *vocabulary {
	if v := x.near.Load(); v != nil && v.of == len(x.posts) {
		return v
	}
	v := &vocabulary{of: len(x.posts)}
	for text, id := range x.terms {
		if len(text) >= leastPart && len(text) <= maxWord && isLetters(text) {
			v.texts, v.ids, v.pairs = append(v.texts, text), append(v.ids, id), append(v.pairs, pairsOf(text))
		}
	}
	x.near.Store(v)
	return v
}

// mistyped reports whether a word may be a term that was mistyped: it begins alike,
// and is about as long.
func (s *shapes) mistyped(text string) bool {
	return text[0] == s.first && len(text) <= s.bytes+2*utf8.UTFMax && s.bytes <= len(text)+2*utf8.UTFMax
}

// shares reports whether a term with these pairs of letters has enough of the word's to
// be like it.
func (s *shapes) shares(pairs uint64) bool {
	both := bits.OnesCount64(s.seen & pairs)
	return both >= 2 && 5*both >= 2*min(bits.OnesCount64(s.seen), bits.OnesCount64(pairs))
}

// near is how near a term is, 0 to 1; 0 for not at all. One that shares too few pairs
// can only be mistyped.
func (s *shapes) near(t []rune, shares bool) float64 {
	most := 0
	switch n := max(len(s.stem), len(t)); {
	case n >= twoTypos:
		most = 2
	case n >= leastTypo:
		most = 1
	}
	if most > 0 && t[0] == s.word[0] { // the first letter is never mistyped
		if differ(s.stem, t, most) || differ(s.word, t, most) {
			return 1
		}
	}
	short, long := min(len(t), len(s.stem)), max(len(t), len(s.stem))
	if short < leastPart || !shares {
		return 0
	}
	dice := 0.
	if short >= leastGrams && (contains(t, s.stem) || contains(s.stem, t)) {
		dice = wContained
	}
	if 3*short >= long { // else they cannot have half of their groups in common
		other := gramsOf(t)
		dice = max(dice, 2*float64(shared(s.grams, other))/float64(len(s.grams)+len(other)))
	}
	if dice < alikeGrams {
		return 0
	}
	return dice
}

// differ reports whether two words differ by at most that many letters.
func differ(a, b []rune, most int) bool {
	return len(a) <= len(b)+most && len(b) <= len(a)+most && distance(a, b, most) <= most
}

// contains reports whether a word begins or ends with another.
func contains(a, b []rune) bool {
	return len(a) >= len(b) && (slices.Equal(a[:len(b)], b) || slices.Equal(a[len(a)-len(b):], b))
}

// gramsOf returns the groups of three letters of a word, sorted, with its
// beginning.
func gramsOf(w []rune) []uint32 {
	all := make([]uint32, 0, len(w))
	a, b := rune(0), rune('^')
	for _, r := range w {
		if a != 0 {
			all = append(all, uint32(a)*31*31+uint32(b)*31+uint32(r))
		} else {
			all = append(all, uint32(b)*31+uint32(r))
		}
		a, b = b, r
	}
	slices.Sort(all)
	return all
}

func shared(a, b []uint32) int {
	n := 0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			n, i, j = n+1, i+1, j+1
		case a[i] < b[j]:
			i++
		default:
			j++
		}
	}
	return n
}

// pairsOf marks the pairs of bytes of a word in 64 bits.
func pairsOf(w string) uint64 {
	var seen uint64
	for i := 1; i < len(w); i++ {
		seen |= 1 << ((uint32(w[i-1])*0x9E3779B1 + uint32(w[i])*0x85EBCA6B) >> 26)
	}
	return seen
}

// distance returns how many letters are wrong (Damerau and Levenshtein, two
// neighbours exchanged being one), or more than most.
func distance(a, b []rune, most int) int {
	if len(b) > maxWord || len(a) > len(b)+most || len(b) > len(a)+most {
		return most + 1
	}
	var space [3][maxWord + 1]int
	two, one, now := &space[0], &space[1], &space[2]
	for j := range b {
		one[j+1] = j + 1
	}
	for i := 1; i <= len(a); i++ {
		now[0] = i
		least := i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			now[j] = min(one[j]+1, now[j-1]+1, one[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				now[j] = min(now[j], two[j-2]+1)
			}
			least = min(least, now[j])
		}
		if least > most {
			return least
		}
		two, one, now = one, now, two
	}
	return one[len(b)]
}
