package recall

import (
	"slices"
	"strings"
)

var (
	dayWords    = setOf(`yesterday today tonight tomorrow recently since ago`)
	lastWords   = setOf(`week weekend month year night summer winter spring fall autumn monday tuesday wednesday thursday friday saturday sunday mon tue wed thu fri sat sun`)
	thisWords   = setOf(`week weekend month year morning past`)
	spanWords   = setOf(`days weeks months years`)
	monthWords  = strings.Fields(`january february march april may june july august september october november december`)
	severalWord = setOf(`few couple`)
)

// month returns the number of a month by its name or the first three letters
// of it, 0 if it is none.
func month(w string) int {
	return 1 + slices.IndexFunc(monthWords, func(m string) bool { return w == m || len(w) == 3 && strings.HasPrefix(m, w) })
}

// year returns a year of the last century or this one, 0 if it is none.
func year(w string) int {
	if len(w) != 4 || !strings.HasPrefix(w, "19") && !strings.HasPrefix(w, "20") {
		return 0
	}
	return small(w)
}

// small reads a number of at most four digits, 0 if it is none.
func small(w string) int {
	n := 0
	for i := range len(w) {
		if w[i] < '0' || w[i] > '9' || i == 4 {
			return 0
		}
		n = n*10 + int(w[i]-'0')
	}
	return n
}

// timely reports whether a text has an expression of time.
func timely(text string) bool {
	w := wordsOf(text)
	at := func(i int) string {
		if i < len(w) {
			return w[i]
		}
		return ""
	}
	for i, x := range w {
		switch next := at(i + 1); {
		case dayWords[x], year(x) != 0, slices.Contains(monthWords, x):
			return true
		case x == "last" && lastWords[next], x == "this" && thisWords[next], x == "next" && next != "":
			return true
		case severalWord[x] && (spanWords[next] || next == "of" && spanWords[at(i+2)]):
			return true
		case x == "for" && (spanWords[next] || spanWords[at(i+2)]) && next != "days":
			return true
		}
	}
	return false
}

const (
	// A window of a prompt has leastWindow to mostWindow words where sentences
	// allow it, and of a long prompt mostWindows are read: from its beginning and
	// its end, where people ask.
	leastWindow = 12
	mostWindow  = 20
	mostWindows = 24
)

// windows divides a prompt into sentences, short ones together and long ones
// apart. One window is the whole prompt.
func windows(text string) []string {
	var all []string
	var current strings.Builder
	words := 0
	flush := func() {
		if words > 0 {
			all = append(all, current.String())
		}
		current.Reset()
		words = 0
	}
	for line := range strings.Lines(text) {
		for _, sentence := range sentences(line) {
			for _, part := range splitLong(sentence) {
				n := countWords(part)
				if words > 0 && words+n > mostWindow {
					flush()
				}
				current.WriteString(part)
				if words += n; words >= leastWindow {
					flush()
				}
			}
		}
	}
	flush()
	if len(all) > mostWindows {
		all = append(all[:mostWindows/2:mostWindows/2], all[len(all)-mostWindows/2:]...)
	}
	return all
}

// splitLong divides a sentence of more than mostWindow words.
func splitLong(sentence string) []string {
	var all []string
	for n := countWords(sentence); n > mostWindow; {
		head, rest := splitWords(sentence, mostWindow)
		if rest == "" {
			break
		}
		n -= countWords(head)
		all, sentence = append(all, head), rest
	}
	return append(all, sentence)
}
