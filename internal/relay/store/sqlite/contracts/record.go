package contracts

import (
	"engramd/internal/relay/store/sqlite/column"
	"fmt"

	"github.com/nbd-wtf/go-nostr"
)

// record is an event of contract memory, with its keys as they lie in
// the database.
type record struct {
	ev         *nostr.Event
	id, pubkey []byte
	created    int64
}

func newRecord(ev *nostr.Event) (*record, error) {
	id, ok1 := column.Hex32(ev.ID)
	pubkey, ok2 := column.Hex32(ev.PubKey)
	if !ok1 || !ok2 {
		return nil, fmt.Errorf("contract memory of kind %d has no id or no pubkey", ev.Kind)
	}
	return &record{ev, id, pubkey, int64(ev.CreatedAt)}, nil
}
