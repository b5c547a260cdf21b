package redact

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxReason bounds what is logged of one reason, in bytes.
const maxReason = 300

// These may be somebody's own: what is quoted is mostly the client's text, long
// runs of hex are keys, ids and signatures, and NIP-19 has its own form of
// them.
var (
	quoted  = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|'[^']*'|` + "`[^`]*`")
	longHex = regexp.MustCompile(`[0-9a-fA-F]{16,}`)
	entity  = regexp.MustCompile(`(?i)\b(?:npub|nsec|ncryptsec|note|nevent|nprofile|naddr|nrelay)1[0-9a-z]{8,}`)
)

// ours are words of the protocols that reasons quote, and that are nobody's own.
var ours = strings.Fields("id pubkey created_at kind tags content sig ids authors kinds since until limit search d p e " +
	"EVENT REQ COUNT CLOSE AUTH challenge relay u method payload open accepted submitted completed disputed cancelled expired")

// outOf leaves a quoted text as it is if it is one of our words.
func outOf(text string) string {
	if slices.Contains(ours, text[1:len(text)-1]) {
		return text
	}
	return `"…"`
}

// Reason returns a text that was made for a client, as it may stand in a log:
// what is quoted in it and what looks like a key or an id is left out, control
// characters are spaces, and it is not long.
func Reason(text string) string {
	text = quoted.ReplaceAllStringFunc(strings.ToValidUTF8(text, "�"), outOf)
	return Plain(text)
}

// Plain is Reason for a text in which quotes are nobody's own.
func Plain(text string) string {
	text = longHex.ReplaceAllString(strings.ToValidUTF8(text, "�"), "…")
	text = entity.ReplaceAllString(text, "…")
	return OneLine(text, maxReason)
}

// OneLine returns a text without control characters, and of more than most bytes
// the beginning.
func OneLine(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "�"))
	if len(text) <= most {
		return text
	}
	for !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "…"
}

// tagBytes is how much of the digest a tag has: enough to tell the clients of
// one relay apart, too little to be taken for a key.
const tagBytes = 4

// Tags gives keys short names for one run of the daemon: the same key has the
// same tag until it ends, and nobody who reads the log can try keys out,
// because the salt is never written anywhere. The zero Tags names nothing.
type Tags struct{ salt []byte }

// NewTags makes a salt.
func NewTags() *Tags {
	salt := make([]byte, sha256.Size)
	_, _ = rand.Read(salt) // never fails
	return &Tags{salt}
}

// Of returns the tag of a key, 8 hex digits; "" for no key, or without a salt.
func (t *Tags) Of(key string) string {
	if t == nil || t.salt == nil || key == "" {
		return ""
	}
	mac := hmac.New(sha256.New, t.salt)
	mac.Write([]byte(key))
	return hex.EncodeToString(mac.Sum(nil)[:tagBytes])
}

// maxListed is how many tags List writes.
const maxListed = 4

// List returns the tags of several keys, as a log line has them: "nobody" for
// none.
func (t *Tags) List(keys []string) string {
	if len(keys) == 0 {
		return "nobody"
	}
	tags := make([]string, 0, maxListed+1)
	for i, key := range keys {
		if i == maxListed {
			tags = append(tags, "…")
			break
		}
		tags = append(tags, t.Of(key))
	}
	return strings.Join(tags, ",")
}
