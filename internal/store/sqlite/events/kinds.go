package events

import (
	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/gate"
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

// hasHistory reports whether superseded versions of the record are kept: gated
// replaceable and addressable kinds.
func hasHistory(r *record) bool { return r.d != nil && r.class != gate.Open }
