package gate

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/nbd-wtf/go-nostr"

	"engramd/nips/nipae"
	"engramd/nips/niptemp"
)

// The kinds of which all or some events are gated without a configured rule.
const (
	kindDirect      = nostr.KindEncryptedDirectMessage // NIP-04
	kindDeletion    = nostr.KindDeletion               // NIP-09
	kindGiftWrap    = nostr.KindGiftWrap               // NIP-59
	kindPassingWrap = 21059                            // NIP-59, ephemeral
	kindEngram      = nipae.Kind
	kindEntry       = niptemp.KindEntry
	kindState       = niptemp.KindState
	kindTurnMetrics = 44200
	kindAppData     = nostr.KindApplicationSpecificData // NIP-78
)

// ApprovalD is the d tag of the kind 30078 event (NIP-78) in which an owner
// names the agents he approved, in p tags.
const ApprovalD = "engramd/agents"

func builtinGated(kind int) bool {
	switch kind {
	case kindEngram, kindEntry, kindState, kindGiftWrap, kindPassingWrap, kindTurnMetrics, kindDirect:
		return true
	}
	return false
}

// Classify says under which rule the event is read, as far as the event itself
// tells. It depends on the event and on [Options.Rules] only, so that changing
// another option needs no work on what is stored. Where an event leaves room for
// doubt, it gets the stricter class: a deletion request that names events by
// their ids is a Deletion here, and [Table.ClassifyDeletion] for who knows them.
func (t *Table) Classify(ev *nostr.Event) Class {
	switch ev.Kind {
	case kindEngram:
		return Engram
	case kindState:
		return Contract
	case kindEntry:
		if isPlain(ev.Content) {
			return Contract
		}
		return Sealed
	case kindGiftWrap, kindPassingWrap, kindTurnMetrics:
		return Wrap
	case kindDirect:
		return Direct
	case kindDeletion:
		if namesIDs(ev.Tags) || t.namesGated(ev.Tags) {
			return Deletion
		}
		return Open
	case kindAppData:
		if ev.Tags.GetD() == ApprovalD {
			return Approval
		}
	}
	return t.rules[ev.Kind] // Open where there is none
}

// ClassifyDeletion says under which rule a deletion request (kind 5) is read
// when it is known whether each event that its e tags name was found as an open
// one of its author. An id tells nobody what it belonged to, but who has all
// open events knows that one which is not among them was gated.
func (t *Table) ClassifyDeletion(ev *nostr.Event, foundOpen bool) Class {
	switch {
	case !namesIDs(ev.Tags):
		return t.Classify(ev)
	case !foundOpen:
		return Deletion
	case t.namesGated(ev.Tags):
		return Ruled
	}
	return Open
}

// Reclassify is Classify for an event that is stored under a class already. For
// a deletion request that is also the verdict about the events that it named,
// which are gone: it stands.
func (t *Table) Reclassify(ev *nostr.Event, stored Class) Class {
	if ev.Kind == kindDeletion {
		return t.ClassifyDeletion(ev, stored == Open || stored == Ruled)
	}
	return t.Classify(ev)
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

// isPlain reports whether the content of a contract entry is meant to be read
// as it stands: a JSON object. A NIP-44 payload is none, and neither is
// anything else that may have come in by a way around the write policy, which
// therefore counts as sealed.
func isPlain(content string) bool {
	text := strings.TrimLeft(content, " \t\r\n")
	return strings.HasPrefix(text, "{") && json.Valid([]byte(text))
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
			if t.gatedName(tag[1]) {
				return true
			}
		case "a":
			kind, rest, _ := strings.Cut(tag[1], ":")
			if t.gatedName(kind) {
				return true
			}
			if _, d, _ := strings.Cut(rest, ":"); d == ApprovalD && kindOf(kind) == kindAppData {
				return true
			}
		}
	}
	return false
}

func (t *Table) gatedName(text string) bool {
	kind := kindOf(text)
	return kind >= 0 && t.Gated(kind)
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
