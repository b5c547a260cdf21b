package relay

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store/sqlite/storetest"
)

var errLog = errors.New("the log did not answer")

// TestEveryReadIsTheLatest goes through the gate's surfaces that are asked for
// here: each waits once for what other nodes acknowledged, before anything is
// read for it, and fails when nobody knows what that is.
func TestEveryReadIsTheLatest(t *testing.T) {
	key := storetest.NewKey("agent")
	contract := "11111111-2222-4333-8444-555555555555"
	own := nostr.Filter{Kinds: []int{30174}, Authors: []string{key.Pub}}
	thread := nostr.Filter{Kinds: []int{30090}, Tags: nostr.TagMap{"d": {contract}}}
	past := func(ctx context.Context, r *Relay) error { _, err := r.Past(ctx, PastQuery{}); return err }
	history := func(ctx context.Context, r *Relay) error {
		_, err := r.History(ctx, HistoryQuery{Kind: 30090, Author: key.Pub, D: &contract})
		return err
	}
	for _, surface := range gate.Surfaces() {
		ask := func(ctx context.Context, r *Relay) error {
			_, err := r.Authorize(ctx, surface, []nostr.Filter{own, thread, thread})
			return err
		}
		switch {
		case surface == gate.SurfaceHistory:
			ask = history
		case surface == gate.SurfacePast:
			ask = past
		case surface >= gate.SurfaceContracts:
			continue // of the API: the table in internal/relay/contracts/api has them
		}
		r, s := open(t)
		spy := &readSpy{Store: s}
		r.store = spy
		r.SetTable(storetest.MustTable(t, gate.Options{Replicas: []string{key.Pub}}))
		ctx := WithReader(context.Background(), gate.NewReader(key.Pub))
		calls, fail := 0, error(nil)
		r.cfg.Latest = func(context.Context) error {
			if spy.reads > 0 {
				t.Errorf("%v: the store is read first", surface)
			}
			calls++
			return fail
		}
		if err := ask(ctx, r); err != nil || calls != 1 {
			t.Errorf("%v: waited %d times, %v", surface, calls, err)
		}
		fail, spy.reads = errLog, 0
		err := ask(ctx, r)
		if !errors.Is(err, ErrBehind) || spy.reads > 0 || !strings.HasPrefix(RefusalOf(err).Error(), "error: ") {
			t.Errorf("%v: %v after %d reads, told as %v", surface, err, spy.reads, RefusalOf(err))
		}
		// Who has gone is not told that the relay failed.
		gone, cancel := context.WithCancel(ctx)
		cancel()
		if err := ask(gone, r); !errors.Is(err, context.Canceled) {
			t.Errorf("%v: %v", surface, err)
		}
		// Who is refused anyhow waits for nobody.
		calls = 0
		r.SetTable(storetest.MustTable(t, gate.Options{AuthRequired: true}))
		if err := ask(context.Background(), r); err == nil || calls > 0 {
			t.Errorf("%v: nobody waits %d times, %v", surface, calls, err)
		}
	}
}

// readSpy counts what is read for a request before it is granted.
type readSpy struct {
	Store
	reads int
}

func (s *readSpy) Cases(ctx context.Context, keys, contracts []string) ([]gate.Case, error) {
	s.reads++
	return s.Store.Cases(ctx, keys, contracts)
}

func (s *readSpy) ContractsUnseen(ctx context.Context, r gate.Reader, ids []string, known bool) (int, error) {
	s.reads++
	return s.Store.ContractsUnseen(ctx, r, ids, known)
}

func (s *readSpy) LastSeq() int64 {
	s.reads++
	return s.Store.LastSeq()
}
