package wire

import (
	"slices"
	"strconv"
	"strings"

	"github.com/nbd-wtf/go-nostr"
)

// Positions of the two keys in the bytes that AppendEvent writes.
const (
	// IDStart and IDEnd delimit the 64 digits of the id.
	IDStart, IDEnd = len(`{"id":"`), len(`{"id":"`) + 64
	// PubKeyStart and PubKeyEnd delimit those of the pubkey.
	PubKeyStart, PubKeyEnd = IDEnd + len(`","pubkey":"`), IDEnd + len(`","pubkey":"`) + 64
)

// AppendEvent appends the event's canonical JSON: the seven members in the
// order id, pubkey, created_at, kind, tags, content, sig, without white space,
// and with the escapes of NIP-01's serialization and no others. It is what the
// store keeps and what clients are sent. For an event from ParseEvent, id and
// pubkey lie at IDStart and PubKeyStart.
func AppendEvent(dst []byte, ev *nostr.Event) []byte {
	dst = slices.Grow(dst, sizeHint(ev))
	dst = append(dst, `{"id":"`...)
	dst = append(dst, ev.ID...)
	dst = append(dst, `","pubkey":"`...)
	dst = append(dst, ev.PubKey...)
	dst = append(dst, `","created_at":`...)
	dst = strconv.AppendInt(dst, int64(ev.CreatedAt), 10)
	dst = append(dst, `,"kind":`...)
	dst = strconv.AppendInt(dst, int64(ev.Kind), 10)
	dst = append(dst, `,"tags":`...)
	dst = appendTags(dst, ev.Tags)
	dst = append(dst, `,"content":`...)
	dst = appendString(dst, ev.Content)
	dst = append(dst, `,"sig":"`...)
	dst = append(dst, ev.Sig...)
	return append(dst, `"}`...)
}

// appendSerialized appends what the id is the SHA-256 of (NIP-01):
// [0,pubkey,created_at,kind,tags,content].
func appendSerialized(dst []byte, ev *nostr.Event) []byte {
	dst = slices.Grow(dst, sizeHint(ev))
	dst = append(dst, `[0,"`...)
	dst = append(dst, ev.PubKey...)
	dst = append(dst, `",`...)
	dst = strconv.AppendInt(dst, int64(ev.CreatedAt), 10)
	dst = append(dst, ',')
	dst = strconv.AppendInt(dst, int64(ev.Kind), 10)
	dst = append(dst, ',')
	dst = appendTags(dst, ev.Tags)
	dst = append(dst, ',')
	dst = appendString(dst, ev.Content)
	return append(dst, ']')
}

// sizeHint returns the length of the event's JSON if nothing needs an escape.
func sizeHint(ev *nostr.Event) int {
	n := len(ev.ID) + len(ev.PubKey) + len(ev.Sig) + len(ev.Content) + 112
	for _, tag := range ev.Tags {
		n += 3
		for _, item := range tag {
			n += len(item) + 3
		}
	}
	return n
}

// Size returns about how long the event's JSON is, escapes included.
func Size(ev *nostr.Event) int {
	n := sizeHint(ev) + escapes(ev.Content)
	for _, tag := range ev.Tags {
		for _, item := range tag {
			n += escapes(item)
		}
	}
	return n
}

// escapes returns how much longer appendString makes s.
func escapes(s string) (n int) {
	for i := nextSpecial(s, 0); i < len(s); i = nextSpecial(s, i+1) {
		if n++; s[i] < ' ' && !strings.ContainsRune("\b\t\n\f\r", rune(s[i])) {
			n += 4
		}
	}
	return n
}

func appendTags(dst []byte, tags nostr.Tags) []byte {
	dst = append(dst, '[')
	for i, tag := range tags {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, '[')
		for j, item := range tag {
			if j > 0 {
				dst = append(dst, ',')
			}
			dst = appendString(dst, item)
		}
		dst = append(dst, ']')
	}
	return append(dst, ']')
}

// appendString appends s as a JSON string. Escaped are the quote, the
// backslash and control characters, the latter in their short form where there
// is one: this is the id serialization too, so it must not do more (NIP-01).
func appendString(dst []byte, s string) []byte {
	const hexDigits = "0123456789abcdef"
	dst = append(dst, '"')
	start := 0
	for {
		i := nextSpecial(s, start)
		dst = append(dst, s[start:i]...)
		if i == len(s) {
			return append(dst, '"')
		}
		switch c := s[i]; c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\t':
			dst = append(dst, '\\', 't')
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\f':
			dst = append(dst, '\\', 'f')
		case '\r':
			dst = append(dst, '\\', 'r')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		start = i + 1
	}
}
