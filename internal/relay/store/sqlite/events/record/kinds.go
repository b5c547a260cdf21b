package record

import (
	"github.com/nbd-wtf/go-nostr"

	"engramd/nips/kind"
	"engramd/nips/niptemp"
)

// Kinds with a meaning for the store.
const (
	KindDeletion = nostr.KindDeletion
	KindVanish   = kind.Vanish
	KindGiftWrap = nostr.KindGiftWrap
)

// IsContract reports whether the kind is contract memory (NIP-TEMP), whose
// history is kept for ever.
func IsContract(kind int) bool { return kind == niptemp.KindEntry || kind == niptemp.KindState }

// Deletable reports whether NIP-09 has an effect on the kind.
func Deletable(kind int) bool { return kind != KindDeletion && kind != KindVanish }
