package events

import (
	"strconv"
	"strings"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
)

// ownAddress takes "kind:pubkey:d" apart. It is false for what is no address
// and for addresses of others.
func ownAddress(a, pubkey string) (kind int, d engine.Value, ok bool) {
	parts := strings.SplitN(a, ":", 3)
	if len(parts) < 2 || parts[1] != pubkey {
		return 0, nil, false
	}
	kind, err := strconv.Atoi(parts[0])
	if err != nil || strconv.Itoa(kind) != parts[0] {
		return 0, nil, false
	}
	switch {
	case nostr.IsReplaceableKind(kind):
		// A replaceable kind has no d; "kind:pubkey" and "kind:pubkey:" are
		// both written.
		return kind, "", len(parts) == 2 || parts[2] == ""
	case nostr.IsAddressableKind(kind) && len(parts) == 3:
		return kind, column.Of(parts[2]), true
	}
	return 0, nil, false
}
