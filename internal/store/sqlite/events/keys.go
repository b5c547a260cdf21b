package events

import (
	"strconv"
	"strings"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/store/sqlite/column"
	"engramd/internal/store/sqlite/engine"
)

func key(value string) engine.Value            { return column.Of(value) }
func unkey(v engine.Value) (string, error)     { return column.Text(v) }
func lowerHex32(s string) ([]byte, bool)       { return column.Hex32(s) }
func isLowerHex(s []byte) bool                 { return column.IsHex(s) }
func hexOf(v engine.Value) string              { return column.HexOf(v) }
func bytesOrNil(b []byte) engine.Value         { return column.BytesOrNil(b) }
func timeOrNil(at int64) engine.Value          { return column.TimeOrNil(at) }
func boolInt(b bool) int64                     { return column.Bool(b) }
func parsed(json []byte) (*nostr.Event, error) { return column.Event(json) }

var errStoredRow = column.ErrDamaged

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
		return kind, key(parts[2]), true
	}
	return 0, nil, false
}
