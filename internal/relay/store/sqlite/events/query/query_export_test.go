package query

import (
	"context"
	"math"
	"strings"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
)

// asker is a store that is asked through a Reader.
type asker interface{ asked() *Reader }

func (q *Reader) asked() *Reader { return q }

// Explained is how a filter is answered: the access, whether spans are merged
// as open cursors, and SQLite's own words for each distinct statement.
type Explained struct {
	Access string
	Spans  int
	Merged bool
	Detail []string
}

// ExplainQuery returns the plan of Query for an ask.
func (q *Reader) ExplainQuery(ctx context.Context, ask store.Ask) (out Explained, err error) {
	want, err := Compile(ask.Filter)
	if err != nil {
		return Explained{}, err
	}
	p := choose(want)
	err = q.DB.Snapshot(ctx, engine.Scan, func(ctx context.Context, c *engine.Conn) error {
		r := q.reading(ctx, c, ask, want)
		spans, err := r.spans(p)
		if err != nil {
			return err
		}
		out = Explained{Access: p.access.String(), Spans: len(spans), Merged: mergeable(spans)}
		cols := columnsKey
		if out.Merged {
			cols = Columns(r.scope, r.want.filter, FromEvents)
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
func PlanQuery(o asker, ask store.Ask) (string, error) {
	q := o.asked()
	want, err := Compile(ask.Filter)
	if err != nil {
		return "", err
	}
	r := q.reading(context.Background(), nil, ask, want)
	spans, err := r.spans(choose(want))
	if err != nil {
		return "", err
	}
	text, _ := r.statement(Columns(r.scope, want.filter, FromEvents), spans[0])
	return text, nil
}

// explain runs EXPLAIN QUERY PLAN and joins its lines.
func explain(ctx context.Context, c *engine.Conn, text string, args []engine.Value) (string, error) {
	var lines []string
	err := c.Query(ctx, "EXPLAIN QUERY PLAN "+text, args, func(v engine.Row) error {
		lines = append(lines, v[3].(string))
		return nil
	})
	return strings.Join(lines, "\n"), err
}

// ExplainCount returns SQLite's account of the statement that Count runs.
func (q *Reader) ExplainCount(ctx context.Context, asks []store.Ask) (detail string, err error) {
	wants := make([]*Wanted, len(asks))
	for i, ask := range asks {
		if wants[i], err = Compile(ask.Filter); err != nil {
			return "", err
		}
	}
	err = q.DB.Snapshot(ctx, engine.Scan, func(ctx context.Context, c *engine.Conn) error {
		text, args, err := q.countSQL(ctx, c, asks, wants)
		if err != nil {
			return err
		}
		detail, err = explain(ctx, c, text, args)
		return err
	})
	return detail, err
}

// ExplainHistory returns SQLite's account of a read of history.
func (q *Reader) ExplainHistory(ctx context.Context, scope gate.Scope, ask store.HistoryQuery) (detail string, err error) {
	want, err := Compile(nostr.Filter{Until: (*nostr.Timestamp)(ask.Until)})
	if err != nil {
		return "", err
	}
	author, _ := column.Hex32(ask.Author)
	err = q.DB.Read(ctx, engine.Scan, func(ctx context.Context, c *engine.Conn) error {
		r := q.reading(ctx, c, store.Ask{Scope: scope}, want)
		spans, err := r.versions(&ask, author)
		if err != nil || len(spans) == 0 {
			return err
		}
		text, args := r.statement(Columns(scope, want.filter, FromHistory), spans[0])
		detail, err = explain(ctx, c, text, args)
		return err
	})
	return detail, err
}

// Work is what one page of an ask, the ranking of its search, or its count
// takes, in steps: the same each time.
func Work(ctx context.Context, o asker, ask store.Ask, count bool) (work float64, err error) {
	q := o.asked()
	want, err := Compile(ask.Filter)
	if err != nil {
		return 0, err
	}
	every := 10
	if ask.Filter.Search != "" {
		every = 1
	}
	return engine.Steps(ctx, q.DB, every, func(ctx context.Context, c *engine.Conn) error {
		r := q.reading(ctx, c, ask, want)
		switch {
		case count:
			text, args, err := q.countSQL(ctx, c, []store.Ask{ask}, []*Wanted{want})
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

// EffortOf is what a page of an ask, or its count, is expected to take.
func EffortOf(ask store.Ask, count bool) (string, error) {
	want, err := Compile(ask.Filter)
	if err != nil {
		return "", err
	}
	if count {
		return effortOfCount([]store.Ask{ask}, []*Wanted{want}).String(), nil
	}
	return choose(want).effort(ask).String(), nil
}
