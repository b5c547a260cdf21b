package redact

import (
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
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
	if len(text) > maxReason {
		cut := maxReason
		for !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut] + "…"
	}
	return text
}
