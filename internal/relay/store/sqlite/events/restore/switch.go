package restore

import (
	"bytes"
	"context"
	"fmt"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/apply"
	"engramd/internal/relay/store/sqlite/events/record"
)

// switching is the transaction in which a restore takes effect.
type switching struct {
	w      *Writer
	staged bool // of what was staged under num; else of what is in quarantine
	num    int64
	agent  []byte
	o      store.RestoreOptions
	done   store.Restored
}

func (s *switching) run() error {
	if s.o.Mode == store.Rollback {
		if err := s.clearHeads(); err != nil {
			return err
		}
		if err := s.clearVersions(); err != nil {
			return err
		}
	}
	return s.apply()
}

const sqlStaged = `SELECT part, created_at, id, json FROM staged
	WHERE restore = ?1 AND (part, created_at, id) > (?2, ?3, ?4) ORDER BY part, created_at, id LIMIT ?5`

// apply stores what was staged, part by part and oldest first.
func (s *switching) apply() error {
	last := []engine.Value{int64(-1), int64(0), []byte{}}
	for {
		n := 0
		args := append([]engine.Value{s.num}, append(last, int64(apply.SweepChunk))...)
		err := s.w.Events.Conn().Each(sqlStaged, args, func(row engine.Row) error {
			n++
			last = row[:3:3]
			return s.take(int(row[0].(int64)), row[3].([]byte))
		})
		if err != nil || n == 0 {
			return err
		}
	}
}

// take stores one staged event.
func (s *switching) take(order int, json []byte) error {
	rec, err := record.Parse(json, s.w.Events.Table)
	if err != nil {
		return err
	}
	if !s.staged || s.o.Mode == store.Rollback {
		if err := s.w.Events.DropFloor(rec); err != nil {
			return err
		}
	}
	result, err := s.w.Events.Restore(rec, order == applyOrder(store.Versions))
	if err == nil && !s.staged && result.Outcome == store.Stale { // it was a head, and a newer one is here
		result, err = s.w.Events.Restore(rec, true)
	}
	if err != nil {
		return err
	}
	counter := map[store.Outcome]*int64{
		store.Stored: &s.done.Stored, store.Replaced: &s.done.Replaced, store.Duplicate: &s.done.Present, store.Stale: &s.done.Kept,
		store.Deleted: &s.done.Deleted, store.Refused: &s.done.Expired,
	}[result.Outcome]
	if counter == nil {
		return fmt.Errorf("an event could not be stored: %w", result.Err)
	}
	*counter++
	return nil
}

const (
	sqlHeadsOf    = `SELECT seq, kind, d, created_at, id FROM events WHERE author = ? AND kind IN (30174, 10002) ORDER BY seq`
	sqlVersionsOf = `SELECT seq, kind, d, created_at, id FROM history WHERE pubkey = ? AND kind = 30174 ORDER BY seq`
	sqlTarget     = `SELECT created_at, id FROM staged WHERE restore = ? AND kind = ? AND pubkey = ? AND d = ? AND part IN (2, 3)`
)

// stagedHead is a staged head.
type stagedHead struct {
	created int64
	id      []byte
}

// older reports whether h comes before an event with this created_at and id,
// which would replace it.
func (h stagedHead) older(created int64, id []byte) bool {
	if created != h.created {
		return created > h.created
	}
	return bytes.Compare(id, h.id) < 0
}

// target is the staged head of an address; ok is false when it has none.
func (s *switching) target(kind, d engine.Value) (h stagedHead, ok bool, err error) {
	row, err := s.w.Events.Conn().One(sqlTarget, s.num, kind, s.agent, d)
	if err != nil || row == nil {
		return stagedHead{}, false, err
	}
	return stagedHead{created: row[0].(int64), id: row[1].([]byte)}, true, nil
}

// clearHeads takes away the heads of the agent that are newer than the staged
// ones, or stand where none is staged.
func (s *switching) clearHeads() error {
	who, err := s.w.Events.Keys.Number(record.Pubkey(s.agent))
	if err != nil || who == 0 {
		return err
	}
	return s.w.Events.Conn().Each(sqlHeadsOf, []engine.Value{who}, func(row engine.Row) error {
		target, ok, err := s.target(row[1], row[2])
		if err != nil {
			return err
		}
		if ok && !target.older(row[3].(int64), row[4].([]byte)) {
			return nil
		}
		seq := row[0].(int64)
		if err := s.quarantine("events", seq, true); err != nil {
			return err
		}
		return s.w.Events.RemoveEvent(seq, apply.NoReason)
	})
}

// clearVersions takes away superseded versions that are newer than the staged
// heads, and the staged heads themselves, which become heads again.
func (s *switching) clearVersions() error {
	return s.w.Events.Conn().Each(sqlVersionsOf, []engine.Value{s.agent}, func(row engine.Row) error {
		target, ok, err := s.target(row[1], row[2])
		if err != nil {
			return err
		}
		seq, created, id := row[0], row[3].(int64), row[4].([]byte)
		switch {
		case ok && bytes.Equal(id, target.id): // stored anew as head
		case ok && target.older(created, id), !ok && created > s.o.AsOf:
			if err := s.quarantine("history", seq.(int64), false); err != nil {
				return err
			}
		default:
			return nil
		}
		_, err = s.w.Events.RemoveHistory(apply.NoReason, `SELECT seq, pubkey, length(json) FROM history WHERE seq = ?`, seq)
		return err
	})
}

func (s *switching) quarantine(table string, seq int64, isHead bool) error {
	s.done.Quarantined++
	return s.w.Events.Quarantine(s.o.Name, table, seq, isHead)
}

const (
	sqlQuarantines = `SELECT restore, pubkey, min(moved_at), sum(head), sum(1-head) FROM quarantine
		GROUP BY restore, pubkey ORDER BY 3 DESC, 1`
	sqlQuarantined = `SELECT num, head, created_at, json FROM quarantine WHERE restore = ?1 AND (head, created_at, num) > (?2, ?3, ?4)
		ORDER BY head, created_at, num LIMIT ?5`
	// Also of those that were not taken, as what expired or is banned.
	sqlForget = `DELETE FROM rolled_back WHERE id IN (SELECT id FROM quarantine WHERE restore = ?)`
)

// Quarantines lists what rollbacks took away, newest first. It needs the
// operator's scope.
func (r *Restorer) Quarantines(ctx context.Context, scope gate.Scope) (out []store.Quarantine, err error) {
	if !scope.All() {
		return nil, fmt.Errorf("%w: quarantine is the operator's", store.ErrFilter)
	}
	return engine.ReadList(ctx, r.DB, engine.Scan, func(row engine.Row) (store.Quarantine, error) {
		return store.Quarantine{Name: row.Text(0), Agent: row.Hex(1), MovedAt: row.Int(2), Heads: row.Int(3), Versions: row.Int(4)}, nil
	}, sqlQuarantines)
}

// ReleaseQuarantine brings back what a rollback took away, in one transaction:
// heads where nothing newer is here by now, else, as all others, history.
func (r *Restorer) ReleaseQuarantine(ctx context.Context, name string) (store.Restored, error) {
	return r.switchState(ctx, store.ReleaseQuarantine{Name: name})
}

// Release is ReleaseQuarantine in its transaction.
func (w *Writer) Release(name string) (store.Restored, error) {
	return w.switchState(&switching{w: w}, func(sw *switching) error {
		n, err := sw.release(name)
		if err == nil && n == 0 {
			err = fmt.Errorf("%w: %s", store.ErrNoQuarantine, name)
		}
		return err
	})
}

// release stores what is in quarantine under a name, superseded versions first,
// and empties it.
func (s *switching) release(name string) (n int, err error) {
	last := []engine.Value{int64(-1), int64(0), int64(0)}
	for {
		before := n
		args := append([]engine.Value{name}, append(last, int64(apply.SweepChunk))...)
		err := s.w.Events.Conn().Each(sqlQuarantined, args, func(row engine.Row) error {
			n++
			last = []engine.Value{row[1], row[2], row[0]}
			order := applyOrder(store.Versions)
			if row[1].(int64) == 1 {
				order = applyOrder(store.Heads)
			}
			return s.take(order, row[3].([]byte))
		})
		if err != nil {
			return n, err
		}
		if n == before {
			if _, err := s.w.Events.Exec(sqlForget, name); err != nil {
				return n, err
			}
			_, err := s.w.Events.Exec(`DELETE FROM quarantine WHERE restore = ?`, name)
			return n, err
		}
	}
}

// DropQuarantine forgets for good what a rollback took away, but for the ids:
// whoever sends one of the events again is refused.
func (r *Restorer) DropQuarantine(ctx context.Context, name string) error {
	return r.Order.Tell(ctx, store.DropQuarantine{Name: name})
}

// Drop is DropQuarantine in its transaction.
func (w *Writer) Drop(name string) error {
	n, err := w.Events.Exec(`DELETE FROM quarantine WHERE restore = ?`, name)
	if err == nil && n == 0 {
		err = fmt.Errorf("%w: %s", store.ErrNoQuarantine, name)
	}
	return err
}
