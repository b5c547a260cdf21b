package sqlite

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strings"
	"time"
)

// Bounds of one counting statement, below SQLite's own (32,766 arguments, 500 terms).
const (
	maxArguments = 32_000
	maxTerms     = 400
)

// Count returns how many distinct events the asks match together, each within its own scope: exactly those that Query, or
// Search, would return without any limit. Above, After and the page bounds are not looked at. Errors are as of Query; ErrNoSearch
// is for an ask with a search where there is no index.
func (s *Store) Count(ctx context.Context, asks []Ask) (n int64, err error) {
	defer s.observed("count", time.Now(), &err)
	var wants []*wanted
	var some []Ask
	for _, ask := range asks {
		want, err := compile(ask.Filter)
		if err != nil {
			return 0, err
		}
		if ask.Filter.Search != "" && !s.SearchEnabled() {
			return 0, ErrNoSearch
		}
		if !want.none {
			ask.After = nil
			wants, some = append(wants, want), append(some, ask)
		}
	}
	if len(some) == 0 {
		return 0, nil
	}
	err = s.inTime(ctx, effortOfCount(some, wants), func(ctx context.Context, c *conn) error {
		text, args, err := s.countSQL(ctx, c, some, wants)
		if err != nil {
			return err
		}
		return c.query(ctx, text, args, func(v []driver.Value) error {
			n, _ = v[0].(int64)
			return nil
		})
	})
	return n, err
}

// countSQL counts one stretch of an index as it is, and takes the union of the rows' numbers where an event may be met more
// than once.
func (s *Store) countSQL(ctx context.Context, c *conn, asks []Ask, wants []*wanted) (string, []driver.Value, error) {
	var terms []string
	var args []driver.Value
	once := len(asks) == 1
	for i, ask := range asks {
		r := s.reading(ctx, c, ask, wants[i])
		r.whole = true
		stretches, err := r.stretches()
		if err != nil {
			return "", nil, err
		}
		for _, sp := range stretches {
			var w where
			w.and(sp.lead, sp.args...)
			r.conditions(&w, sp.shape)
			terms = append(terms, " FROM "+sp.from+" WHERE "+w.sql.String())
			args = append(args, w.args...)
			once = once && len(stretches) == 1 && !sp.repeats
		}
	}
	if len(terms) > maxTerms || len(args) > maxArguments {
		return "", nil, fmt.Errorf("%w: too many values in all filters together", ErrFilter)
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

// stretches are the spans of an ask for counting: with lists in one condition, because order does not matter.
func (r *reading) stretches() ([]span, error) {
	if r.want.filter.Search != "" {
		return r.matchSpans()
	}
	p := choose(r.want)
	switch p.access {
	case byAddress:
		heads, exact := headSpan(r.want)
		if exact {
			return []span{heads}, nil
		}
		return []span{heads, tagStretch(furtherShape, furtherD, r.want.tag("d").values)}, nil
	case byTag:
		return []span{tagStretch(tagShape(p.tag.name), p.tag.name, p.tag.values)}, nil
	case byAuthor:
		return []span{authorStretch(shape{}, r.want.authors, r.want.kinds)}, nil
	case byKind:
		return []span{kindStretch(r.want.kinds)}, nil
	case byTime:
		return r.timeStretches()
	}
	return r.spans(p)
}

func tagStretch(sh shape, name string, values []driver.Value) span {
	sp := tagSpans(sh, name, values[:1])[0]
	var w where
	w.and("t.name=?", name)
	w.and("")
	w.tagValue("t.value", name, values)
	sp.lead, sp.repeats = w.sql.String(), len(values) > 1
	return span{sp.shape, w.args}
}

func authorStretch(sh shape, authors, kinds []driver.Value) span {
	var w where
	w.andAuthors(authors)
	if kinds != nil {
		w.andIn("e.kind", kinds)
	}
	sh.from, sh.lead, sh.at = "events AS e INDEXED BY events_author", w.sql.String(), "e"
	return span{&sh, w.args}
}

func kindStretch(kinds []driver.Value) span {
	var w where
	w.in("e.kind", kinds)
	return span{&shape{from: "events AS e INDEXED BY events_kind", lead: w.sql.String(), at: "e"}, w.args}
}

// timeStretches is timeSpans for counting.
func (r *reading) timeStretches() ([]span, error) {
	clauses := r.scope.Clauses()
	if r.readsByKind(clauses) {
		kinds, err := r.numbers(sqlKinds)
		return []span{kindStretch(kinds)}, err
	}
	out := []span{timeSpan()}
	for _, c := range clauses {
		keys := blobs(c.Keys)
		if c.ByAuthor {
			out = append(out, authorStretch(shape{classes: c.Classes}, keys, nil))
		}
		if c.ByTag {
			out = append(out, tagStretch(shape{classes: c.Classes}, "p", keys))
		}
	}
	return out, nil
}
