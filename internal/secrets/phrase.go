package secrets

import (
	"crypto/sha256"
	_ "embed"
	"slices"
	"strings"
	"sync"
)

//go:embed bip39.json
var englishWords []byte

// phraseWords are the 2,048 English words of BIP-39, sorted. The owner's page reads
// the same file.
var phraseWords = sync.OnceValue(func() []string { return read[[]string](englishWords) })

const (
	minPhrase = 12 // words of the shortest phrase
	maxPhrase = 24
	// moreWords is how many words of the list may stand around a phrase: a longer run
	// is a log or a list, in which sums come up by chance.
	moreWords = 4
	// maxPhraseGap bounds what stands between two words, in bytes.
	maxPhraseGap = 12
	maxWord      = 8 // bytes of the longest word of the list
)

// phrase finds the words from which a wallet is made (BIP-39). They are everyday
// words, of which even twelve in a row may come up by chance: their checksum tells, or
// that they are called so. A run of words is looked at once, as a whole.
func (s *scanner) phrase(at int) (Finding, bool) {
	if at >= s.wordsEnd {
		s.phrases = s.phrasesFrom(at)
	}
	for len(s.phrases) > 0 {
		words := s.phrases[0]
		s.phrases = s.phrases[1:]
		if start := words[0].start; start >= at {
			return Finding{Kind: "seed phrase", Start: start, End: words[len(words)-1].end}, true
		}
	}
	return Finding{}, false
}

// phrasesFrom returns the phrases in the run of words that begins at a position: the
// one that is called so, and those behind it whose checksums hold.
func (s *scanner) phrasesFrom(at int) (found [][]listWord) {
	run, counted := s.listWords(at)
	if from, size := s.calledPhrase(run); size > 0 {
		found, run = append(found, run[from:from+size]), run[from+size:]
	}
	if counted && len(run) >= minPhrase {
		found = append(found, summed(run)...)
	}
	return found
}

// summed returns the phrases of a run whose checksums hold: that or those two which it
// is, with a few words more at most, else those of its lines and items.
func summed(run []listWord) (found [][]listWord) {
	if found = summedWhole(run); found != nil {
		return found
	}
	for from, to := 0, 1; from < len(run); from, to = to, to+1 {
		for to < len(run) && !run[to].apart {
			to++
		}
		if to-from >= minPhrase && to-from < len(run) {
			found = append(found, summedWhole(run[from:to])...)
		}
	}
	return found
}

// summedWhole returns the phrase or the two phrases that a run is, or its first part
// without a few words that is one, the longest there.
func summedWhole(run []listWord) [][]listWord {
	for size := minPhrase; size <= min(maxPhrase, len(run)-minPhrase); size += 3 {
		if !phraseHolds(run) && phraseHolds(run[:size]) && phraseHolds(run[size:]) {
			return [][]listWord{run[:size], run[size:]}
		}
	}
	for from := range min(moreWords+1, len(run)) {
		for size := maxPhrase; size >= minPhrase && size >= len(run)-moreWords; size -= 3 {
			if from+size <= len(run) && phraseHolds(run[from:from+size]) {
				return [][]listWord{run[from : from+size]}
			}
		}
	}
	return nil
}

// listWord is a word of the list in the text; apart from the one before it if more
// than blanks stand between, such as the line end between two items.
type listWord struct {
	number, start, end int
	apart              bool
}

// listWords returns the words of the list that stand one after the other from a
// position on, and whether the numbers between them count up, if there are any. Where
// they begin again behind a whole phrase, another run does.
func (s *scanner) listWords(at int) (run []listWord, counted bool) {
	last, apart := 0, false
	counted = true
	for from := at; from >= 0 && from < len(s.text); {
		end := s.run(alnum, from)
		i := wordNumber(s.text[from:end])
		if i < 0 {
			break
		}
		s.wordsEnd = end
		run = append(run, listWord{i, from, end, apart})
		next, n := phraseGap(s.text, end)
		if n >= 0 && n <= min(last, 1) && len(run) >= minPhrase {
			break
		}
		if n >= 0 {
			counted, last = counted && n > last, n
		}
		from, apart = next, next > 0 && strings.Trim(s.text[end:next], " \t") != ""
	}
	return run, counted
}

// runAcross returns where the run of words begins that goes on across a position, at
// most besideWords before it; else the position.
func runAcross(text string, at int) int {
	s := scanner{text: text}
	for from := max(0, at-besideWords); from < at; from++ {
		if from < s.wordsEnd || !alnum.has(text[from]) || from > 0 && alnum.has(text[from-1]) {
			continue
		}
		if s.listWords(from); s.wordsEnd > at {
			return from
		}
	}
	return at
}

func different(run []listWord) int {
	met := map[int]bool{}
	for _, w := range run {
		met[w.number] = true
	}
	return len(met)
}

// wordNumber returns the place of a word in the list, -1 if it is not there.
func wordNumber(word string) int {
	if len(word) < 3 || len(word) > maxWord {
		return -1
	}
	i, found := slices.BinarySearch(phraseWords(), strings.ToLower(word))
	if !found {
		return -1
	}
	return i
}

// phraseGap returns where the next word of a phrase begins, -1 if something else
// stands between: spaces, line ends, commas, and a number of a list may, as it does
// not in dates. n is that number, -1 for none.
func phraseGap(text string, at int) (next, n int) {
	n = -1
	for end := at; end < len(text) && end-at <= maxPhraseGap; end++ {
		switch c := text[end]; {
		case digit.has(c) && n < 0:
			n = int(c - '0')
		case digit.has(c) && n < 10 && digit.has(text[end-1]) && !digit.has(text[end-2]):
			n = 10*n + int(c-'0')
		case c == '\n' && strings.IndexByte(text[at:end], c) >= 0: // another paragraph
			return -1, -1
		case strings.IndexByte(" \t\r\n,;|/)-*`[]\"'", c) >= 0, (c == ':' || c == '.') && n >= 0:
		case alnum.has(c) && !digit.has(c) && end > at:
			return end, n
		default:
			return -1, -1
		}
	}
	return -1, -1
}

// phraseHolds checks the sum in the last bits of a phrase, of which most words differ.
func phraseHolds(words []listWord) bool {
	if len(words) < minPhrase || len(words) > maxPhrase || len(words)%3 != 0 || 5*different(words) < 4*len(words) {
		return false
	}
	var bits [maxPhrase * 11 / 8]byte // 33 bytes hold 264 bits
	for i, w := range words {
		for b := range 11 {
			if at := 11*i + b; w.number>>(10-b)&1 == 1 {
				bits[at/8] |= 0x80 >> (at % 8)
			}
		}
	}
	size := len(words) * 11 * 32 / 33 / 8 // bytes of entropy; the rest is the sum
	sum := sha256.Sum256(bits[:size])
	check := len(words) / 3 // bits of it
	return bits[size]>>(8-check) == sum[0]>>(8-check)
}

// calledPhrase returns the part of a run that is called a phrase by a word before it,
// behind it, or among the first or last of the run; half of it may be repeated.
func (s *scanner) calledPhrase(run []listWord) (from, size int) {
	if len(run) < minPhrase {
		return 0, 0
	}
	for i := min(moreWords, len(run)-minPhrase); i >= 0 && size == 0; i-- {
		if start := run[i].start; called(s.text[max(0, start-wordsBefore):start]) {
			from, size = i, min(len(run)-i, maxPhrase)
		}
	}
	last := run[max(minPhrase, len(run)-moreWords)-1].end
	if size == 0 && len(run) <= maxPhrase+moreWords && called(s.text[last:min(len(s.text), s.wordsEnd+wordsAfter)]) {
		size = min(len(run), maxPhrase)
	}
	if 2*different(run[from:from+size]) < size {
		return 0, 0
	}
	return from, size
}

// called reports whether words say that a phrase is beside them.
func called(words string) bool {
	words = strings.ToLower(words)
	said := []string{"seed", "mnemonic", "recovery", "backup phrase", "secret phrase", "wallet", "bip39", "bip-39"}
	return slices.ContainsFunc(said, func(word string) bool { return strings.Contains(words, word) })
}
