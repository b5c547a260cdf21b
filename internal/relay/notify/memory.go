package notify

import (
	"strconv"
	"strings"

	"github.com/nbd-wtf/go-nostr"

	"engramd/nips/kind"
	"engramd/nips/nipae"
)

var engramText = strconv.Itoa(nipae.Kind)

// ChangesMemory reports whether an event changes its author's memory: an
// engram, a request to vanish, or a deletion request that names engrams.
func ChangesMemory(ev *nostr.Event) bool {
	switch ev.Kind {
	case nipae.Kind, kind.Vanish:
		return true
	case nostr.KindDeletion:
		for _, tag := range ev.Tags {
			if len(tag) > 1 && (tag[0] == "k" && tag[1] == engramText || tag[0] == "a" && strings.HasPrefix(tag[1], engramText+":")) {
				return true
			}
		}
	}
	return false
}
