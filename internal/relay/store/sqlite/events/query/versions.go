package query

import (
	"fmt"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/record"
)

// Versions selects the superseded versions that are asked for.
func Versions(q *store.HistoryQuery) (span, *Wanted, error) {
	author, ok := column.Hex32(q.Author)
	if !ok {
		return span{}, nil, fmt.Errorf("%w: the author is no pubkey", store.ErrFilter)
	}
	want, err := Compile(nostr.Filter{Until: (*nostr.Timestamp)(q.Until)})
	if q.D == nil {
		return historySpan("history_author", "e.pubkey=? AND e.kind=? AND e.class<>0", author, int64(q.Kind)), want, err
	}
	return historySpan("history_address", "e.kind=? AND e.pubkey=? AND e.d=? AND e.class<>0", int64(q.Kind), author, record.AddressKey(q.Kind, *q.D)), want, err
}

// historySpan reads superseded versions by an index, newest first.
func historySpan(index, lead string, args ...engine.Value) span {
	return span{&shape{source: FromHistory, from: "history AS e INDEXED BY " + index, lead: lead, at: "e", ordered: true}, args}
}
