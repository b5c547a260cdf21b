package restore

import (
	"context"
	"fmt"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/apply"
)

const (
	sqlQuarantines = `SELECT restore, pubkey, min(moved_at), sum(head), sum(1-head) FROM quarantine
		GROUP BY restore, pubkey ORDER BY 3 DESC, 1`
	sqlQuarantined = `SELECT num, head, created_at, json FROM quarantine WHERE restore = ?1 AND (head, created_at, num) > (?2, ?3, ?4)
		ORDER BY head, created_at, num LIMIT ?5`
)

// Quarantines lists what rollbacks took away, newest first. It needs the
// operator's scope.
func (r *Restorer) Quarantines(ctx context.Context, scope gate.Scope) (out []store.Quarantine, err error) {
	if !scope.All() {
		return nil, fmt.Errorf("%w: quarantine is the operator's", store.ErrFilter)
	}
	err = r.DB.Read(ctx, engine.Scan, func(ctx context.Context, c *engine.Conn) error {
		return c.Query(ctx, sqlQuarantines, nil, func(row []engine.Value) error {
			name, _ := row[0].(string)
			out = append(out, store.Quarantine{Name: name, Agent: column.HexOf(row[1]), MovedAt: row[2].(int64),
				Heads: row[3].(int64), Versions: row[4].(int64)})
			return nil
		})
	})
	return out, err
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
		err := s.w.Events.Conn().Each(sqlQuarantined, args, func(row []engine.Value) error {
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
			_, err := s.w.Events.Exec(`DELETE FROM quarantine WHERE restore = ?`, name)
			return n, err
		}
	}
}

// DropQuarantine forgets for good what a rollback took away.
func (r *Restorer) DropQuarantine(ctx context.Context, name string) error {
	_, err := r.Order(ctx, store.DropQuarantine{Name: name})
	return err
}

// Drop is DropQuarantine in its transaction.
func (w *Writer) Drop(name string) error {
	n, err := w.Events.Exec(`DELETE FROM quarantine WHERE restore = ?`, name)
	if err == nil && n == 0 {
		err = fmt.Errorf("%w: %s", store.ErrNoQuarantine, name)
	}
	return err
}
