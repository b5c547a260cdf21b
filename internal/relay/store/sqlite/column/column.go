// Package column says how values lie in the columns of the database: keys and
// ids as 32 bytes, times as Unix seconds, what is missing as NULL.
package column

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine"
)

// ErrDamaged says that a stored row is not as any program writes it.
var ErrDamaged = fmt.Errorf("%w: run engramd check", store.ErrDamaged)

// AnyKind is the kind of a version whose kind is not known.
const AnyKind = -1

// Of is how a tag value or d value lies in the database: the 32 bytes of
// exactly 64 lower-case hex digits as a BLOB, everything else as TEXT. SQLite
// never holds a BLOB equal to a TEXT, so two values are equal exactly when
// their columns are.
func Of(value string) engine.Value {
	if b, ok := Hex32(value); ok {
		return b
	}
	return value
}

// Text is the inverse of Of.
func Text(v engine.Value) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case []byte:
		return hex.EncodeToString(v), nil
	}
	return "", fmt.Errorf("a key is neither TEXT nor BLOB but %T", v)
}

// Hex32 decodes 64 lower-case hex digits.
func Hex32(s string) ([]byte, bool) {
	if len(s) != 64 || !IsHex(s) {
		return nil, false
	}
	out, err := hex.DecodeString(s)
	return out, err == nil
}

// HexOf is the hex of a 32-byte column.
func HexOf(v engine.Value) string {
	b, _ := v.([]byte)
	return hex.EncodeToString(b)
}

// IsHex reports whether there are lower-case hex digits only.
func IsHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

// BytesOrNil keeps NULL and an empty BLOB apart.
func BytesOrNil(b []byte) engine.Value {
	if b == nil {
		return nil
	}
	return b
}

// TimeOrNil makes NULL of 0.
func TimeOrNil(at int64) engine.Value {
	if at == 0 {
		return nil
	}
	return at
}

// Bool is 1 or 0.
func Bool(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// Event reads an event back from its stored JSON.
func Event(json []byte) (*nostr.Event, error) {
	ev, err := wire.ParseEvent(json)
	if err != nil {
		return nil, fmt.Errorf("stored event: %w", err)
	}
	return ev, nil
}
