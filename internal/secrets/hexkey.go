package secrets

import (
	"slices"
	"strings"
)

// How far from a key the words are that count, in bytes.
const (
	wordsBefore = 64
	wordsAfter  = 32
)

// hexKey finds 64 hex digits, or 128 as of Ed25519, beside a word that says
// that they are secret. Of the words before them the nearest that says anything
// counts, so that a public key, an id or a hash beside a secret one passes.
func (s *scanner) hexKey(at int) (Finding, bool) {
	from := at
	if strings.HasPrefix(s.text[at:], "0x") || strings.HasPrefix(s.text[at:], "0X") {
		from += 2
	}
	end := s.run(hex, from)
	if size := end - from; size != 64 && size != 128 || end < len(s.text) && alnum.has(s.text[end]) {
		return Finding{}, false
	}
	if placeholder(s.text[from:end]) || !s.saidSecret(at, end) {
		return Finding{}, false
	}
	return Finding{Kind: "secret key in hex", Start: from, End: end}, true
}

// saidSecret looks at the line before a value; if there is no word in it, at
// the line before that; and if nothing before says anything, at what follows.
func (s *scanner) saidSecret(start, end int) bool {
	before := lastLine(s.text[max(0, start-wordsBefore):start])
	if strings.IndexFunc(before, isLetter) < 0 {
		above := s.text[max(0, start-len(before)-1-wordsBefore):max(0, start-len(before)-1)]
		before = lastLine(strings.TrimRight(above, " \t\r\n"))
	}
	words := wordsOf(before)
	for i := len(words) - 1; i >= 0; i-- {
		previous := ""
		if i > 0 {
			previous = words[i-1]
		}
		switch meaningOf(words[i], previous, i == len(words)-1) {
		case saysSecret:
			return true
		case saysPublic:
			return false
		}
	}
	after, _, _ := strings.Cut(s.text[end:min(len(s.text), end+wordsAfter)], "\n")
	if !explains(after) {
		return false
	}
	previous := ""
	for _, w := range wordsOf(after) {
		if m := meaningOf(w, previous, false); m != saysNothing {
			return m == saysSecret
		}
		previous = w
	}
	return false
}

// explains reports whether what follows a value begins to say what it is. The
// name of a file beside its digest, and the rest of a URI, do not.
func explains(after string) bool {
	text := strings.TrimLeft(after, " \t")
	signs := []string{"(", "=", "#", "//", "- ", "-- ", "– ", "— ", "<-", "is "}
	return slices.ContainsFunc(signs, func(sign string) bool { return strings.HasPrefix(text, sign) })
}

func lastLine(text string) string { return text[strings.LastIndexByte(text, '\n')+1:] }

func isLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }

// wordsOf splits a text into words in lower case, names in camel case too.
func wordsOf(text string) []string {
	var words []string
	start := -1
	for i := 0; i <= len(text); i++ {
		inside := i < len(text) && alnum.has(text[i])
		hump := inside && start >= 0 && text[i] >= 'A' && text[i] <= 'Z' && text[i-1] >= 'a' && text[i-1] <= 'z'
		if start >= 0 && (!inside || hump) {
			words = append(words, strings.ToLower(text[start:i]))
			start = -1
		}
		if inside && start < 0 {
			start = i
		}
	}
	return words
}

type meaning int

const (
	saysNothing meaning = iota
	saysSecret
	saysPublic
)

// meaningOf returns what a word says of the value beside it; next is whether no
// other word stands between them.
func meaningOf(word, previous string, next bool) meaning {
	switch word {
	case "secret", "secrets", "secretkey", "seckey", "sk", "private", "priv", "privatekey", "privkey", "prvkey", "nsec", "seed",
		"token", "apikey", "password", "passwd", "passphrase", "credential", "credentials":
		return saysSecret
	case "key":
		switch previous {
		case "api", "access", "encryption", "decryption", "master", "signing", "symmetric", "conversation", "aes", "hmac":
			return saysSecret
		case "public":
			return saysPublic
		}
	case "id", "ids", "hash", "hashes", "sha", "sha256", "digest", "checksum", "commit", "pubkey", "pubkeys", "public", "pub", "pk",
		"npub", "txid", "tx", "sig", "signature", "fingerprint":
		return saysPublic
	case "event", "note", "engram", "contract", "block", "image", "layer", "file", "blob", "e", "p", "d", "x", "q":
		if next { // "secret of event …" gives the event
			return saysPublic
		}
	}
	return saysNothing
}
