package store

import (
	"context"
	"database/sql/driver"
	"strings"

	"engramd/internal/gate"
)

// Explained is how a filter is answered: the access, whether spans are merged as open cursors, and SQLite's own words for
// each distinct statement.
type Explained struct {
	Access string
	Spans  int
	Merged bool
	Detail []string
}

// ExplainQuery returns the plan of Query for an ask.
func (s *Store) ExplainQuery(ctx context.Context, ask Ask) (out Explained, err error) {
	want, err := compile(ask.Filter)
	if err != nil {
		return Explained{}, err
	}
	p := choose(want)
	err = s.snapshot(ctx, func(ctx context.Context, c *conn) error {
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

// PlanQuery returns the statement of the first stretch that an ask is answered from. The filter must name kinds: else
// they are asked of the database.
func PlanQuery(s *Store, ask Ask) (string, error) {
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
func explain(ctx context.Context, c *conn, text string, args []driver.Value) (string, error) {
	var lines []string
	err := c.query(ctx, "EXPLAIN QUERY PLAN "+text, args, func(v []driver.Value) error {
		lines = append(lines, v[3].(string))
		return nil
	})
	return strings.Join(lines, "\n"), err
}

// ExplainCount returns SQLite's account of the statement that Count runs.
func (s *Store) ExplainCount(ctx context.Context, asks []Ask) (detail string, err error) {
	wants := make([]*wanted, len(asks))
	for i, ask := range asks {
		if wants[i], err = compile(ask.Filter); err != nil {
			return "", err
		}
	}
	err = s.snapshot(ctx, func(ctx context.Context, c *conn) error {
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
func (s *Store) ExplainHistory(ctx context.Context, scope gate.Scope, q HistoryQuery) (detail string, err error) {
	sp, want, err := q.span()
	if err != nil {
		return "", err
	}
	err = s.read(ctx, func(ctx context.Context, c *conn) error {
		r := s.reading(ctx, c, Ask{Scope: scope}, want)
		text, args := r.statement(columns(scope, want.filter), sp)
		detail, err = explain(ctx, c, text, args)
		return err
	})
	return detail, err
}

// HoldHeavy takes every turn for searches and counts until release is called.
func HoldHeavy(s *Store) (release func()) {
	for range cap(s.heavy) {
		s.heavy <- struct{}{}
	}
	return func() {
		for range cap(s.heavy) {
			<-s.heavy
		}
	}
}
