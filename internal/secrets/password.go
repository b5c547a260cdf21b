package secrets

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

// Bounds of what is looked at for a password, in bytes.
const (
	maxScheme   = 24
	maxUserInfo = 256
	maxWhose    = 40 // between "password" and what it is
	maxPassword = 128
)

// addressPassword finds the password in a URI: scheme://user:password@host.
func (s *scanner) addressPassword(at int) (Finding, bool) {
	scheme, _, found := strings.Cut(s.text[at:min(len(s.text), at+maxScheme+3)], "://")
	if !found || strings.ContainsFunc(scheme, func(r rune) bool { return r > 0x7f || !alnum.has(byte(r)) && r != '+' && r != '-' && r != '.' }) {
		return Finding{}, false
	}
	from := at + len(scheme) + len("://")
	info := s.text[from:min(len(s.text), from+maxUserInfo)]
	stop := strings.IndexAny(info, "/?# \t\r\n\"'`<>")
	if stop >= 0 {
		info = info[:stop]
	}
	last := strings.LastIndexByte(info, '@')
	colon := strings.IndexByte(info, ':')
	if last < 0 || colon < 0 || colon > last || made(info[colon+1:last]) {
		return Finding{}, false
	}
	return Finding{Kind: "password in an address", Start: from + colon + 1, End: from + last}, true
}

//go:embed standins.json
var standInsJSON []byte

// standIns are words of several languages in a password that only stands for one, in
// small letters as far as they are ASCII. The owner's page reads the same file. Short
// ones in ASCII stand by themselves: names and random letters have them inside.
var standIns = sync.OnceValue(func() []string { return read[[]string](standInsJSON) })

// made reports whether a password only stands for one.
func made(value string) bool {
	lower := strings.ToLower(value)
	if value == "" || strings.ContainsAny(value, "${}[]<>*%…") && !strings.Contains(value, "%2") && !strings.Contains(value, "%4") || distinct(lower) < 3 {
		return true
	}
	return slices.ContainsFunc(standIns(), func(word string) bool {
		return strings.Contains(lower, word) && (len(word) >= 8 || word[0] > 0x7f || alone(lower, word))
	})
}

// alone reports whether a word stands somewhere in a text with no letter of ASCII beside
// it; its last letter may be repeated.
func alone(text, word string) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], word)
		if i < 0 {
			return false
		}
		i += from
		from = i + len(word)
		for from < len(text) && text[from] == word[len(word)-1] {
			from++
		}
		if (i == 0 || !isLetter(rune(text[i-1]))) && (from == len(text) || !isLetter(rune(text[from]))) {
			return true
		}
	}
}

// passwordWords begin what says what a password is.
var passwordWords = [...]string{"passphrase", "passcode", "password", "passwort", "passwd", "pwd"}

// saidPassword finds what a text says is a password: "password is …", "password
// for the door: …", "PASSWORD=…". Of a plain word nobody can tell whether it is
// one: it must hold a digit or a sign, or stand in quotes.
func (s *scanner) saidPassword(at int) (Finding, bool) {
	if s.text[at]|0x20 != 'p' {
		return Finding{}, false
	}
	from := 0
	for _, w := range passwordWords {
		if len(s.text)-at >= len(w) && strings.EqualFold(s.text[at:at+len(w)], w) {
			from = at + len(w)
			break
		}
	}
	if from == 0 || from < len(s.text) && alnum.has(s.text[from]) {
		return Finding{}, false
	}
	from = afterIs(s.text, from)
	if from < 0 {
		return Finding{}, false
	}
	quote := byte(0)
	if from < len(s.text) && strings.IndexByte("\"'`", s.text[from]) >= 0 {
		quote = s.text[from]
		from++
	}
	value := s.text[from:min(len(s.text), from+maxPassword)]
	if quote != 0 {
		end := strings.IndexByte(value, quote)
		if end < 0 || strings.Contains(value[:end], "\n") {
			return Finding{}, false
		}
		value = value[:end]
	} else {
		if end := strings.IndexAny(value, " \t\r\n\"'`<>"); end >= 0 {
			value = value[:end]
		}
		value = strings.TrimRight(value, ".,;:!?)")
	}
	if !passwordLike(value, quote != 0) {
		return Finding{}, false
	}
	return Finding{Kind: "password", Start: from, End: from + len(value)}, true
}

// afterIs returns where the value begins that is given after a sign or an "is" on
// the same line, or -1.
func afterIs(text string, from int) int {
	rest := text[from:min(len(text), from+maxWhose)]
	for i := 0; i < len(rest); i++ {
		switch c := rest[i]; {
		case c == '\n':
			return -1
		case c == ':' || c == '=':
			for i++; i < len(rest) && strings.IndexByte(" \t=>", rest[i]) >= 0; i++ {
			}
			return from + i
		case strings.HasPrefix(rest[i:], " is ") || strings.HasPrefix(rest[i:], " was "):
			return from + i + strings.IndexByte(rest[i+1:], ' ') + 2
		case alnum.has(c) || strings.IndexByte(" \t'\"`_-", c) >= 0:
		default:
			return -1
		}
	}
	return -1
}

// passwordLike reports whether a value may be a password and does not look like
// code, a path, a name or a technical word.
func passwordLike(value string, quoted bool) bool {
	if len(value) < 6 || made(value) || strings.ContainsAny(value, "()\\") || strings.HasPrefix(value, "/") || strings.HasPrefix(value, "./") ||
		strings.HasPrefix(value, "~/") || strings.Contains(value, "://") || strings.HasPrefix(value, "--") {
		return false
	}
	digits, letters, signs := 0, 0, 0
	for i := range len(value) {
		switch c := value[i]; {
		case digit.has(c):
			digits++
		case alnum.has(c):
			letters++
		case strings.IndexByte("!#@&+=?|:;,^", c) >= 0 && i > 0:
			signs++
		case c == '.' || c == '/': // a name, a number, a path
			return false
		}
	}
	switch {
	case letters == 0:
		return digits >= 6 && digits == len(value)
	case technical(value):
		return false
	}
	return digits > 0 || signs > 0 || quoted && strings.IndexByte(value, ' ') < 0
}

// technical reports whether the digits of a value are those of a technical
// word.
func technical(value string) bool {
	lower := strings.ToLower(value)
	words := []string{"base58", "base64", "sha1", "sha256", "sha512", "sha-", "md5", "utf8", "utf-", "argon2", "pbkdf2", "pkcs", "oauth2", "bip39", "ipv4", "ipv6", "x509",
		"win32", "nip-", "rfc", "1password", "256-bit", "128-bit", "2fa", "mp3", "http2"}
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(lower, w) })
}
