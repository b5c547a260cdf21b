package outbox

import (
	"context"
	"errors"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
)

const (
	sqlRefused = `INSERT INTO contract_refusals(id, target, author, contract, created_at, reason, at, final) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (id, target) DO UPDATE SET reason = excluded.reason, final = excluded.final`
	sqlRefusals    = `SELECT target, reason, at, final FROM contract_refusals WHERE id = ? ORDER BY target`
	sqlTakenAfter  = `DELETE FROM contract_refusals WHERE target = ?1 AND id = (SELECT id FROM contract_outbox WHERE n = ?2)`
	sqlRefusalGone = `DELETE FROM contract_refusals WHERE target = ? AND final = 0`
	// An author who vanishes is forgotten here too.
	sqlVanishRefusals = `DELETE FROM contract_refusals WHERE author = ? AND created_at <= ?`
)

// OutboxRefused notes that a target refused an event with a word, and whether
// that is the end of it: then the event is taken off the target's list. That of
// this relay is the end for the others too: what it never takes is published
// nowhere.
func (s *Store) OutboxRefused(ctx context.Context, target string, ev *nostr.Event, reason string, final bool) error {
	return s.orders.Tell(ctx, store.OutboxRefused{Target: target, EventID: ev.ID, Author: ev.PubKey, Contract: ev.Tags.GetD(),
		CreatedAt: int64(ev.CreatedAt), Reason: reason, Final: final})
}

func (w *Writer) noteRefusal(c store.OutboxRefused) error {
	id, ok1 := column.Hex32(c.EventID)
	author, ok2 := column.Hex32(c.Author)
	if !ok1 || !ok2 {
		return errors.New("the outbox takes signed events")
	}
	n, err := w.c.Number(sqlOutboxHas, id)
	if err != nil || n == 0 {
		return err // taken back meanwhile
	}
	_, err = w.Exec(sqlRefused, id, c.Target, author, c.Contract, c.CreatedAt, c.Reason, w.Now, column.Bool(c.Final))
	if err != nil || !c.Final {
		return err
	}
	if c.Target == store.OutboxLocal {
		_, err = w.Exec(sqlOutboxDrop, n)
	} else {
		_, err = w.Exec(sqlOutboxDone, c.Target, n)
	}
	if err != nil {
		return err
	}
	_, err = w.Exec(sqlOutboxClean, n)
	return err
}

// ContractRefusals lists what relays refused the events with these ids (32
// bytes), in the order of the ids.
func (s *Store) ContractRefusals(ctx context.Context, ids [][]byte) (out [][]store.ContractRefusal, err error) {
	err = s.db.Read(ctx, engine.LookUp, func(ctx context.Context, c *engine.Conn) error {
		for _, id := range ids {
			var of []store.ContractRefusal
			err := c.Query(ctx, sqlRefusals, []engine.Value{id}, func(v []engine.Value) error {
				r := store.ContractRefusal{Final: v[3] == int64(1)}
				r.Target, _ = v[0].(string)
				r.Reason, _ = v[1].(string)
				r.At, _ = v[2].(int64)
				of = append(of, r)
				return nil
			})
			if err != nil {
				return err
			}
			out = append(out, of)
		}
		return nil
	})
	return out, err
}
