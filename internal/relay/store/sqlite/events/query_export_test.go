package events

import (
	"context"
	"math"
	"strings"
	"time"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine"
)

// Explained is how a filter is answered: the access, whether spans are merged
// as open cursors, and SQLite's own words for each distinct statement.
type Explained struct {
	Access string
	Spans  int
	Merged bool
	Detail []string
}

// ExplainQuery returns the plan of Query for an ask.
func (s *Store) ExplainQuery(ctx context.Context, ask store.Ask) (out Explained, err error) {
	want, err := compile(ask.Filter)
	if err != nil {
		return Explained{}, err
	}
	p := choose(want)
	err = s.db.Snapshot(ctx, engine.Scan, func(ctx context.Context, c *engine.Conn) error {
		r := s.reading(ctx, c, ask, want)
		spans, err := r.spans(p)
		if err != nil {
			return err
		}
		out = Explained{Access: p.access.String(), Spans: len(spans), Merged: mergeable(spans)}
		cols := columnsKey
		if out.Merged {
			cols = columns(r.scope, r.want.filter)
		}
		done := map[*shape]bool{}
		for _, sp := range spans {
			if done[sp.shape] {
				continue
			}
			done[sp.shape] = true
			text, args := r.statement(cols, sp)
			detail, err := explain(ctx, c, text, args)
			if err != nil {
				return err
			}
			out.Detail = append(out.Detail, detail)
		}
		return nil
	})
	return out, err
}

// PlanQuery returns the statement of the first stretch that an ask is answered
// from. The filter must name kinds: else they are asked of the database.
func PlanQuery(o opened, ask store.Ask) (string, error) {
	s := o.inside()
	want, err := compile(ask.Filter)
	if err != nil {
		return "", err
	}
	r := s.reading(context.Background(), nil, ask, want)
	spans, err := r.spans(choose(want))
	if err != nil {
		return "", err
	}
	text, _ := r.statement(columns(r.scope, want.filter), spans[0])
	return text, nil
}

// explain runs EXPLAIN QUERY PLAN and joins its lines.
func explain(ctx context.Context, c *engine.Conn, text string, args []engine.Value) (string, error) {
	var lines []string
	err := c.Query(ctx, "EXPLAIN QUERY PLAN "+text, args, func(v []engine.Value) error {
		lines = append(lines, v[3].(string))
		return nil
	})
	return strings.Join(lines, "\n"), err
}

// ExplainCount returns SQLite's account of the statement that Count runs.
func (s *Store) ExplainCount(ctx context.Context, asks []store.Ask) (detail string, err error) {
	wants := make([]*wanted, len(asks))
	for i, ask := range asks {
		if wants[i], err = compile(ask.Filter); err != nil {
			return "", err
		}
	}
	err = s.db.Snapshot(ctx, engine.Scan, func(ctx context.Context, c *engine.Conn) error {
		text, args, err := s.countSQL(ctx, c, asks, wants)
		if err != nil {
			return err
		}
		detail, err = explain(ctx, c, text, args)
		return err
	})
	return detail, err
}

// ExplainHistory returns SQLite's account of a read of history.
func (s *Store) ExplainHistory(ctx context.Context, scope gate.Scope, q store.HistoryQuery) (detail string, err error) {
	sp, want, err := versionsAsked(&q)
	if err != nil {
		return "", err
	}
	err = s.db.Read(ctx, engine.Scan, func(ctx context.Context, c *engine.Conn) error {
		r := s.reading(ctx, c, store.Ask{Scope: scope}, want)
		text, args := r.statement(columns(scope, want.filter), sp)
		detail, err = explain(ctx, c, text, args)
		return err
	})
	return detail, err
}

// Work is what one page of an ask, the ranking of its search, or its count
// takes, in steps: the same each time.
func Work(ctx context.Context, o opened, ask store.Ask, count bool) (work float64, err error) {
	s := o.inside()
	want, err := compile(ask.Filter)
	if err != nil {
		return 0, err
	}
	every := 10
	if ask.Filter.Search != "" {
		every = 1
	}
	return s.db.Steps(ctx, every, func(ctx context.Context, c *engine.Conn) error {
		r := s.reading(ctx, c, ask, want)
		switch {
		case count:
			text, args, err := s.countSQL(ctx, c, []store.Ask{ask}, []*wanted{want})
			if err != nil {
				return err
			}
			_, err = c.Number(text, args...)
			return err
		case ask.Filter.Search != "":
			_, err := r.search(500)
			return err
		}
		return r.page(choose(want), &paging{size: boundsOf(&ask), until: math.MaxInt64})
	})
}

// Restless makes reads give way all the time, and end in favour of each other.
func Restless(o *Options) {
	o.Readers, o.pacing = 2, engine.Pacing{Every: 20, Slice: 1, Grace: 1, Most: 2}
}

// HoldScans takes every turn that is not kept for look-ups until release is
// called.
func HoldScans(o opened) (release func()) { return o.inside().db.HoldScans() }

// EffortOf is what a page of an ask, or its count, is expected to take.
func EffortOf(ask store.Ask, count bool) (string, error) {
	want, err := compile(ask.Filter)
	if err != nil {
		return "", err
	}
	if count {
		return effortOfCount([]store.Ask{ask}, []*wanted{want}).String(), nil
	}
	return choose(want).effort(ask).String(), nil
}

// Charged is what a read is charged for that does fn, as time.
func Charged(o opened, fn func()) (time.Duration, error) {
	s := o.inside()
	l := engine.Loan{How: engine.Scan, Grace: math.Inf(1)}
	err := s.db.Lend(context.Background(), &l, func(context.Context, *engine.Conn) error { fn(); return nil })
	return l.Took(), err
}
