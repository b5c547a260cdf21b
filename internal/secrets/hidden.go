package secrets

import (
	encoding "encoding/base64"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/btcsuite/btcd/btcutil/bech32"
)

// Values that were taken apart or wrapped, on purpose or by a program.

// separator returns how long the separator at a position is, 0 if there is
// none: space, a line end, a sign with which values are split, joined or quoted, or a
// character without width.
func separator(text string, at int) int {
	if at >= len(text) {
		return 0
	}
	if strings.IndexByte(" \t\r\n.,:;-_|/*+='\"", text[at]) >= 0 {
		return 1
	}
	switch r, size := utf8.DecodeRuneInString(text[at:]); r {
	case '\u00ad', '\u200b', '\u200c', '\u200d', '\u2060', '\ufeff', '\u00a0', '\u202f':
		return size
	}
	return 0
}

// Tags is the kind of a text in tag characters (U+E0000 to U+E007F): a person sees
// nothing of it, and a model reads it.
const Tags = "tag characters, which show nothing"

// tagLead is the first byte of each tag character.
const tagLead = '\xf3'

// tags finds a run of tag characters that is no flag: a black flag, three to six of the
// tags of letters and digits, and the one that ends it.
func (s *scanner) tags(at int) (Finding, bool) {
	const flag, last = "\U0001f3f4", '\U000e007f'
	if at < s.flagEnd {
		return Finding{}, false
	}
	end, size, code := at, 0, strings.HasSuffix(s.text[:at], flag)
	for r := rune(0); ; end += size {
		if r, size = utf8.DecodeRuneInString(s.text[end:]); r>>7 != last>>7 {
			return Finding{Kind: Tags, Start: at, End: end}, end > at
		}
		if n := end - at; code && r == last && n >= 3*size && n <= 6*size {
			s.flagEnd = end + size
			return Finding{}, false
		}
		c := r & 0x7f
		code = code && (c >= '0' && c <= '9' || c >= 'a' && c <= 'z')
	}
}

// maxSeparators bounds what stands between two characters of a value.
const maxSeparators = 8

// brokenKey finds an nsec with something between its characters, by its
// checksum.
func (s *scanner) brokenKey(at int) (Finding, bool) {
	const human, size = "nsec1", len("nsec1") + 58
	if s.text[at]|0x20 != human[0] {
		return Finding{}, false
	}
	var key [size]byte
	n, end := 0, at
	for from := at; n < size; {
		for range maxSeparators {
			if n > 0 {
				from += separator(s.text, from)
			}
		}
		if from >= len(s.text) || n < len(human) && s.text[from]|0x20 != human[n] || n >= len(human) && !bech.has(s.text[from]) {
			return Finding{}, false
		}
		key[n] = s.text[from] | 0x20
		n++
		from++
		end = from
	}
	if end < len(s.text) && alnum.has(s.text[end]) || !bechHolds(string(key[:])) {
		return Finding{}, false
	}
	return Finding{Kind: "Nostr secret key", Start: at, End: end}, true
}

// reversedKey finds an nsec that is written backwards.
func (s *scanner) reversedKey(at int) (Finding, bool) {
	end := s.run(alnum, at)
	if end-at != len("nsec1")+58 || s.text[end-1]|0x20 != 'n' {
		return Finding{}, false
	}
	key := []byte(strings.ToLower(s.text[at:end]))
	slices.Reverse(key)
	if !strings.HasPrefix(string(key), "nsec1") || !bechHolds(string(key)) {
		return Finding{}, false
	}
	return Finding{Kind: "Nostr secret key", Start: at, End: end}, true
}

// bechHolds checks the sum of a bech32 text (BIP-173) in lower case.
func bechHolds(text string) bool {
	_, _, version, err := bech32.DecodeGeneric(text)
	return err == nil && version == bech32.Version0
}

// groupedHex finds 64 hex digits in groups of one size with signs or line ends
// between them, as code writes bytes too, beside a word that says that they are secret.
func (s *scanner) groupedHex(at int) (Finding, bool) {
	const digits = 64
	start := at + marker(s.text, at)
	if at > 0 && s.text[at-1] == '\\' && s.text[at] == 'x' {
		start = at + 1
	}
	size := 0
	for size < digits && start+size < len(s.text) && hex.has(s.text[start+size]) {
		size++
	}
	if size < 2 || size > 32 || digits%size != 0 {
		return Finding{}, false
	}
	end, between := start+size, ""
	for range digits/size - 1 {
		next := end
		for range maxSeparators {
			next += separator(s.text, next)
		}
		next += marker(s.text, next)
		if next == end || !hexGroup(s.text, next, size) {
			return Finding{}, false
		}
		between, end = s.text[end:next], next+size
	}
	if end < len(s.text) && (alnum.has(s.text[end]) || strings.HasPrefix(s.text[end:], between) && hexGroup(s.text, end+len(between), size)) {
		return Finding{}, false
	}
	if distinct(s.text[start:end]) < 8 || !s.saidSecret(at, end) {
		return Finding{}, false
	}
	return Finding{Kind: "secret key in hex", Start: start, End: end}, true
}

// marker returns how long what code writes before a byte in hex is, 0 if there is none.
func marker(text string, at int) int {
	for _, mark := range []string{"0x", "0X", `\x`} {
		if strings.HasPrefix(text[at:], mark) {
			return len(mark)
		}
	}
	return 0
}

// hexGroup reports whether so many hex digits, and no more, stand at a
// position.
func hexGroup(text string, at, size int) bool {
	for i := range size {
		if at+i >= len(text) || !hex.has(text[at+i]) {
			return false
		}
	}
	return at+size >= len(text) || !hex.has(text[at+size])
}

// minEncoded is the least length of base64 that is looked into: the shortest
// tokens have 24 characters.
const minEncoded = 32

// encoded finds a secret in text that is written in base64. Anything that is no
// text inside (images, keys, ciphertext) tells nothing.
func (s *scanner) encoded(at int) (Finding, bool) {
	if s.inside || at > 0 && base64Char(s.text[at-1]) {
		return Finding{}, false
	}
	end := at
	for end < len(s.text) && base64Char(s.text[end]) {
		end++
	}
	if end-at < minEncoded {
		return Finding{}, false
	}
	code := strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(s.text[at:end], "="))
	if len(code)%4 == 1 { // a single digit too many is no byte
		code = code[:len(code)-1]
	}
	plain, err := encoding.RawStdEncoding.DecodeString(code)
	if err != nil || !printable(plain) {
		return Finding{}, false
	}
	inner := scanner{text: string(plain), inside: true}
	found := inner.all()
	if len(found) == 0 {
		return Finding{}, false
	}
	return Finding{Kind: found[0].Kind + " in base64", Start: at, End: end}, true
}

func base64Char(c byte) bool { return alnum.has(c) || strings.IndexByte("+/-_=", c) >= 0 }

func printable(text []byte) bool {
	for _, c := range text {
		if c < ' ' && c != '\n' && c != '\r' && c != '\t' || c >= 0x7f {
			return false
		}
	}
	return len(text) > 0
}
