package history

import (
	"cmp"
	"context"
	"time"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/query"
	"engramd/internal/relay/store/sqlite/events/record"
)

// Reader reads superseded versions, and everything there is of somebody's.
type Reader struct {
	Reader      *query.Reader
	Options     func() *store.Live
	AddArrivals func(ctx context.Context, rows []store.Row) error // to versions of contract memory
}

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
func (h *Reader) History(ctx context.Context, scope gate.Scope, q store.HistoryQuery) (rows []store.Row, more bool, err error) {
	defer h.Reader.Observed("history", time.Now(), &err)
	sp, want, err := query.Versions(&q)
	if err != nil {
		return nil, false, err
	}
	most, size := cmp.Or(max(q.Limit, 0), defaultHistoryRows), cmp.Or(max(q.MaxBytes, 0), historyBytes)
	if q.ByArrival() {
		if rows, more, err = h.arrivals(ctx, scope, q, most, size); err == nil && q.Arrivals {
			err = h.AddArrivals(ctx, rows)
		}
		return rows, more, err
	}
	how := engine.Scan
	if q.D != nil && most <= query.FewRows {
		how = engine.LookUp
	}
	ask := store.Ask{Scope: scope, After: q.After, MaxRows: most, MaxBytes: size}
	page, err := h.Reader.Page(ctx, ask, want, how, sp)
	if err == nil && record.IsContract(q.Kind) && q.Arrivals {
		err = h.AddArrivals(ctx, page.Rows)
	}
	return page.Rows, page.More, err
}
