package events

import (
	"context"
	"fmt"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/record"
)

const (
	sqlRequest   = `SELECT json FROM events WHERE id = ? AND kind = 5`
	sqlConcerned = `SELECT 1 FROM events WHERE id = ?1 AND kind IN (30090, 30091) AND d = ?2
		UNION ALL SELECT 1 FROM history WHERE id = ?1 AND kind IN (30090, 30091) AND d = ?2 LIMIT 1`
)

// Withdrawal returns the signed request by which something of a contract was
// withdrawn, if everything that it names, by e and by a, is of this contract;
// nil otherwise, and where it is not here.
func (s *Store) Withdrawal(ctx context.Context, contract string, request []byte) (json []byte, err error) {
	err = s.db.Snapshot(ctx, engine.Scan, func(ctx context.Context, c *engine.Conn) error {
		json, err = Withdrawal(c, contract, request)
		return err
	})
	return json, err
}

// Withdrawal is Store.Withdrawal in a read under way.
func Withdrawal(c *engine.Conn, contract string, request []byte) ([]byte, error) {
	row, err := c.One(sqlRequest, request)
	if err != nil || row == nil {
		return nil, err
	}
	json, _ := row[0].([]byte)
	ev, err := column.Event(json)
	if err != nil {
		return nil, fmt.Errorf("deletion request: %w", err)
	}
	for _, t := range ev.Tags {
		if len(t) < 2 || t[0] != "e" && t[0] != "a" {
			continue
		}
		of, err := concerns(c, contract, ev, t)
		if err != nil || !of {
			return nil, err
		}
	}
	return json, nil
}

// concerns reports whether what a tag of a deletion request names is of a
// contract.
func concerns(c *engine.Conn, contract string, ev *nostr.Event, t nostr.Tag) (bool, error) {
	if t[0] == "a" {
		kind, d, ok := record.OwnAddress(t[1], ev.PubKey)
		return ok && record.IsContract(kind) && record.SameKey(d, column.Of(contract)), nil
	}
	id, ok := column.Hex32(t[1])
	if !ok {
		return false, nil
	}
	return c.Exists(sqlConcerned, id, column.Of(contract))
}
