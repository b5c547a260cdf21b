package query

import (
	"context"
	"math"
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
)

// collect finds the newest rows of many spans, or of spans without order,
// without their JSON: span by span, of each only what is newer than the oldest
// of those found so far that still counts. It keeps one more than the page has
// rows.
func (r *reading) collect(pg *paging) error {
	most := pg.size.rows + 1
	if pg.best == nil {
		pg.best = make([]found, 0, min(most+most/4+16, 1024))
	}
	for ; len(pg.spans) > 0; pg.spans, pg.until = pg.spans[1:], math.MaxInt64 {
		if err := r.collectSpan(pg, pg.spans[0], most); err != nil {
			return err
		}
		if !pg.full && len(pg.best) > most {
			pg.shrink(most)
		}
	}
	pg.shrink(most)
	return nil
}

// collectSpan collects one span, from where it was left.
func (r *reading) collectSpan(pg *paging, sp span, most int) error {
	text, args := r.statement(columnsKey, sp)
	if pg.full {
		args[len(sp.args)] = max(r.want.since, pg.best[most-1].createdAt)
	}
	until := min(r.until(), pg.until)
	args[len(sp.args)+1] = until
	r.c.Note(until)
	err := r.c.Query(r.ctx, text, args, func(v engine.Row) error {
		f, err := scanFound(v)
		if err != nil {
			return err
		}
		if pg.full && compareFound(f, pg.best[most-1]) >= 0 {
			if sp.ordered && f.createdAt < pg.best[most-1].createdAt {
				return engine.ErrStop
			}
			return nil
		}
		if pg.best = append(pg.best, f); len(pg.best) >= most+most/4+16 {
			pg.shrink(most)
		}
		return nil
	})
	if err != nil && sp.ordered {
		pg.until = r.c.Noted()
	}
	return err
}

// shrink keeps the most that come first; then the last of them is a bound that
// rows must beat.
func (pg *paging) shrink(most int) {
	slices.SortFunc(pg.best, compareFound)
	pg.best = slices.CompactFunc(pg.best, func(a, b found) bool { return a.seq == b.seq })
	if len(pg.best) >= most {
		pg.best, pg.full = pg.best[:most], true
	}
}

func scanFound(v engine.Row) (found, error) {
	seq, ok1 := v[0].(int64)
	created, ok2 := v[1].(int64)
	id, ok3 := v[2].([]byte)
	size, ok4 := v[3].(int64)
	if !ok1 || !ok2 || !ok3 || !ok4 || len(id) != 32 {
		return found{}, column.ErrDamaged
	}
	return found{seq, created, [32]byte(id), int(size)}, nil
}

// fetchAtOnce is how many rows one statement of fetch reads.
const fetchAtOnce = 128

// fetch reads the rows of the list in its order, as many as fit the page, and
// reports how many entries of the list that settles. Rows that are gone,
// expired or no longer the scope's are left out: the conditions are put again
// in full.
func (r *reading) fetch(list []found, page bounds) (rows []store.Row, settled int, err error) {
	n, size := 0, 0
	for n < len(list) && n < page.rows && (size < page.bytes || n == 0) {
		size += list[n].size
		n++
	}
	rows = make([]store.Row, 0, n)
	for settled < n {
		part := list[settled:min(n, settled+fetchAtOnce)]
		if rows, err = r.fetchPart(rows, part); err != nil {
			return nil, 0, err
		}
		settled += len(part)
	}
	return rows, settled, nil
}

func (r *reading) fetchPart(rows []store.Row, part []found) ([]store.Row, error) {
	seqs := make([]engine.Value, len(part))
	for i, f := range part {
		seqs[i] = f.seq
	}
	var w Where
	w.Text("SELECT " + Columns(r.scope, nostr.Filter{}, FromEvents) + " FROM events AS e WHERE ")
	w.AndIn("e.seq", seqs)
	w.And(shown[FromEvents].lives, r.now)
	ScopeWhere(&w, r.scope, nostr.Filter{}, FromEvents, DAny)
	got := make(map[int64]Entry, len(part))
	err := r.c.Query(r.ctx, w.SQL.String(), w.Args, func(v engine.Row) error {
		var e Entry
		if err := e.Scan(v); err != nil {
			return err
		}
		if err := r.sift(&e, FromEvents); err != nil {
			return err
		}
		if e.sound && e.Readable(r.scope) {
			got[e.Seq] = e
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, f := range part {
		if e, ok := got[f.seq]; ok {
			rows = append(rows, e.Row)
		}
	}
	return rows, context.Cause(r.ctx)
}
