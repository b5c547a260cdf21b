package events

import (
	"log/slog"
	"sync/atomic"
	"time"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/apply"
	"engramd/internal/relay/store/sqlite/events/history"
	"engramd/internal/relay/store/sqlite/events/query"
	"engramd/internal/relay/store/sqlite/events/restore"
	"engramd/internal/relay/store/sqlite/events/retention"
)

// historyReader reads superseded versions.
type historyReader = history.Reader

// Store is one open database: what events do to it and how they are found, on
// the engine's writer and readers.
type Store struct {
	*query.Reader
	*historyReader
	*restore.Restorer
	*retention.Cleaner
	db       *engine.DB
	clock    func() time.Time
	after    func(time.Duration) <-chan time.Time
	log      *slog.Logger
	observe  store.Observer
	onCommit func([]store.Committed)
	live     atomic.Pointer[store.Live]
	table    *gate.Table // the one of Options: it does not change
	lastSeq  atomic.Int64
	executed func(store.Executed)
	follows  bool
	several  *sequence // nil: the store is alone

	parts    apply.Parts
	writer   *writer
	retainer *retention.Retainer
}
