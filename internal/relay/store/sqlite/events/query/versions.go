package query

import (
	"context"
	"fmt"
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/record"
)

// Versions makes a page of the superseded versions that are asked for.
func (q *Reader) Versions(ctx context.Context, ask store.Ask, of *store.HistoryQuery, how engine.Effort) (store.Page, error) {
	author, ok := column.Hex32(of.Author)
	if !ok {
		return store.Page{}, fmt.Errorf("%w: the author is no pubkey", store.ErrFilter)
	}
	want, err := Compile(nostr.Filter{Until: (*nostr.Timestamp)(of.Until)})
	if err != nil {
		return store.Page{}, err
	}
	page, damaged, err := q.paged(ctx, ask, want, how, false, func(r *reading, pg *paging) error {
		spans, err := r.versions(of, author)
		if err != nil {
			return err
		}
		return r.merge(spans, pg)
	})
	return page, Lacking(damaged, false, err)
}

// versions are the stretches of an author's superseded versions. Others than he
// pass over those alone that name them (reach.go).
func (r *reading) versions(of *store.HistoryQuery, author []byte) ([]span, error) {
	var w Where
	w.And("e.pubkey=? AND e.kind=? AND e.class<>0", author, int64(of.Kind))
	var pairs []span
	every := shape{source: FromHistory, from: "history AS e INDEXED BY history_author", at: "e", ordered: true,
		lead: "e.pubkey=? AND e.kind=? AND e.class=? AND e.reader=?"}
	readers, whole := Readers(r.scope, of)
	switch {
	case whole && of.D != nil:
		sh := every
		sh.from, sh.lead = "history AS e INDEXED BY history_address", "e.kind=? AND e.pubkey=? AND e.d=? AND e.class<>0"
		return []span{{&sh, []engine.Value{int64(of.Kind), author, record.AddressKey(of.Kind, *of.D)}}}, nil
	case whole:
		var err error
		pairs, err = engine.List(r.ctx, r.c, func(v engine.Row) (span, error) {
			return span{&every, []engine.Value{author, int64(of.Kind), v[0], v[1]}}, nil
		}, sqlVersionPairs, author, int64(of.Kind))
		if err != nil || len(pairs) <= maxCursors {
			return pairs, err
		}
	default:
		var classes []gate.Class
		for _, c := range r.clauses {
			if c.ByTag || len(c.Cases) > 0 {
				classes = append(classes, common(c.Classes, r.table.Classes([]int{of.Kind}))...)
			}
		}
		if of.D != nil {
			every.lead += " AND e.d=?"
		}
		for _, class := range classes {
			for _, reader := range readers {
				sp := span{&every, []engine.Value{author, int64(of.Kind), int64(class), reader}}
				if of.D != nil {
					sp.args = append(sp.args, record.AddressKey(of.Kind, *of.D))
				}
				pairs = append(pairs, sp)
			}
		}
		if len(pairs) <= maxCursors {
			return pairs, nil
		}
		w.And("e.class IN (" + classList(classes) + ")")
		w.AndIn("e.reader", readers)
		if of.D != nil {
			w.And("e.d=?", record.AddressKey(of.Kind, *of.D))
		}
	}
	// Of many their numbers are put in order. LIMIT has SQLite keep it.
	w.And("e.created_at<=?", r.until())
	return []span{{&shape{source: FromHistory, at: "e", lead: "1", ordered: true, single: true,
		from: "(SELECT seq AS at FROM history AS e INDEXED BY history_author WHERE " + w.SQL.String() +
			" ORDER BY created_at DESC LIMIT -1) AS x CROSS JOIN history AS e ON e.seq=x.at"}, w.Args}}, nil
}

// sqlVersionPairs are the classes and readers of an author's versions of a kind,
// by a jump from each to the next.
const sqlVersionPairs = `WITH RECURSIVE c(class) AS (
		SELECT (SELECT min(class) FROM history INDEXED BY history_author WHERE pubkey=?1 AND kind=?2 AND class>0) UNION ALL
		SELECT (SELECT min(class) FROM history AS e INDEXED BY history_author WHERE pubkey=?1 AND kind=?2 AND e.class>c.class)
		FROM c WHERE class IS NOT NULL),
	r(class, reader) AS (
		SELECT class,(SELECT min(reader) FROM history AS e INDEXED BY history_author WHERE pubkey=?1 AND kind=?2 AND e.class=c.class)
		FROM c WHERE class IS NOT NULL UNION ALL
		SELECT class,(SELECT min(reader) FROM history AS e INDEXED BY history_author WHERE pubkey=?1 AND kind=?2 AND e.class=r.class
			AND e.reader>r.reader) FROM r WHERE reader IS NOT NULL)
	SELECT class,reader FROM r WHERE reader IS NOT NULL`

// Readers are whom versions that a scope shows may name, as the column reader of
// history has them; whole says that it shows whatever is asked for.
func Readers(scope gate.Scope, of *store.HistoryQuery) (readers []engine.Value, whole bool) {
	whole = scope.All() || scope.Proves(of.Author)
	var keys []string
	for _, c := range scope.Clauses() {
		whole = whole || c.Everyone
		keys = append(keys, c.Keys...)
		for _, one := range c.Cases {
			keys = append(append(keys, one.Poster, one.Worker), one.Agreed...)
		}
	}
	slices.Sort(keys)
	readers = []engine.Value{[]byte{}}
	for _, key := range blobs(slices.Compact(keys)) {
		readers = append(readers, key.([]byte)[:8])
	}
	return readers, whole
}
