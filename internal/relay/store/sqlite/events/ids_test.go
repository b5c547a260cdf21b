package events_test

import (
	"context"
	"encoding/hex"
	"errors"
	"slices"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/gate/gatetest"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/events"
	"engramd/internal/relay/store/sqlite/storetest"
)

// compareIDs wants the same events as the list has, and room for just as many.
func (w *world) compareIDs(t *testing.T, ask store.Ask, want []string) {
	t.Helper()
	room := -1
	ids, err := w.store.IDs(t.Context(), ask, len(want), func(n int) error { room = n; return nil })
	if err != nil {
		t.Errorf("filter %s: %v", ask.Filter, err)
		return
	}
	if room != len(want) || cap(ids) != len(want) {
		t.Errorf("filter %s: room for %d of %d, capacity %d", ask.Filter, room, len(want), cap(ids))
	}
	got := make([]string, len(ids))
	times := map[string]int64{}
	for i, item := range ids {
		got[i] = hex.EncodeToString(item.ID[:])
		times[got[i]] = item.CreatedAt
	}
	for _, ev := range w.heads {
		if at, ok := times[ev.ID]; ok && at != int64(ev.CreatedAt) {
			t.Errorf("%s is of %d, not of %d", ev.ID, ev.CreatedAt, at)
		}
	}
	want = slices.Sorted(slices.Values(want))
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("filter %s: ids %v, want %v", ask.Filter, got, want)
	}
	if len(want) == 0 {
		return
	}
	ids, err = w.store.IDs(t.Context(), ask, len(want)-1, func(int) error { t.Error("room for too many"); return nil })
	if !errors.Is(err, store.ErrMany) || ids != nil {
		t.Errorf("one more than wanted: %d ids, %v", len(ids), err)
	}
}

func TestIDsRefuses(t *testing.T) {
	w := newWorld(t, 77, 100)
	all := store.Ask{Scope: gate.Operator()}
	none := errors.New("no room")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name string
		ctx  context.Context
		f    nostr.Filter
		room error
		want error
	}{
		{"a search", t.Context(), nostr.Filter{Search: "x"}, nil, store.ErrFilter},
		{"a tag without an index", t.Context(), nostr.Filter{Tags: nostr.TagMap{"long": {"x"}}}, nil, store.ErrFilter},
		{"no room", t.Context(), nostr.Filter{}, none, none},
		{"no room for none", t.Context(), nostr.Filter{Kinds: []int{}}, none, none},
		{"nobody waits", ctx, nostr.Filter{}, nil, context.Canceled},
	} {
		all.Filter = c.f
		ids, err := w.store.IDs(c.ctx, all, 1000, func(int) error { return c.room })
		if !errors.Is(err, c.want) || ids != nil {
			t.Errorf("%s: %d ids, %v", c.name, len(ids), err)
		}
	}
	if err := w.store.Close(); err != nil {
		t.Fatal(err)
	}
	if ids, err := w.store.IDs(t.Context(), store.Ask{Scope: gate.Operator()}, 1000, func(int) error { return nil }); !errors.Is(err, store.ErrClosed) || ids != nil {
		t.Errorf("of a closed store: %d ids, %v", len(ids), err)
	}
}

// TestIDsTakeTurns: others read between two pieces of a long list, and it stays
// of one state.
func TestIDsTakeTurns(t *testing.T) {
	s := storetest.MustOpen(t, events.Restless)
	gen := gatetest.New(5, 2)
	for i := range 400 {
		ev := gen.Event()
		ev.Kind, ev.Tags, ev.CreatedAt = 1, nil, nostr.Timestamp(gatetest.Base+nostr.Timestamp(i))
		ev.ID = ev.GetID()
		ev.Sig = ev.ID + ev.ID
		if r := s.Put(t.Context(), ev, store.PutOptions{Import: true}); r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	stop, done := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
			if _, err := s.Query(t.Context(), store.Ask{Scope: gate.Operator(), Filter: nostr.Filter{Kinds: []int{1}}}); err != nil {
				done <- err
				return
			}
		}
	}()
	for range 20 {
		ids, err := s.IDs(t.Context(), store.Ask{Scope: gate.Operator(), Filter: nostr.Filter{Kinds: []int{1}}}, 1000, func(int) error { return nil })
		if err != nil || len(ids) != 400 {
			t.Fatalf("%d ids, %v", len(ids), err)
		}
	}
	close(stop)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}
