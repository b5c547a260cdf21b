package query

import (
	"context"
	"fmt"
	"time"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/nips/nip77"
)

// IDs returns the times and ids of all events that the filter matches and the
// scope shows: exactly those that Count counts, in no order, of one state of
// the database. They are counted first. If there are more than most, the answer
// is ErrMany. Else room is told how many come, and an error that it returns ends
// the call before memory is taken for them. The slice has no spare capacity. Limit, Above, After and the page bounds are not looked at. Errors
// are as of Query.
func (q *Reader) IDs(ctx context.Context, ask store.Ask, most int, room func(n int) error) (ids []nip77.Item, err error) {
	defer q.Observed("ids", time.Now(), &err)
	want, err := Compile(ask.Filter)
	switch {
	case err != nil:
		return nil, err
	case ask.Filter.Search != "":
		return nil, fmt.Errorf("%w: it has a search", store.ErrFilter)
	case want.None:
		return nil, room(0)
	}
	ask.After = nil
	asks, wants := []store.Ask{ask}, []*Wanted{want}
	err = q.DB.InTime(ctx, effortOfCount(asks, wants), func(ctx context.Context, c *engine.Conn) error {
		all, err := q.terms(ctx, c, asks, wants)
		if err != nil {
			return err
		}
		n, err := all.upTo(ctx, c, most+1)
		switch {
		case err != nil:
			return err
		case n > most:
			return store.ErrMany
		}
		if err := room(n); err != nil || n == 0 {
			return err
		}
		ids = make([]nip77.Item, 0, n)
		return all.each(ctx, c, func(v []engine.Value) error {
			at, ok := v[0].(int64)
			id, ok2 := v[1].([]byte)
			if !ok || !ok2 || len(id) != 32 || len(ids) == cap(ids) {
				return column.ErrDamaged
			}
			ids = append(ids, nip77.Item{CreatedAt: at, ID: [32]byte(id)})
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	return ids, nil
}

// upTo counts the rows, but no more than most.
func (t *terms) upTo(ctx context.Context, c *engine.Conn, most int) (n int, err error) {
	if len(t.from) == 0 {
		return 0, nil
	}
	rows := "SELECT DISTINCT seq FROM (" + t.numbers() + ")"
	if t.once {
		rows = "SELECT 1" + t.from[0]
	}
	args := append(t.args[:len(t.args):len(t.args)], int64(most))
	err = c.Query(ctx, "SELECT count(*) FROM ("+rows+" LIMIT ?)", args, func(v []engine.Value) error {
		counted, ok := v[0].(int64)
		if !ok {
			return column.ErrDamaged
		}
		n = int(counted)
		return nil
	})
	return n, err
}

// each gives fn created_at and id of every row, once.
func (t *terms) each(ctx context.Context, c *engine.Conn, fn func(v []engine.Value) error) error {
	text := "SELECT e.created_at,e.id FROM events AS e WHERE e.seq IN (" + t.numbers() + ")"
	if t.once {
		text = "SELECT e.created_at,e.id" + t.from[0]
	}
	return c.Query(ctx, text, t.args, fn)
}
