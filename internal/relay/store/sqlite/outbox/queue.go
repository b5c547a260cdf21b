package outbox

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
)

// maxOutbox bounds the events that wait for further relays.
const maxOutbox = 1_000_000

const (
	sqlOutboxHas   = `SELECT n FROM contract_outbox WHERE id = ?`
	sqlOutboxCount = `SELECT count(*) FROM contract_outbox`
	sqlOutboxAdd   = `INSERT INTO contract_outbox(id, author, contract, created_at, queued_at, json) VALUES (?, ?, ?, ?, ?, ?)`
	sqlOutboxTime  = `SELECT max(created_at) FROM contract_outbox WHERE contract = ? AND author = ?`
	sqlOutboxLast  = `SELECT last_insert_rowid()`
	sqlOutboxFor   = `INSERT INTO contract_outbox_for(target, n) VALUES (?, ?) ON CONFLICT DO NOTHING`
	sqlOutboxPage  = `SELECT o.n, o.contract, o.author, o.queued_at, o.json,
		f.target <> '' AND EXISTS (SELECT 1 FROM contract_outbox_for AS l WHERE l.target = '' AND l.n = f.n)
		FROM contract_outbox_for AS f JOIN contract_outbox AS o ON o.n = f.n WHERE f.target = ? AND f.n > ? ORDER BY f.n LIMIT ?`
	sqlOutboxDone  = `DELETE FROM contract_outbox_for WHERE target = ? AND n = ?`
	sqlOutboxDrop  = `DELETE FROM contract_outbox_for WHERE n = ?`
	sqlOutboxClean = `DELETE FROM contract_outbox WHERE n = ?1 AND NOT EXISTS (SELECT 1 FROM contract_outbox_for WHERE n = ?1)`
	sqlOutboxLoose = `SELECT DISTINCT target FROM contract_outbox_for`
	sqlOutboxLeave = `DELETE FROM contract_outbox_for WHERE target = ?`
	sqlOutboxSweep = `DELETE FROM contract_outbox WHERE NOT EXISTS (SELECT 1 FROM contract_outbox_for AS f WHERE f.n = contract_outbox.n)`
	sqlOutboxSome  = `SELECT n FROM contract_outbox_for WHERE target = ? AND n <= ? ORDER BY n LIMIT ?`
	sqlOutboxEnd   = `SELECT max(n) FROM contract_outbox_for WHERE target = ?`
	sqlOutboxLag   = `SELECT f.target, count(*), min(o.queued_at) FROM contract_outbox_for AS f JOIN contract_outbox AS o ON o.n = f.n GROUP BY f.target`
	// What an author who vanishes has on its way goes nowhere any more.
	sqlVanishOutboxFor = `DELETE FROM contract_outbox_for WHERE n IN (SELECT n FROM contract_outbox WHERE author = ? AND created_at <= ?)`
	sqlVanishOutbox    = `DELETE FROM contract_outbox WHERE author = ? AND created_at <= ?`
	sqlOutboxWaits     = `SELECT 1 FROM contract_outbox AS o JOIN contract_outbox_for AS f ON f.n = o.n AND f.target = ''
		WHERE o.contract = ? AND o.author = ? LIMIT 1`
)

func (w *Writer) queue(c store.QueueEvent) error {
	ev, err := column.Event(c.Event)
	if err != nil {
		return err
	}
	row, err := outboxRow(ev, c.Event)
	if err != nil {
		return err
	}
	return w.queueEvent(row, c.Targets)
}

// outboxRow is the columns of sqlOutboxAdd but for queued_at.
func outboxRow(ev *nostr.Event, json []byte) ([]engine.Value, error) {
	id, ok1 := column.Hex32(ev.ID)
	author, ok2 := column.Hex32(ev.PubKey)
	if !ok1 || !ok2 {
		return nil, errors.New("the outbox takes signed events")
	}
	return []engine.Value{id, author, ev.Tags.GetD(), int64(ev.CreatedAt), nil, json}, nil
}

// queueEvent puts a row of the outbox on the targets' lists.
func (w *Writer) queueEvent(row []engine.Value, targets []string) error {
	n, err := w.c.Number(sqlOutboxHas, row[0])
	if err != nil {
		return err
	}
	if n == 0 {
		if n, err = w.addToOutbox(row, targets); err != nil {
			return err
		}
	}
	for _, target := range targets {
		if _, err := w.Exec(sqlOutboxFor, target, n); err != nil {
			return err
		}
	}
	return nil
}

// Forward queues a record that is being stored for further relays, in the same
// transaction. A full outbox keeps no event out: it is stored and not queued.
func (w *Writer) Forward(ev *nostr.Event, json []byte, targets []string) error {
	row, err := outboxRow(ev, json)
	if err != nil {
		return err
	}
	err = w.queueEvent(row, targets)
	if errors.Is(err, store.ErrOutboxFull) {
		w.log.Error("too much waits for further relays: an entry is not published there")
		return nil
	}
	return err
}

func (w *Writer) addToOutbox(row []engine.Value, targets []string) (n int64, err error) {
	waiting, err := w.c.Number(sqlOutboxCount)
	if err != nil {
		return 0, err
	}
	if waiting >= maxOutbox && !slices.Contains(targets, store.OutboxLocal) {
		return 0, store.ErrOutboxFull
	}
	row[4] = w.Now
	if _, err := w.Exec(sqlOutboxAdd, row...); err != nil {
		return 0, err
	}
	return w.c.Number(sqlOutboxLast)
}

// Outbox reads what waits for a target, in order, after a number and at most
// limit events.
func (s *Store) Outbox(ctx context.Context, target string, after int64, limit int) (items []store.OutboxItem, err error) {
	return engine.ReadList(ctx, s.db, engine.Scan, func(v engine.Row) (it store.OutboxItem, err error) {
		it = store.OutboxItem{N: v.Int(0), Contract: v.Text(1), Author: v.Hex(2), Queued: v.Int(3), JSON: v.Blob(4), Ahead: v.Int(5) == 1}
		if it.JSON == nil {
			err = fmt.Errorf("outbox row: %w", column.ErrDamaged)
		}
		return it, err
	}, sqlOutboxPage, target, after, int64(limit))
}

func (w *Writer) removeFromOutbox(target string, numbers []int64) error {
	for _, n := range numbers {
		if err := w.Run(engine.Do(sqlTakenAfter, target, n), engine.Do(sqlOutboxDone, target, n), engine.Do(sqlOutboxClean, n)); err != nil {
			return err
		}
	}
	return nil
}

// forgetChunk is how many events OutboxForget takes off a list in one
// transaction.
const forgetChunk = 500

// OutboxForget takes off the list of a further relay what is on it now, and
// returns how many events that were, also when it ends with an error. target may
// not be this relay itself.
func (s *Store) OutboxForget(ctx context.Context, target string) (gone int64, err error) {
	if target == store.OutboxLocal {
		return 0, errors.New("what waits for this relay itself is not given up")
	}
	for some := (store.Forgotten{Until: -1, More: true}); some.More; {
		if some, err = store.Answer[store.Forgotten](ctx, s.orders, store.OutboxForget{Target: target, Until: some.Until}); err != nil {
			return gone, err
		}
		gone += some.Events
	}
	return gone, nil
}

func (w *Writer) forgetOutbox(target string, until int64) (out store.Forgotten, err error) {
	if until < 0 {
		if until, err = w.c.Number(sqlOutboxEnd, target); err != nil {
			return out, err
		}
	}
	numbers, err := engine.List(context.Background(), w.c, func(v engine.Row) (int64, error) { return v.Int(0), nil },
		sqlOutboxSome, target, until, int64(forgetChunk))
	if err != nil {
		return out, err
	}
	return store.Forgotten{Events: int64(len(numbers)), Until: until, More: len(numbers) == forgetChunk}, w.removeFromOutbox(target, numbers)
}

func (w *Writer) withdrawFromOutbox(eventID string) error {
	id, ok := column.Hex32(eventID)
	if !ok {
		return nil
	}
	n, err := w.c.Number(sqlOutboxHas, id)
	if err != nil || n == 0 {
		return err
	}
	return w.Run(engine.Do(sqlOutboxDrop, n), engine.Do(sqlOutboxClean, n))
}

func (w *Writer) keepOutbox(targets []string) error {
	var gone []string
	err := w.c.Query(context.Background(), sqlOutboxLoose, nil, func(v engine.Row) error {
		if target := v.Text(0); target != store.OutboxLocal && !slices.Contains(targets, target) {
			gone = append(gone, target)
		}
		return nil
	})
	if err != nil || len(gone) == 0 {
		return err
	}
	for _, target := range gone {
		if err := w.Run(engine.Do(sqlOutboxLeave, target), engine.Do(sqlRefusalGone, target)); err != nil {
			return err
		}
	}
	return w.Do(sqlOutboxSweep)
}

// OutboxWaits reports whether an event of an author, in hex, for the contract
// waits for this relay.
func (s *Store) OutboxWaits(ctx context.Context, contract, author string) (waits bool, err error) {
	blob, ok := column.Hex32(author)
	if !ok {
		return false, nil
	}
	return engine.Look(ctx, s.db, (*engine.Conn).Exists, sqlOutboxWaits, contract, blob)
}

// OutboxNewest is the greatest created_at of what an author, in hex, has
// waiting for a contract; 0 for nothing.
func (s *Store) OutboxNewest(ctx context.Context, contract, author string) (at int64, err error) {
	blob, ok := column.Hex32(author)
	if !ok {
		return 0, nil
	}
	return engine.Look(ctx, s.db, (*engine.Conn).Number, sqlOutboxTime, contract, blob)
}

// OutboxLag says for each target how many events wait, and since when the
// oldest does, in Unix seconds. Targets that nothing waits for are not in it.
func (s *Store) OutboxLag(ctx context.Context, fn func(target string, waiting, oldest int64)) error {
	return s.db.Read(ctx, engine.Scan, func(ctx context.Context, c *engine.Conn) error {
		return c.Query(ctx, sqlOutboxLag, nil, func(v engine.Row) error {
			fn(v.Text(0), v.Int(1), v.Int(2))
			return nil
		})
	})
}
