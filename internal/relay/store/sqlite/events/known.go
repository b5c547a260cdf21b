package events

import (
	"context"
	"time"

	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
)

const sqlKnownSince = `SELECT 1 FROM pubkeys WHERE key = ? AND since < ?`

// KnownSince reports whether an event by the key (64 lower-case hex digits;
// anything else is not known) arrived here before a time, by the relay's clock
// and whatever the event says of itself. Authors of events that were stored
// before the relay took note of that count as known; a key of which nothing is
// left does not. Errors are as of Query.
func (s *Store) KnownSince(ctx context.Context, pubkey string, before time.Time) (known bool, err error) {
	key, ok := column.Hex32(pubkey)
	if !ok {
		return false, nil
	}
	err = s.db.Read(ctx, engine.LookUp, func(_ context.Context, c *engine.Conn) error {
		known, err = c.Exists(sqlKnownSince, key, before.Unix())
		return err
	})
	return known, err
}
