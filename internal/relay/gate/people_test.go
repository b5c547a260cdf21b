package gate_test

import (
	"encoding/base64"
	"strings"

	"github.com/nbd-wtf/go-nostr"
)

// The keys of the tables.
var (
	agent    = strings.Repeat("a1", 32)
	owner    = strings.Repeat("b2", 32)
	second   = strings.Repeat("c3", 32) // another agent of the same owner
	stranger = strings.Repeat("d4", 32)

	someID  = strings.Repeat("01", 32)
	otherID = strings.Repeat("02", 32)
)

const contractID = "escrow-1"

// sealedContent has the shape of the shortest NIP-44 v2 payload.
var sealedContent = base64.StdEncoding.EncodeToString(append([]byte{2}, make([]byte, 98)...))

// event returns an event of agent about owner with the id someID.
func event(kind int, content string, tags ...nostr.Tag) *nostr.Event {
	return &nostr.Event{
		ID: someID, PubKey: agent, Kind: kind, Content: content, CreatedAt: 1_700_000_000,
		Tags: append(nostr.Tags{{"p", owner}}, tags...),
	}
}

func engram() *nostr.Event { return event(30174, sealedContent, nostr.Tag{"d", otherID}) }
func entry() *nostr.Event {
	return event(30090, `{"type":"note","content":"x"}`, nostr.Tag{"d", contractID}, nostr.Tag{"t", "note"})
}
func sealed() *nostr.Event {
	return event(30090, sealedContent, nostr.Tag{"d", contractID}, nostr.Tag{"t", "note"})
}
func state() *nostr.Event {
	return event(30091, `{"status":"open"}`, nostr.Tag{"d", contractID})
}

func kinds(k ...int) nostr.Filter { return nostr.Filter{Kinds: k} }

// with returns the filter with one more list: ids, authors or a tag name.
func with(f nostr.Filter, name string, values ...string) nostr.Filter {
	list := append([]string{}, values...)
	switch name {
	case "ids":
		f.IDs = list
	case "authors":
		f.Authors = list
	default:
		tags := nostr.TagMap{name: list}
		for k, v := range f.Tags {
			tags[k] = v
		}
		f.Tags = tags
	}
	return f
}
