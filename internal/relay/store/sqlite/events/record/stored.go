package record

import (
	"bytes"
	"strconv"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
)

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
