// Package retention removes what filters of the operator match, and what
// retention.rules do not keep. It finds that on read connections, and has it removed
// in bounded transactions of the writer.
package retention

import (
	"context"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/apply"
	"engramd/internal/relay/store/sqlite/events/query"
)

// Cleaner removes what filters of the operator match.
type Cleaner struct {
	Reader *query.Reader
	Order  store.Orders
}

func newRemoval() store.Removal {
	return store.Removal{Events: map[int]int64{}, Versions: map[int]int64{}, Quarantined: map[int]int64{}, Spared: map[int]int64{}}
}

// countOf is the counter of a shelf.
func countOf(r *store.Removal, p shelf) map[int]int64 {
	return [...]map[int]int64{r.Events, r.Versions, r.Quarantined}[p]
}

// CountMatching counts what RemoveMatching would remove now. It changes
// nothing, and works on a store that is open for reading alone. Scope and
// filters are as of RemoveMatching.
func (c *Cleaner) CountMatching(ctx context.Context, scope gate.Scope, filters []nostr.Filter) (store.Removal, error) {
	out := newRemoval()
	err := c.eachMatching(ctx, scope, filters, func(found []match) error {
		for _, m := range found {
			if m.spare {
				out.Spared[m.kind]++
			} else {
				countOf(&out, m.place)[m.kind]++
			}
		}
		return nil
	})
	return out, err
}

// RemoveMatching removes what any of the filters matches: heads, regular
// events, superseded versions and what lies in quarantine, but of kinds that
// must be named only what a filter names. It goes piece by piece, each a
// transaction of its own with others' writes in between; after an error, what
// had been removed is gone, and is counted. What is removed may be published
// again, but a superseded version, or one older than a removed head, does not
// become head (see apply/versions.go).
//
// It needs the operator's scope, and filters without Search and Limit:
// ErrFilter.
func (c *Cleaner) RemoveMatching(ctx context.Context, scope gate.Scope, filters []nostr.Filter) (store.Removal, error) {
	out := newRemoval()
	err := c.eachMatching(ctx, scope, filters, func(found []match) error {
		var doomed []match
		for _, m := range found {
			if m.spare {
				out.Spared[m.kind]++
			} else {
				doomed = append(doomed, m)
			}
		}
		return c.removeFound(ctx, doomed, &out)
	})
	return out, err
}

// Bounds of one transaction of removals: some 20 ms on a busy machine.
const (
	removalRows = 100
	removalCost = engine.StepCost
)

// removeFound removes rows in pieces and counts those that were there.
func (c *Cleaner) removeFound(ctx context.Context, list []match, out *store.Removal) error {
	for len(list) > 0 {
		n, cost := 0, 0
		for n < len(list) && n < removalRows && (n == 0 || cost+list[n].cost <= removalCost) {
			cost += list[n].cost
			n++
		}
		rows := make([]store.MatchedRow, n)
		for i, m := range list[:n] {
			rows[i] = store.MatchedRow{Quarantined: m.place == inQuarantine, Seq: m.seq, ID: m.id, Kind: m.kind}
		}
		done, err := store.Answer[store.Removal](ctx, c.Order, store.RemoveRows{Rows: rows})
		if err != nil {
			return err
		}
		for _, p := range []shelf{inEvents, inHistory, inQuarantine} {
			for kind, n := range countOf(&done, p) {
				countOf(out, p)[kind] += n
			}
		}
		list = list[n:]
	}
	return ctx.Err()
}

// RemoveRows removes rows that were matched, and counts those that are there.
func RemoveRows(w *apply.Writer, list []store.MatchedRow) (store.Removal, error) {
	done := newRemoval()
	for _, m := range list {
		from, ok, err := removeMatch(w, m)
		if err != nil {
			return store.Removal{}, err
		}
		if ok {
			countOf(&done, from)[m.Kind]++
		}
	}
	return done, nil
}

const (
	sqlRemovable       = `SELECT kind, pubkey, d, created_at, id FROM events WHERE seq = ?`
	sqlRemovableOld    = `SELECT kind, pubkey, d, created_at FROM history WHERE seq = ?`
	sqlVersionBySeq    = `SELECT seq, pubkey, length(json) FROM history WHERE seq = ?`
	sqlUnquarantineRow = `DELETE FROM quarantine WHERE num = ? AND id = ?`
)

// removeMatch removes one row, which may have been superseded since it was
// found, and reports where it was.
func removeMatch(w *apply.Writer, m store.MatchedRow) (from shelf, ok bool, err error) {
	if m.Quarantined {
		n, err := w.Unquarantine(sqlUnquarantineRow, m.Seq, m.ID)
		return inQuarantine, n > 0, err
	}
	for _, table := range []string{"events", "history"} {
		if err := w.Settle(table, m.Seq); err != nil {
			return 0, false, err
		}
	}
	row, err := w.Conn().One(sqlRemovable, m.Seq)
	if err != nil {
		return 0, false, err
	}
	if row != nil {
		if row[2] != nil {
			if err := w.RaiseFloor(row[0], row[1], row[2], row[3], row[4].([]byte)); err != nil {
				return 0, false, err
			}
		}
		return inEvents, true, w.RemoveEvent(m.Seq, apply.ByOperator)
	}
	if row, err = w.Conn().One(sqlRemovableOld, m.Seq); err != nil || row == nil {
		return 0, false, err
	}
	if err := w.RaiseFloor(row[0], row[1], row[2], row[3], []byte{}); err != nil {
		return 0, false, err
	}
	_, err = w.RemoveHistory(apply.ByOperator, sqlVersionBySeq, m.Seq)
	return inHistory, true, err
}
