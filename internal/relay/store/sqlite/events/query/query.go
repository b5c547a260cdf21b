// Package query finds events by filters: plans, pages, counts and searches. Every
// read takes a gate.Scope, and every statement has its condition (scope_sql.go).
package query

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/rot"
	"engramd/nips/nipae"
)

// Reader finds events by filters.
type Reader struct {
	DB      *engine.DB
	Clock   func() time.Time
	Observe store.Observer
	Table   *gate.Table // by which stored events were classed
	Rot     *rot.Known
	Indexed atomic.Bool // the full-text index exists
}

// Query returns the next page of the events that the filter matches and the
// scope shows: newest first, ties by lowest id, without any that has expired.
// It is as of one state of the database, which is no older than the call; or of
// several (Page.States), when it had to let others read in between. Pages that
// follow one another with After set to the last row's position give every event
// once; but when they are of several states, of an address whose head is
// replaced between two of them neither version need be there: after the last
// page, ask for what arrived meanwhile (Ask.Above). The filter's Limit is not
// looked at. A row that is rotten is not among them: *store.DamagedError, beside
// the page, says which, to who may know.
//
// A failure is never an empty page: the error is ErrTimeout, ErrClosed, that of
// ctx when the caller went away, or the database's. ErrFilter is for a filter
// with Search (use Search) or an unknown kind of tag condition.
func (q *Reader) Query(ctx context.Context, ask store.Ask) (page store.Page, err error) {
	var p plan
	defer q.Observed("query", time.Now(), &err, &p)
	want, err := Compile(ask.Filter)
	if err != nil {
		return store.Page{}, err
	}
	if ask.Filter.Search != "" {
		return store.Page{}, fmt.Errorf("%w: it has a search", store.ErrFilter)
	}
	if want.None {
		return store.Page{}, nil
	}
	p = choose(want)
	if ask.Above > 0 {
		p = plan{want: want, access: byArrival}
	}
	page, damaged, err := q.paged(ctx, ask, want, p.effort(ask), p.oneStatement(ask.Scope), func(r *reading, pg *paging) error {
		if err := r.page(p, pg); err != nil || pg.page.More || !p.single() || len(pg.page.Rows) >= p.named() {
			return err
		}
		return r.hidden(p)
	})
	if err == nil && !page.More {
		damaged = append(damaged, q.passedOver(ask)...)
	}
	return page, Lacking(damaged, p.single(), err)
}

// oneStatement reports whether the plan needs a single statement, which is a
// transaction by itself.
func (p plan) oneStatement(scope gate.Scope) bool {
	w := p.want
	switch {
	case p.access == byID:
		return len(w.IDs) == 1
	case p.access == byAddress && exactD(w) && w.kinds[0] == engine.Value(int64(nipae.Kind)):
		return len(w.authors)*len(w.kinds)*len(w.d().values) == 1 // one clause, and of its ways one
	case scope.All() || len(scope.Clauses()) > 0:
		return false
	}
	switch p.access {
	case byTag:
		return len(p.tag.values) == 1
	case byAuthor:
		return len(w.authors) == 1 && len(w.kinds) == 1
	case byKind:
		return len(w.kinds) == 1
	}
	return false
}

// page reads one page: a few ordered spans merged as they are read, anything
// else by collecting the newest first.
func (r *reading) page(p plan, pg *paging) (err error) {
	if !pg.planned {
		if pg.spans, err = r.spans(p); err != nil {
			return err
		}
		pg.planned, pg.merged = true, mergeable(pg.spans)
	}
	if pg.merged {
		return r.merge(pg.spans, pg)
	}
	if err := r.collect(pg); err != nil {
		return err
	}
	rows, settled, err := r.fetch(pg.best, pg.size)
	if err != nil {
		return err
	}
	pg.page.Rows, pg.page.More = rows, settled < len(pg.best)
	return nil
}

func mergeable(spans []span) bool {
	for _, sp := range spans {
		if !sp.ordered {
			return false
		}
	}
	return len(spans) <= maxCursors
}

// merge reads ordered spans side by side.
func (r *reading) merge(spans []span, pg *paging) (err error) {
	cursors := make([]*cursor, 0, len(spans))
	defer func() {
		for _, cu := range cursors {
			err = errors.Join(err, cu.close())
		}
	}()
	for i, sp := range spans {
		cu, err := r.open(sp, i, pg.size)
		if err != nil {
			return err
		}
		cursors = append(cursors, cu)
	}
	page, size := &pg.page, pg.size
	for {
		best, err := next(cursors)
		if err != nil {
			pg.left(cursors)
			return err
		}
		if best == nil {
			break
		}
		if len(page.Rows) == size.rows || pg.got >= size.bytes && len(page.Rows) > 0 {
			page.More = true
			return nil
		}
		e, err := best.peek()
		if err != nil {
			return err
		}
		best.take()
		// The same event may be in several spans; then its rows come one after
		// the other.
		if n := len(page.Rows); n > 0 && page.Rows[n-1].Seq == e.Seq || !e.Readable(r.scope) {
			continue
		}
		page.Rows = append(page.Rows, e.Row)
		pg.got += len(e.JSON)
	}
	for _, cu := range cursors {
		page.More = page.More || cu.cut
	}
	if page.More && len(page.Rows) == 0 {
		return column.ErrDamaged // WHERE let through what the second check refuses: no way to go on from here
	}
	return nil
}

// next returns the cursor whose next row comes first. A cursor that had to
// leave rows out stops the merge behind those it kept.
func next(cursors []*cursor) (*cursor, error) {
	var best *cursor
	var row *Entry
	for _, cu := range cursors {
		e, err := cu.peek()
		if err != nil {
			return nil, err
		}
		if e == nil {
			if cu.cut {
				return nil, nil
			}
			continue
		}
		if best == nil || compareRows(&e.Row, &row.Row) < 0 {
			best, row = cu, e
		}
	}
	return best, nil
}

// Observed reports a read call, and the plan if it has one, to the observer and
// to whoever asks what was slow.
func (q *Reader) Observed(op string, start time.Time, err *error, planned ...*plan) {
	failure := ""
	switch {
	case *err == nil:
	case errors.Is(*err, store.ErrTimeout):
		failure = "timeout"
	case errors.Is(*err, context.Canceled):
		failure = "canceled"
	case errors.Is(*err, store.ErrEnded):
		failure = "ended"
	default:
		failure = "error"
	}
	took := time.Since(start)
	q.Observe.QueryDone(op, took, failure)
	if took < engine.SlowFrom || op == "export" { // which is the operator's own, and as long as the database is large
		return
	}
	how := ""
	for _, p := range planned {
		how = p.String()
	}
	q.DB.ReadDone(store.SlowRead{At: start.Add(took), Operation: op, Plan: how, Took: took, Failure: failure})
}
