package contracts

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine"
)

// requestBytes bounds the signed requests that one page of history shows in
// full; further ones are named by their id.
const requestBytes = 256 << 10

const (
	sqlEntryArrival = `SELECT contract, n, arrived_at, withdrawn, request FROM contract_entries WHERE seq = ?`
	sqlMoveArrival  = `SELECT contract, n, arrived_at, withdrawn, request FROM contract_moves WHERE seq = ?`
)

// arrival is what history tells of contract memory beside the event.
type arrival struct {
	N          int64        `json:"n"`
	ReceivedAt string       `json:"received_at"`
	Withdrawn  *withdrawnBy `json:"withdrawn,omitempty"`
}

type withdrawnBy struct {
	At    string `json:"at"`
	Event any    `json:"event"` // the signed request, or its id, or null
}

// WithArrivals adds to versions of contract memory their numbers, when they
// came, and whether they were withdrawn, as members behind those of the event,
// which any reader of events passes over.
func (s *Store) WithArrivals(ctx context.Context, rows []store.Row) error {
	return s.db.Snapshot(ctx, engine.Scan, func(_ context.Context, c *engine.Conn) error {
		left := requestBytes
		for i := range rows {
			a, err := arrivalOf(c, s.requests, rows[i].Seq, &left)
			if err != nil {
				return err
			}
			if a == nil {
				continue
			}
			more, err := json.Marshal(a)
			if err != nil {
				return fmt.Errorf("arrival: %w", err)
			}
			event := rows[i].JSON
			event = append(event[:len(event)-1:len(event)-1], ',')
			rows[i].JSON = append(event, more[1:]...)
		}
		return nil
	})
}

// arrivalOf is nil for what has no place in a thread.
func arrivalOf(c *engine.Conn, requests Withdrawals, seq int64, left *int) (*arrival, error) {
	row, err := c.One(sqlEntryArrival, seq)
	if err == nil && row == nil {
		row, err = c.One(sqlMoveArrival, seq)
	}
	if err != nil || row == nil {
		return nil, err
	}
	a := &arrival{N: row.Int(1), ReceivedAt: instant(row.Int(2))}
	if at := row.Int(3); at != 0 {
		a.Withdrawn = &withdrawnBy{At: instant(at)}
		a.Withdrawn.Event, err = requestOf(c, requests, row.Text(0), row.Blob(4), left)
	}
	return a, err
}

// requestOf is the signed request where it may be shown and there is room for
// it, else its id, else nil.
func requestOf(c *engine.Conn, requests Withdrawals, contract string, id []byte, left *int) (any, error) {
	if id == nil {
		return nil, nil
	}
	signed, err := requests(c, contract, id)
	if err != nil {
		return nil, err
	}
	if signed == nil || len(signed) > *left {
		return hex.EncodeToString(id), nil
	}
	*left -= len(signed)
	return json.RawMessage(signed), nil
}

// instant is a time as the API has it.
func instant(at int64) string { return time.Unix(at, 0).UTC().Format(time.RFC3339) }
