package events

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/record"
)

// Bounds of one call of History.
const (
	defaultHistoryRows = 100
	historyBytes       = 8 << 20
)

// History returns superseded versions of one author and kind, of one address
// when D is given: newest first, ties by lowest id. The scope is gate.Party's
// or gate.Operator: what the reader is no party to is not there, and neither is
// what has expired. more says that the limit, or MaxBytes, kept further
// versions back: ask again with Until, or exactly with After, set to the last
// row's. Errors are as of Query; ErrFilter when Author is no pubkey.
//
// Those of one address of contract memory come by arrival, the last first.
// Versions of contract memory say besides, behind the members of the event,
// which number they have, when they came and whether they were withdrawn.
//
// Versions are kept under a rule of the gate. When the operator takes the rule
// away they are shown to nobody: they were written for some, and only the head
// has become everybody's.
func (s *Store) History(ctx context.Context, scope gate.Scope, q store.HistoryQuery) (rows []store.Row, more bool, err error) {
	defer s.observed("history", time.Now(), &err)
	sp, want, err := versionsAsked(&q)
	if err != nil {
		return nil, false, err
	}
	size := bounds{cmp.Or(max(q.Limit, 0), defaultHistoryRows), cmp.Or(max(q.MaxBytes, 0), historyBytes)}
	if q.ByArrival() {
		if rows, more, err = s.arrivals(ctx, scope, q, size); err == nil && q.Arrivals {
			err = s.parts.Arrivals(ctx, rows)
		}
		return rows, more, err
	}
	how := engine.Scan
	if q.D != nil && size.rows <= fewRows {
		how = engine.LookUp
	}
	ask := store.Ask{Scope: scope, After: q.After, MaxRows: size.rows, MaxBytes: size.bytes}
	page, err := s.paged(ctx, ask, want, how, true, func(r *reading, pg *paging) error { return r.merge([]span{sp}, pg) })
	if err == nil && record.IsContract(q.Kind) && q.Arrivals {
		err = s.parts.Arrivals(ctx, page.Rows)
	}
	return page.Rows, page.More, err
}

// versionsAsked selects the versions that are asked for.
func versionsAsked(q *store.HistoryQuery) (span, *wanted, error) {
	author, ok := column.Hex32(q.Author)
	if !ok {
		return span{}, nil, fmt.Errorf("%w: the author is no pubkey", store.ErrFilter)
	}
	want := &wanted{since: math.MinInt64, until: math.MaxInt64}
	if q.Until != nil {
		want.until = *q.Until
	}
	sh := &shape{source: fromHistory, at: "e", ordered: true}
	if q.D == nil {
		sh.from, sh.lead = "history AS e INDEXED BY history_author", "e.pubkey=? AND e.kind=? AND e.class<>0"
		return span{sh, []engine.Value{author, int64(q.Kind)}}, want, nil
	}
	sh.from, sh.lead = "history AS e INDEXED BY history_address", "e.kind=? AND e.pubkey=? AND e.d=? AND e.class<>0"
	return span{sh, []engine.Value{int64(q.Kind), author, record.AddressKey(q.Kind, *q.D)}}, want, nil
}
