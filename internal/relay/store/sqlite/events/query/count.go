package query

import (
	"context"
	"fmt"
	"strings"
	"time"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine"
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
		return c.Query(ctx, text, args, func(v []engine.Value) error {
			n, _ = v[0].(int64)
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
		return "SELECT count(*)" + all.from[0], all.args, nil
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
	once bool // no row is met more than once
}

// numbers selects the rows' numbers, some more than once.
func (t *terms) numbers() string {
	return "SELECT e.seq AS seq" + strings.Join(t.from, " UNION ALL SELECT e.seq")
}

func (q *Reader) terms(ctx context.Context, c *engine.Conn, asks []store.Ask, wants []*Wanted) (all terms, err error) {
	all.once = len(asks) == 1
	for i, ask := range asks {
		r := q.reading(ctx, c, ask, wants[i])
		r.whole = true
		spans, err := r.countSpans()
		if err != nil {
			return terms{}, err
		}
		for _, sp := range spans {
			var w Where
			w.And(sp.lead, sp.args...)
			r.conditions(&w, sp.shape)
			all.from = append(all.from, " FROM "+sp.from+" WHERE "+w.SQL.String())
			all.args = append(all.args, w.Args...)
			all.once = all.once && len(spans) == 1 && !sp.repeats
		}
	}
	if len(all.from) > maxTerms || len(all.args) > maxArguments {
		return terms{}, fmt.Errorf("%w: too many values in all filters together", store.ErrFilter)
	}
	return all, nil
}

// countSpans are the spans of an ask for counting.
func (r *reading) countSpans() ([]span, error) {
	if r.want.filter.Search != "" {
		return r.matchSpans()
	}
	list, err := r.stretches(choose(r.want))
	if err != nil {
		return nil, err
	}
	out := make([]span, len(list))
	for i, st := range list {
		out[i] = st.together()
	}
	return out, nil
}
