package gate

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/nbd-wtf/go-nostr"
)

// trait is what tells single events of a kind from the others.
type trait uint8

const (
	// sealed: the content is not meant to be read as it stands. A NIP-44 payload
	// is not, and neither is anything else but a JSON object that may have come in
	// by a way around the write policy.
	sealed trait = iota + 1
	// hides: a deletion request that names events by their ids, or a gated kind.
	// Where there is room for doubt, it is the stricter class: ids count whatever
	// they belong to.
	hides
	// hidesKind: a deletion request that names a gated kind, and ids of events all
	// of which the store found open. An event alone never has this trait: see
	// [Table.ClassifyDeletion].
	hidesKind
	// approves: a list of the agents that an owner approved.
	approves
)

// ApprovalD is the d tag of the kind 30078 event (NIP-78) in which an owner
// names the approved agents in p tags.
const ApprovalD = "engramd/agents"

func (t *Table) has(what trait, ev *nostr.Event) bool {
	switch what {
	case sealed:
		return !isObject(ev.Content)
	case hides:
		return namesIDs(ev.Tags) || t.namesGated(ev.Tags)
	case approves:
		return ev.Tags.GetD() == ApprovalD
	}
	return false
}

// isObject reports whether the content is a JSON object.
func isObject(content string) bool {
	text := strings.TrimLeft(content, " \t\r\n")
	return strings.HasPrefix(text, "{") && json.Valid([]byte(text))
}

// namesIDs reports whether a deletion request names events by their ids.
func namesIDs(tags nostr.Tags) bool {
	for _, tag := range tags {
		if len(tag) >= 2 && tag[0] == "e" {
			return true
		}
	}
	return false
}

// namesGated reports whether a deletion request says that it is about gated
// events: by a k tag, or by the address in an a tag.
func (t *Table) namesGated(tags nostr.Tags) bool {
	for _, tag := range tags {
		if len(tag) < 2 {
			continue
		}
		switch tag[0] {
		case "k":
			if t.Gated(kindOf(tag[1])) {
				return true
			}
		case "a":
			number, rest, _ := strings.Cut(tag[1], ":")
			kind := kindOf(number)
			if t.Gated(kind) {
				return true
			}
			if _, d, _ := strings.Cut(rest, ":"); d == ApprovalD && kind == nostr.KindApplicationSpecificData {
				return true
			}
		}
	}
	return false
}

// kindOf reads a kind generously, " +030174" too: what a careless client meant
// to keep among the parties stays there. It returns -1 for what is no number.
func kindOf(text string) int {
	kind, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		return -1
	}
	return kind
}
