// Package record is an event as rows: columns, tags, keys and their numbers. It is
// what those who write events and those who read them have in common.
package record

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
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

// ReadersInFull is the column readers of events as history has it.
const ReadersInFull = `CASE typeof(readers) WHEN 'integer' THEN (SELECT key FROM pubkeys WHERE num = readers) ELSE readers END`

// SecondsPerDay is a day of what limits count in days.
const SecondsPerDay = int64(24 * time.Hour / time.Second)

// SQLLastSeq is the highest sequence number there is. It counts what waits to leave the full-text index too: its number
// there must not be given out again.
const SQLLastSeq = `SELECT max(coalesce((SELECT max(seq) FROM events), 0), coalesce((SELECT max(seq) FROM history), 0),
	coalesce((SELECT max(seq) FROM search_gone), 0), coalesce((SELECT value FROM meta WHERE key = 'last_seq'), 0))`

// LastSeq reads the highest sequence number there is.
func LastSeq(c *engine.Conn) (int64, error) {
	n, err := c.Number(SQLLastSeq)
	if err != nil {
		return 0, fmt.Errorf("read last sequence number: %w", err)
	}
	return n, nil
}

const sqlNewestArrival = `SELECT max(coalesce((SELECT arrived_at FROM events ORDER BY seq DESC LIMIT 1), 0),
	coalesce((SELECT arrived_at FROM history ORDER BY seq DESC LIMIT 1), 0))`

// NewestArrival is when the last event that is still here arrived, in Unix
// seconds; 0 where there is none.
func NewestArrival(c *engine.Conn) (int64, error) {
	n, err := c.Number(sqlNewestArrival)
	if err != nil {
		return 0, fmt.Errorf("read the newest arrival: %w", err)
	}
	return n, nil
}

// NumOf is the number of one key, for the conditions of other statements;
// the + keeps the column's affinity from them, under which SQLite would
// take the TEXT '5' of a p tag for the number 5.
const NumOf = `(SELECT +num FROM pubkeys WHERE key=?)`

// StoredClass reads the column class. What is no number counts as Open.
func StoredClass(v engine.Value) gate.Class {
	n, _ := v.(int64)
	return gate.Class(n)
}

// Where id and pubkey lie in stored JSON (wire.AppendEvent).
const (
	IDAt, IDEnd         = 7, 7 + 64
	PubkeyAt, PubkeyEnd = IDEnd + len(`","pubkey":"`), IDEnd + len(`","pubkey":"`) + 64
)

// StoredKind is the kind in stored JSON, whose members have one order.
func StoredKind(json []byte) (int, error) {
	if len(json) > PubkeyEnd {
		if rest, ok := bytes.CutPrefix(json[PubkeyEnd:], []byte(`","created_at":`)); ok {
			_, rest, _ = bytes.Cut(rest, []byte(`,"kind":`))
			digits, _, _ := bytes.Cut(rest, []byte(`,`))
			if kind, err := strconv.ParseUint(string(digits), 10, 16); err == nil {
				return int(kind), nil
			}
		}
	}
	return 0, column.ErrDamaged
}
