package query

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"math"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine"
)

// The bounds of a page when Ask names none.
const (
	defaultPageRows  = 500
	defaultPageBytes = 1 << 20
)

func boundsOf(a *store.Ask) bounds {
	return bounds{cmp.Or(max(a.MaxRows, 0), defaultPageRows), cmp.Or(max(a.MaxBytes, 0), defaultPageBytes)}
}

// bounds of a page.
type bounds struct{ rows, bytes int }

// found is a row that will be read later, by its seq.
type found struct {
	seq       int64
	createdAt int64
	id        [32]byte
	size      int // of its JSON
}

func compareFound(a, b found) int {
	return cmp.Or(cmp.Compare(b.createdAt, a.createdAt), bytes.Compare(a.id[:], b.id[:]))
}

// Bounds of one read of Export.
const (
	ExportRows  = 512
	ExportBytes = 4 << 20
)

// paging is a page in the making. A read that is ended in favour of others
// gives back its connection and its view of the database, waits for another
// turn, and goes on here.
type paging struct {
	size bounds
	page store.Page
	got  int // bytes of the page

	planned bool
	merged  bool
	spans   []span          // of a collection: those that are left
	after   *store.Position // where a merge goes on; from the start what was asked for
	until   int64           // where a collection goes on in its next span: a created_at
	best    []found         // of a collection
	full    bool            // best has as many as are wanted
}

// paged makes a page in as many turns as it takes. Who gets nowhere before
// others want his place has twice the grace the next time, so that he gets
// somewhere in the end; all turns together may take no more work than one
// could.
func (q *Reader) paged(ctx context.Context, ask store.Ask, want *Wanted, how engine.Effort, alone bool, fn func(*reading, *paging) error) (store.Page, []store.Damaged, error) {
	pg := &paging{size: boundsOf(&ask), until: math.MaxInt64, after: ask.After}
	var damaged []store.Damaged
	l := q.DB.Loan(how)
	for {
		was := pg.place()
		read := func(ctx context.Context, c *engine.Conn) error {
			r := q.reading(ctx, c, ask, want)
			r.after = pg.after
			err := fn(r, pg)
			damaged = append(damaged, r.met...)
			return err
		}
		if !alone {
			read = engine.InSnapshot(read)
		}
		err := q.DB.Lend(ctx, &l, read)
		pg.page.States++
		switch {
		case err == nil:
			return pg.page, damaged, nil
		case !errors.Is(err, store.ErrEnded):
			return store.Page{}, nil, err
		}
		if pg.place() == was {
			l.Grace *= 2
		}
	}
}

// place is how far a page is.
type place struct {
	rows, spans int
	planned     bool
	after       store.Position
	until       int64
}

func (pg *paging) place() place {
	p := place{rows: len(pg.page.Rows), spans: len(pg.spans), planned: pg.planned, until: pg.until}
	if pg.after != nil {
		p.after = *pg.after
	}
	return p
}

// left notes where a merge was when it was ended: everything before that is in
// the page. What one cursor has not looked at yet may come before what another
// one has at hand.
func (pg *paging) left(cursors []*cursor) {
	at := int64(math.MinInt64)
	for _, cu := range cursors {
		at = max(at, cu.frontier())
	}
	if n := len(pg.page.Rows); n > 0 && pg.page.Rows[n-1].CreatedAt <= at {
		last := &pg.page.Rows[n-1]
		pg.after = &store.Position{CreatedAt: last.CreatedAt, ID: last.ID}
		return
	}
	if pg.after == nil || at < pg.after.CreatedAt {
		pg.after = &store.Position{CreatedAt: at} // no id is as low as this one
	}
}
