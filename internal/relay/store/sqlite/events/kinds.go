package events

import (
	"github.com/nbd-wtf/go-nostr"

	"engramd/nips/kind"
	"engramd/nips/niptemp"
)

// Kinds with a meaning for the store.
const (
	kindDeletion = nostr.KindDeletion
	kindVanish   = kind.Vanish
	kindGiftWrap = nostr.KindGiftWrap
)

// isContract reports whether the kind is contract memory (NIP-TEMP), whose
// history is kept for ever.
func isContract(kind int) bool { return kind == niptemp.KindEntry || kind == niptemp.KindState }

// deletable reports whether NIP-09 has an effect on the kind.
func deletable(kind int) bool { return kind != kindDeletion && kind != kindVanish }
