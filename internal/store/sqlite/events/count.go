package events

import (
	"context"
	"fmt"
	"strings"
	"time"

	"engramd/internal/store"
	"engramd/internal/store/sqlite/engine"
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
func (s *Store) Count(ctx context.Context, asks []store.Ask) (n int64, err error) {
	defer s.observed("count", time.Now(), &err)
	var wants []*wanted
	var some []store.Ask
	for _, ask := range asks {
		want, err := compile(ask.Filter)
		if err != nil {
			return 0, err
		}
		if ask.Filter.Search != "" && !s.SearchEnabled() {
			return 0, store.ErrNoSearch
		}
		if !want.none {
			ask.After = nil
			wants, some = append(wants, want), append(some, ask)
		}
	}
	if len(some) == 0 {
		return 0, nil
	}
	err = s.db.InTime(ctx, effortOfCount(some, wants), func(ctx context.Context, c *engine.Conn) error {
		text, args, err := s.countSQL(ctx, c, some, wants)
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
func (s *Store) countSQL(ctx context.Context, c *engine.Conn, asks []store.Ask, wants []*wanted) (string, []engine.Value, error) {
	var terms []string
	var args []engine.Value
	once := len(asks) == 1
	for i, ask := range asks {
		r := s.reading(ctx, c, ask, wants[i])
		r.whole = true
		spans, err := r.countSpans()
		if err != nil {
			return "", nil, err
		}
		for _, sp := range spans {
			var w where
			w.and(sp.lead, sp.args...)
			r.conditions(&w, sp.shape)
			terms = append(terms, " FROM "+sp.from+" WHERE "+w.sql.String())
			args = append(args, w.args...)
			once = once && len(spans) == 1 && !sp.repeats
		}
	}
	if len(terms) > maxTerms || len(args) > maxArguments {
		return "", nil, fmt.Errorf("%w: too many values in all filters together", store.ErrFilter)
	}
	switch {
	case len(terms) == 0:
		return "SELECT 0", nil, nil
	case once:
		return "SELECT count(*)" + terms[0], args, nil
	case len(terms) == 1:
		return "SELECT count(DISTINCT e.seq)" + terms[0], args, nil
	}
	// One set for all: a UNION has one for each of its terms.
	return "SELECT count(DISTINCT seq) FROM (SELECT e.seq AS seq" + strings.Join(terms, " UNION ALL SELECT e.seq") + ")", args, nil
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
