package events

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/gate"
	"engramd/internal/store"
	"engramd/internal/store/sqlite/engine"
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

// withArrivals adds to versions of contract memory their numbers, when they
// came, and whether they were withdrawn, as members behind those of the event,
// which any reader of events passes over.
func (s *Store) withArrivals(ctx context.Context, rows []store.Row) error {
	return s.db.Snapshot(ctx, engine.Scan, func(_ context.Context, c *engine.Conn) error {
		left := requestBytes
		for i := range rows {
			a, err := arrivalOf(c, rows[i].Seq, &left)
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
func arrivalOf(c *engine.Conn, seq int64, left *int) (*arrival, error) {
	row, err := c.One(sqlEntryArrival, seq)
	if err == nil && row == nil {
		row, err = c.One(sqlMoveArrival, seq)
	}
	if err != nil || row == nil {
		return nil, err
	}
	contract, _ := row[0].(string)
	n, _ := row[1].(int64)
	came, _ := row[2].(int64)
	a := &arrival{N: n, ReceivedAt: instant(came)}
	at, _ := row[3].(int64)
	if at == 0 {
		return a, nil
	}
	a.Withdrawn = &withdrawnBy{At: instant(at)}
	a.Withdrawn.Event, err = requestOf(c, contract, row[4], left)
	return a, err
}

// requestOf is the signed request where it may be shown and there is room for
// it, else its id, else nil.
func requestOf(c *engine.Conn, contract string, request engine.Value, left *int) (any, error) {
	id, _ := request.([]byte)
	if id == nil {
		return nil, nil
	}
	signed, err := withdrawal(c, contract, id)
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

const (
	fromContractHistory = `history AS e INDEXED BY history_contract`
	sqlBefore           = `SELECT e.seq FROM history AS e INDEXED BY history_id WHERE e.id=? AND e.kind=? AND e.pubkey=? AND e.d=? AND e.class<>0`
)

// arrivals is History for one address of contract memory: the last that came
// first, for that is the order of its thread.
func (s *Store) arrivals(ctx context.Context, scope gate.Scope, q store.HistoryQuery, size bounds) (rows []store.Row, more bool, err error) {
	author, _ := lowerHex32(q.Author)
	address := []engine.Value{int64(q.Kind), author, addressKey(q.Kind, *q.D)}
	err = s.db.Snapshot(ctx, engine.Scan, func(ctx context.Context, c *engine.Conn) error {
		before, err := below(&q, c, scope, address)
		if err != nil {
			return err
		}
		w := &where{}
		w.text("SELECT " + columns(scope, nostr.Filter{}) + " FROM " + fromContractHistory + " WHERE ")
		w.and("e.kind=? AND e.pubkey=? AND e.d=? AND e.kind IN (30090,30091) AND e.seq<?", append(address, before)...)
		if q.Until != nil {
			w.and("e.created_at<=?", *q.Until)
		}
		scopeWhere(w, scope, nostr.Filter{}, fromHistory, dAny)
		w.text(" ORDER BY e.seq DESC LIMIT ?", int64(size.rows)+1)
		bytes := 0
		return c.Query(ctx, w.sql.String(), w.args, func(v []engine.Value) error {
			if more = len(rows) == size.rows || bytes >= size.bytes && len(rows) > 0; more {
				return engine.ErrStop
			}
			var row entry
			if err := row.scan(v); err != nil {
				return err
			}
			if row.readable(scope) {
				rows, bytes = append(rows, row.Row), bytes+len(row.JSON)
			}
			return nil
		})
	})
	return rows, more, err
}

// below is the arrival before which versions are wanted. A version that the
// reader may not see is named in vain, as one that is not there.
func below(q *store.HistoryQuery, c *engine.Conn, scope gate.Scope, address []engine.Value) (engine.Value, error) {
	if q.Before == "" {
		if q.Below > 0 {
			return q.Below, nil
		}
		return int64(math.MaxInt64), nil
	}
	id, ok := lowerHex32(q.Before)
	w := &where{any: true}
	w.text(sqlBefore, append([]engine.Value{id}, address...)...)
	scopeWhere(w, scope, nostr.Filter{}, fromHistory, dAny)
	row, err := c.One(w.sql.String(), w.args...)
	if err == nil && (!ok || row == nil) {
		err = fmt.Errorf("%w: before names no version that is shown here", store.ErrFilter)
	}
	if err != nil {
		return nil, err
	}
	return row[0], nil
}
