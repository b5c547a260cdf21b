package query

import (
	"context"
	"fmt"
	"strings"
	"time"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/nips/nip77"
)

// Bounds of one counting statement, below SQLite's own (32,766 arguments, 500
// terms).
const (
	maxArguments = 32_000
	maxTerms     = 400
)

// Count returns how many distinct events the asks match together, each within
// its own scope: exactly those that Query, or Search, would return without any
// limit. Above, After and the page bounds are not looked at. Errors are as of
// Query; ErrNoSearch is for an ask with a search where there is no index.
func (q *Reader) Count(ctx context.Context, asks []store.Ask) (n int64, err error) {
	defer q.Observed("count", time.Now(), &err)
	var wants []*Wanted
	var some []store.Ask
	for _, ask := range asks {
		want, err := Compile(ask.Filter)
		if err != nil {
			return 0, err
		}
		if ask.Filter.Search != "" && !q.SearchEnabled() {
			return 0, store.ErrNoSearch
		}
		if !want.None {
			ask.After = nil
			wants, some = append(wants, want), append(some, ask)
		}
	}
	if len(some) == 0 {
		return 0, nil
	}
	err = q.DB.InTime(ctx, effortOfCount(some, wants), func(ctx context.Context, c *engine.Conn) error {
		text, args, err := q.countSQL(ctx, c, some, wants)
		if err != nil {
			return err
		}
		return c.Query(ctx, text, args, func(v engine.Row) error {
			n = v.Int(0)
			return nil
		})
	})
	return n, err
}

// countSQL counts one stretch of an index as it is, and takes the union of the
// rows' numbers where an event may be met more than once.
func (q *Reader) countSQL(ctx context.Context, c *engine.Conn, asks []store.Ask, wants []*Wanted) (string, []engine.Value, error) {
	all, err := q.terms(ctx, c, asks, wants)
	switch {
	case err != nil:
		return "", nil, err
	case len(all.from) == 0:
		return "SELECT 0", nil, nil
	case all.once:
		return "SELECT (SELECT count(*)" + strings.Join(all.from, ")+(SELECT count(*)") + ")", all.args, nil
	case len(all.from) == 1:
		return "SELECT count(DISTINCT e.seq)" + all.from[0], all.args, nil
	}
	// One set for all: a UNION has one for each of its terms.
	return "SELECT count(DISTINCT seq) FROM (" + all.numbers() + ")", all.args, nil
}

// terms are all rows that asks match: each a FROM with its WHERE.
type terms struct {
	from []string
	args []engine.Value
	once bool // no row is met more than once, in all of them
}

// of selects columns of all rows.
func (t *terms) of(columns string) string {
	return "SELECT " + columns + strings.Join(t.from, " UNION ALL SELECT "+columns)
}

// numbers selects the rows' numbers, some more than once.
func (t *terms) numbers() string {
	return t.of("e.seq AS seq")
}

func (q *Reader) terms(ctx context.Context, c *engine.Conn, asks []store.Ask, wants []*Wanted) (all terms, err error) {
	all.once = len(asks) == 1
	for i, ask := range asks {
		r := q.reading(ctx, c, ask, wants[i])
		r.whole = true
		spans, once, err := r.countSpans()
		if err != nil {
			return terms{}, err
		}
		for _, sp := range spans {
			var w Where
			w.And(sp.lead, sp.args...)
			r.conditions(&w, sp.shape)
			all.from = append(all.from, " FROM "+sp.from+" WHERE "+w.SQL.String())
			all.args = append(all.args, w.Args...)
			all.once = all.once && once && !sp.repeats
		}
	}
	if len(all.from) > maxTerms || len(all.args) > maxArguments {
		return terms{}, fmt.Errorf("%w: too many values in all filters together", store.ErrFilter)
	}
	return all, nil
}

// countSpans are the spans of an ask for counting, and whether no row is in two
// of them.
func (r *reading) countSpans() ([]span, bool, error) {
	if r.want.filter.Search != "" {
		spans, err := r.matchSpans()
		return spans, true, err
	}
	list, once, err := r.stretches(choose(r.want))
	if err != nil {
		return nil, false, err
	}
	out := make([]span, len(list))
	for i, st := range list {
		out[i] = st.together()
	}
	return out, once, nil
}

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
		var rotten []int64
		err = all.each(ctx, c, func(v engine.Row) error {
			if v[3] == engine.Value(int64(0)) || v[3] == nil && q.Rot.Has("events", v.Int(2)) {
				if len(rotten) < mostHidden {
					rotten = append(rotten, v.Int(2))
				}
				return nil // whoever has the event shall bring it
			}
			at, ok := v[0].(int64)
			id, ok2 := v[1].([]byte)
			if !ok || !ok2 || len(id) != 32 || len(ids) == cap(ids) {
				return column.ErrDamaged
			}
			ids = append(ids, nip77.Item{CreatedAt: at, ID: [32]byte(id)})
			return nil
		})
		if err == nil {
			err = q.noteAll(c, rotten)
		}
		return err
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
		rows = t.of("1")
	}
	args := append(t.args[:len(t.args):len(t.args)], int64(most))
	err = c.Query(ctx, "SELECT count(*) FROM ("+rows+" LIMIT ?)", args, func(v engine.Row) error {
		counted, ok := v[0].(int64)
		if !ok {
			return column.ErrDamaged
		}
		n = int(counted)
		return nil
	})
	return n, err
}

// each gives fn created_at, id, seq and column.Sound of every row, once.
func (t *terms) each(ctx context.Context, c *engine.Conn, fn func(v engine.Row) error) error {
	columns := "e.created_at,e.id,e.seq," + column.Sound("events", "e")
	text := "SELECT " + columns + " FROM events AS e WHERE e.seq IN (" + t.numbers() + ")"
	if t.once {
		text = t.of(columns)
	}
	return c.Query(ctx, text, t.args, fn)
}
