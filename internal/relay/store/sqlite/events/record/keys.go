package record

import (
	"strconv"
	"strings"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
)

// OwnAddress takes "kind:pubkey:d" apart. It is false for what is no address
// and for addresses of others.
func OwnAddress(a, pubkey string) (kind int, d engine.Value, ok bool) {
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

// SameKey compares two d columns.
func SameKey(a, b engine.Value) bool {
	if x, ok := a.([]byte); ok {
		y, ok := b.([]byte)
		return ok && string(x) == string(y)
	}
	return a == b
}

// AddressKey is the column d of an event with this d tag.
func AddressKey(kind int, d string) engine.Value {
	if nostr.IsReplaceableKind(kind) {
		return ""
	}
	return column.Of(d)
}
