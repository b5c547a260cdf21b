package sqlite

import (
	"fmt"

	"github.com/nbd-wtf/go-nostr"
)

// contractRecord is an event of contract memory, with its keys as they lie in
// the database.
type contractRecord struct {
	ev         *nostr.Event
	id, pubkey []byte
	created    int64
}

func newContractRecord(ev *nostr.Event) (*contractRecord, error) {
	id, ok1 := lowerHex32(ev.ID)
	pubkey, ok2 := lowerHex32(ev.PubKey)
	if !ok1 || !ok2 {
		return nil, fmt.Errorf("contract memory of kind %d has no id or no pubkey", ev.Kind)
	}
	return &contractRecord{ev, id, pubkey, int64(ev.CreatedAt)}, nil
}
