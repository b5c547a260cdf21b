package admin

import (
	"context"
	"errors"
	"fmt"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
)

// maxAdminEntries bounds each list of the management API: they lie in memory,
// in the write policy.
const maxAdminEntries = 100_000

const (
	sqlAdminLists = `SELECT list, key, verdict, text FROM admin_lists ORDER BY list, at, key`
	sqlAdminCount = `SELECT count(*) FROM admin_lists WHERE list = ?`
	sqlAdminHas   = `SELECT 1 FROM admin_lists WHERE list = ? AND key = ?`
	sqlAdminSet   = `INSERT INTO admin_lists(list, key, verdict, text, at) VALUES (?1, ?2, ?3, ?4, ?5)
		ON CONFLICT (list, key) DO UPDATE SET verdict = ?3, text = ?4, at = ?5`
	sqlAdminUnset = `DELETE FROM admin_lists WHERE list = ? AND key = ?`
)

// Administer makes a change to a list, nil for none, and writes the call to the
// audit table, in one transaction: after an error neither is there. A banned
// event is removed in it, as head, as regular event and from history, whether
// it was there or not, and cannot come back, by an import neither. The error
// wraps ErrAdminFull when the list has its most.
func (s *Store) Administer(ctx context.Context, change *store.AdminEntry, call store.AdminCall) error {
	return s.orders.Tell(ctx, store.Administer{Change: change, Call: call})
}

func (w *Writer) administer(c store.Administer) error {
	if c.Change != nil {
		if err := w.changeList(*c.Change); err != nil {
			return err
		}
	}
	return w.audit(c.Call)
}

func (w *Writer) changeList(e store.AdminEntry) error {
	at := []engine.Value{string(e.List), column.Of(e.Key)}
	if e.Verdict == store.AdminNone {
		return w.Do(sqlAdminUnset, at...)
	}
	has, err := w.c.Exists(sqlAdminHas, at...)
	if err != nil {
		return err
	}
	if !has {
		n, err := w.c.Number(sqlAdminCount, string(e.List))
		if err != nil {
			return err
		}
		if n >= maxAdminEntries {
			return fmt.Errorf("%w: %d entries", store.ErrAdminFull, n)
		}
	}
	if _, err := w.Exec(sqlAdminSet, at[0], at[1], string(e.Verdict), e.Text, w.Now); err != nil {
		return err
	}
	if e.List == store.AdminEvents && e.Verdict == store.AdminBanned {
		w.bans = true
		if id, ok := column.Hex32(e.Key); ok {
			return w.events.RemoveBanned(id)
		}
	}
	return nil
}

// AdminLists reads all lists, each in the order in which its entries were made
// or changed.
func (s *Store) AdminLists(ctx context.Context) (entries []store.AdminEntry, err error) {
	return engine.ReadList(ctx, s.db, engine.Scan, func(v engine.Row) (store.AdminEntry, error) {
		name, err := column.Text(v[1])
		return store.AdminEntry{List: store.AdminList(v.Text(0)), Key: name, Verdict: store.AdminVerdict(v.Text(2)), Text: v.Text(3)}, err
	}, sqlAdminLists)
}

const (
	sqlUseCall  = `INSERT INTO used_calls(id, key, at) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING`
	sqlOldCalls = `DELETE FROM used_calls WHERE at < ?`
	sqlCalls    = `SELECT id, key, at FROM used_calls WHERE at >= ? ORDER BY at`
)

// UseCalls notes calls, says which were noted before, and forgets those from
// before a time in Unix seconds, in one transaction.
func (s *Store) UseCalls(ctx context.Context, calls []store.UsedCall, before int64) (had []bool, err error) {
	return store.Answer[[]bool](ctx, s.orders, store.UseCalls{Calls: calls, Before: before})
}

func (w *Writer) useCalls(calls []store.UsedCall, before int64) (had []bool, err error) {
	had = make([]bool, len(calls))
	for i, c := range calls {
		id, ok1 := column.Hex32(c.ID)
		key, ok2 := column.Hex32(c.Key)
		if !ok1 || !ok2 {
			return nil, errors.New("a call is noted with an event id and a pubkey")
		}
		n, err := w.Exec(sqlUseCall, id, key, c.At)
		if err != nil {
			return nil, err
		}
		had[i] = n == 0
	}
	_, err = w.Exec(sqlOldCalls, before)
	return had, err
}

// UsedCalls gives fn the calls since a time in Unix seconds, in the order of
// their time.
func (s *Store) UsedCalls(ctx context.Context, since int64, fn func(store.UsedCall)) error {
	return s.db.Read(ctx, engine.Scan, func(ctx context.Context, c *engine.Conn) error {
		return c.Query(ctx, sqlCalls, []engine.Value{since}, func(v engine.Row) error {
			fn(store.UsedCall{ID: v.Hex(0), Key: v.Hex(1), At: v.Int(2)})
			return nil
		})
	})
}
