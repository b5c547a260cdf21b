package api

import (
	"context"
	"time"

	"engramd/internal/relay/httpauth"
	"engramd/internal/relay/store"
)

// Bounds on remembered signatures, which is done for twice the window of their
// time: in memory, of one key, and on disk. The last is more than the relay can
// check and store in that time.
const (
	usedCalls       = 1 << 17
	usedCallsPerKey = 1 << 14
	usedCallsOnDisk = 1 << 21
)

// Calls stores which signatures changed something; *sqlite.Store implements it.
type Calls interface {
	UseCalls(ctx context.Context, calls []store.UsedCall, before int64) (had []bool, err error)
	UsedCalls(ctx context.Context, since int64, fn func(store.UsedCall)) error
}

// OpenUsed returns a journal that remembers signatures for twice a window (the
// tolerance of their created_at), also across restarts.
func OpenUsed(ctx context.Context, c Calls, window time.Duration, clock func() time.Time) (*httpauth.Journal, error) {
	memory := httpauth.New(window, usedCalls, usedCallsPerKey, clock)
	journal := httpauth.NewJournal(memory, keeper{c}, usedCallsOnDisk)
	since := clock().Add(-memory.Keep() - time.Second).Unix()
	if err := c.UsedCalls(ctx, since, func(u store.UsedCall) { journal.Seed(u.ID, u.Key, time.Unix(u.At+1, 0)) }); err != nil {
		return nil, err
	}
	return journal, nil
}

// keeper stores a journal's notes in the database.
type keeper struct{ calls Calls }

// Keep stores notes. The database has whole seconds, so that notes are kept for
// one second more.
func (k keeper) Keep(ctx context.Context, notes []httpauth.Note, before time.Time) (had []bool, err error) {
	calls := make([]store.UsedCall, len(notes))
	for i, n := range notes {
		calls[i] = store.UsedCall{ID: n.ID, Key: n.Key, At: n.At.Unix()}
	}
	return k.calls.UseCalls(ctx, calls, before.Unix()-1)
}
