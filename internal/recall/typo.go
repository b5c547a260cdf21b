package recall

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// A word needs leastTypo letters before it may be one that was mistyped, and
	// twoTypos before two letters may be wrong. Shorter ones are too near to too
	// many others: tall is no talk.
	leastTypo = 5
	twoTypos  = 9
	// mostMeant is how many terms a mistyped one may stand for.
	mostMeant = 3
)

// lookUp finds a term in the index. One that no text has is taken for those that
// it nearly is: one letter more, less, other, or two exchanged.
func (x *Index) lookUp(t term, parts bool, w Weights) []term {
	id, ok := x.terms[t.text]
	if t.id, t.weight = id, 1; ok && x.has(id) {
		return []term{t}
	}
	t.id = -1
	if parts {
		if found := x.parts(t); len(found) > 0 {
			return found
		}
	}
	letters := max(utf8.RuneCountInString(t.text), utf8.RuneCountInString(t.word))
	if w.Typo == 0 || letters < leastTypo || !isLetters(t.text) {
		return []term{t}
	}
	most := 1
	if letters >= twoTypos {
		most = 2
	}
	if found := x.nearly(t, most, w.Typo); len(found) > 0 {
		return found
	}
	return []term{t}
}

// has reports whether a live section has a term.
func (x *Index) has(id int32) bool {
	return slices.ContainsFunc(x.posts[id], func(p posting) bool { return x.sections[p.section()].doc >= 0 })
}

// nearly returns the terms of the index that differ least from t, in at most
// that many letters. Nobody mistypes the first.
func (x *Index) nearly(t term, most int, weight float64) []term {
	var found []term
	asked := []rune(t.text)
	first, _ := utf8.DecodeRuneInString(t.text)
	for text, id := range x.terms {
		if r, _ := utf8.DecodeRuneInString(text); r != first || len(text) > len(t.text)+4*most {
			continue
		}
		if max(len(asked), utf8.RuneCountInString(text)) < leastTypo {
			continue
		}
		d := distance(asked, []rune(text), most)
		if d > most || !isLetters(text) || !x.has(id) {
			continue
		}
		if d < most {
			most, found = d, nil
		}
		found = append(found, term{text: text, word: t.word, id: id, weight: weight})
	}
	slices.SortFunc(found, func(a, b term) int { // the commonest; the map has no order
		return cmp.Or(len(x.posts[b.id])-len(x.posts[a.id]), strings.Compare(a.text, b.text))
	})
	return found[:min(len(found), mostMeant)]
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
