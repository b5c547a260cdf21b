// Package outbox keeps the table of events that wait for further relays, or for
// this one, and what those refused. It takes part in what the writer does: it
// executes the commands about them, and queues what is to be sent on in the
// transaction that stores it.
package outbox

import (
	"context"
	"errors"
	"log/slog"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
)

// Writer is what the writer does to these tables. It is used on the writer's
// goroutine alone.
type Writer struct {
	*engine.Writer
	c   *engine.Conn
	log *slog.Logger
}

// NewWriter returns the part of w that is about these tables.
func NewWriter(w *engine.Writer, log *slog.Logger) *Writer { return &Writer{w, w.Conn(), log} }

// Store reads these tables, and has the commands executed that are about them.
type Store struct {
	db     *engine.DB
	orders store.Orders
}

// NewStore returns what waits in a database.
func NewStore(db *engine.DB, orders store.Orders) *Store { return &Store{db, orders} }

// Vanished takes what an author has on its way off all lists, and forgets who
// refused it.
func (w *Writer) Vanished(author []byte, until int64) error {
	return w.Run(engine.Do(sqlVanishOutboxFor, author, until), engine.Do(sqlVanishOutbox, author, until), engine.Do(sqlVanishRefusals, author, until))
}

// Execute executes the commands on the outbox.
func (w *Writer) Execute(c store.Command) (answer any, handled bool, err error) {
	switch c := c.(type) {
	case store.QueueEvent:
		err = w.queue(c)
	case store.OutboxDone:
		err = w.removeFromOutbox(c.Target, c.Numbers)
	case store.OutboxForget:
		answer, err = w.forgetOutbox(c.Target, c.Until)
	case store.OutboxWithdraw:
		err = w.withdrawFromOutbox(c.EventID)
	case store.OutboxKeep:
		err = w.keepOutbox(c.Targets)
	case store.OutboxRefused:
		err = w.noteRefusal(c)
	default:
		return nil, false, nil
	}
	return answer, true, err
}

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
	return w.Do(sqlOutboxClean, n)
}

// ContractRefusals lists what relays refused the events with these ids (32
// bytes), in the order of the ids.
func (s *Store) ContractRefusals(ctx context.Context, ids [][]byte) (out [][]store.ContractRefusal, err error) {
	err = s.db.Read(ctx, engine.LookUp, func(ctx context.Context, c *engine.Conn) error {
		for _, id := range ids {
			of, err := engine.List(ctx, c, func(v engine.Row) (store.ContractRefusal, error) {
				return store.ContractRefusal{Target: v.Text(0), Reason: v.Text(1), At: v.Int(2), Final: v.Int(3) == 1}, nil
			}, sqlRefusals, id)
			if err != nil {
				return err
			}
			out = append(out, of)
		}
		return nil
	})
	return out, err
}
