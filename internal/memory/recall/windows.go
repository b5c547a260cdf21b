package recall

import "strings"

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
