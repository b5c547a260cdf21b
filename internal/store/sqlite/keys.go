package sqlite

import (
	"encoding/hex"
	"fmt"

	"engramd/internal/store/sqlite/engine"
)

// key is how a tag value or d value lies in the database: the 32 bytes of
// exactly 64 lower-case hex digits as a BLOB, everything else as TEXT. SQLite
// never holds a BLOB equal to a TEXT, so two values are equal exactly when
// their keys are.
func key(value string) engine.Value {
	if b, ok := lowerHex32(value); ok {
		return b
	}
	return value
}

// unkey is the inverse of key.
func unkey(v engine.Value) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case []byte:
		return hex.EncodeToString(v), nil
	}
	return "", fmt.Errorf("a key is neither TEXT nor BLOB but %T", v)
}

// lowerHex32 decodes 64 lower-case hex digits.
func lowerHex32(s string) ([]byte, bool) {
	if len(s) != 64 {
		return nil, false
	}
	out := make([]byte, 32)
	for i := range out {
		hi, lo := nibble(s[2*i]), nibble(s[2*i+1])
		if hi > 15 || lo > 15 {
			return nil, false
		}
		out[i] = hi<<4 | lo
	}
	return out, true
}

// isLowerHex reports whether there are lower-case hex digits only.
func isLowerHex(s []byte) bool {
	for _, c := range s {
		if nibble(c) > 15 {
			return false
		}
	}
	return true
}

// nibble is the value of one lower-case hex digit, 255 for anything else.
func nibble(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	}
	return 255
}
