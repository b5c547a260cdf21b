package secrets

import (
	"crypto/sha256"
	_ "embed"
	"encoding/json"
	"slices"
	"strings"
	"sync"
)

//go:embed bip39.json
var englishWords []byte

// phraseWords are the 2,048 English words of BIP-39, sorted. The owner's page reads
// the same file.
var phraseWords = sync.OnceValue(func() (words []string) {
	if err := json.Unmarshal(englishWords, &words); err != nil {
		panic(err) // it is part of the program
	}
	return words
})

const (
	minPhrase = 12 // words of the shortest phrase
	maxPhrase = 24
	// maxPhraseGap bounds what stands between two words, in bytes.
	maxPhraseGap = 12
)

// phrase finds the words from which a wallet is made (BIP-39). They are
// everyday words, of which even twelve in a row may come up by chance: their
// checksum tells, or what is said before them.
func (s *scanner) phrase(at int) (Finding, bool) {
	run := s.listWords(at)
	if len(run) < minPhrase {
		return Finding{}, false
	}
	for size := len(run) - len(run)%3; size >= minPhrase; size -= 3 {
		if phraseHolds(run[:size]) {
			return Finding{Kind: "seed phrase", Start: at, End: run[size-1].end}, true
		}
	}
	if s.saidPhrase(at) {
		return Finding{Kind: "seed phrase", Start: at, End: run[len(run)-1].end}, true
	}
	return Finding{}, false
}

// listWord is a word of the list in the text.
type listWord struct{ number, start, end int }

// listWords returns the words of the list that stand one after the other from a
// position on, at most as many as a phrase has. Those that were found for the
// word before are not looked up again.
func (s *scanner) listWords(at int) []listWord {
	for len(s.words) > 0 && s.words[0].start < at {
		s.words = s.words[1:]
	}
	from := at
	if n := len(s.words); n > 0 && s.words[0].start == at {
		from = phraseGap(s.text, s.words[n-1].end)
	} else {
		s.words = s.words[:0]
	}
	for len(s.words) < maxPhrase && from >= 0 && from < len(s.text) {
		end := s.run(alnum, from)
		i := wordNumber(s.text[from:end])
		if i < 0 {
			break
		}
		s.words = append(s.words, listWord{i, from, end})
		from = phraseGap(s.text, end)
	}
	return s.words
}

// wordNumber returns the place of a word in the list, -1 if it is not there.
func wordNumber(word string) int {
	if len(word) < 3 || len(word) > 8 {
		return -1
	}
	i, found := slices.BinarySearch(phraseWords(), strings.ToLower(word))
	if !found {
		return -1
	}
	return i
}

// phraseGap returns where the next word of a phrase begins, -1 if something
// else stands between: spaces, line ends, commas, and numbers of a list may.
func phraseGap(text string, at int) int {
	for end := at; end < len(text) && end-at <= maxPhraseGap; end++ {
		switch c := text[end]; {
		case digit.has(c), strings.IndexByte(" \t\r\n,;|/.)-\"'", c) >= 0:
		case alnum.has(c) && end > at:
			return end
		default:
			return -1
		}
	}
	return -1
}

// phraseHolds checks the sum in the last bits of a phrase.
func phraseHolds(words []listWord) bool {
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

// saidPhrase reports whether the words before a phrase say that it is one.
func (s *scanner) saidPhrase(at int) bool {
	before := strings.ToLower(s.text[max(0, at-wordsBefore):at])
	said := []string{"seed", "mnemonic", "recovery", "backup phrase", "secret phrase", "wallet", "bip39", "bip-39"}
	return slices.ContainsFunc(said, func(word string) bool { return strings.Contains(before, word) })
}
