package search

import (
	"encoding/json"
	"strings"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/nips/nipae"
	"engramd/nips/niptemp"
)

// Text is what of an event can be found by words: "" for nothing.
// Ciphertext, lists and reactions are left out.
func Text(class gate.Class, ev *nostr.Event) string {
	switch {
	case class == gate.Contract && ev.Kind == niptemp.KindEntry:
		var entry struct {
			Content string `json:"content"`
		}
		if json.Unmarshal([]byte(ev.Content), &entry) != nil {
			return ""
		}
		return entry.Content
	case class != gate.Open || !textKind(ev.Kind) || isCiphertext(ev.Content):
		return ""
	}
	var b strings.Builder
	b.WriteString(ev.Content)
	for _, t := range ev.Tags {
		if len(t) >= 2 && (t[0] == "title" || t[0] == "subject" || t[0] == "summary") {
			b.WriteByte('\n')
			b.WriteString(t[1])
		}
	}
	return b.String()
}

// textKind reports whether the content of an open kind is text for people. What
// is not: contact lists and relay hints (3), deletions, reposts, reactions,
// seals, vanish requests, zaps, group messages that are encrypted (MLS), and
// replaceable lists, whose content is private where there is any.
func textKind(kind int) bool {
	switch kind {
	case 3, 5, 6, 7, 13, 16, 17, 62, 443, 444, 445, 9734, 9735:
		return false
	}
	return kind < 10000 || kind >= 20000
}

// isCiphertext reports whether the content is a NIP-44 payload or a NIP-04
// message.
func isCiphertext(content string) bool {
	return strings.Contains(content, "?iv=") || nipae.CheckPayload(content) == nil
}
