package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/client/clienttest"
	"engramd/internal/client/memory"
	"engramd/internal/e2e/relaytest"
	"engramd/internal/memory/localcopy"
	"engramd/internal/protocol/wire"
	"engramd/nips/nipae"
)

// frail is a relay that can lose all that it has.
type frail struct {
	has atomic.Pointer[clienttest.Hoard]
	url string
	// refuse answers an event in the place of the hoard; "" takes it.
	refuse atomic.Pointer[func(*nostr.Event) string]
	silent atomic.Bool // it hangs up
}

func newFrail(t *testing.T) *frail {
	t.Helper()
	r := &frail{}
	r.empty()
	r.url = clienttest.Start(t, &clienttest.Fake{Serve: func(c *clienttest.Conn) {
		for f, ok := c.Read(); ok && !r.silent.Load(); f, ok = c.Read() {
			if refuse := r.refuse.Load(); refuse != nil && f.Label == wire.LabelEvent {
				if words := (*refuse)(f.Event); words != "" {
					c.Send(wire.AppendOK(nil, f.Event.ID, false, words))
					continue
				}
			}
			r.has.Load().Answer(c, f)
		}
	}})
	return r
}

func (r *frail) empty() {
	h := &clienttest.Hoard{}
	h.Uncap()
	r.has.Store(h)
}

// refusing has the relay refuse events.
func (r *frail) refusing(words func(*nostr.Event) string) { r.refuse.Store(&words) }

// bytesOf is each event of a relay, in the order of their ids.
func (r *frail) bytesOf(t *testing.T) (all []string) {
	t.Helper()
	for _, ev := range r.has.Load().All() {
		text, err := json.Marshal(ev)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, string(text))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func planted(slug string, at int64) *nostr.Event {
	return relaytest.Memory(relaytest.Agent(), relaytest.Owner().Pub, slug, "text of "+slug, at)
}

// repair runs do on what is missing.
func repair(t *testing.T, s *Session, do func(ctx context.Context, r *Repair)) {
	t.Helper()
	s.o.All = true
	if err := s.Repair(t.Context(), false, func(ctx context.Context, r *Repair) error { do(ctx, r); return nil }); err != nil {
		t.Fatal(err)
	}
}

func fates(all []*Missing) map[Fate]int {
	n := map[Fate]int{}
	for _, m := range all {
		n[m.Fate]++
	}
	return n
}

// TestRepairOfMany: more than one batch of what a relay lost outlasts the copy, goes back
// byte for byte, and a run that was killed between the relay and this machine is followed
// by one that sends the rest.
func TestRepairOfMany(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine asks much")
	}
	const n = 1100 // of the copy's batches of 500
	relay, cache, state := newFrail(t), t.TempDir(), t.TempDir()
	for i := range n {
		relay.has.Load().Put(planted(fmt.Sprint("mem/n", i), 1_700_000_000+int64(i)))
	}
	// A state is kept by who writes.
	s := openedAt(t, cache, state, relay.url)
	if _, _, err := s.Memory.Set(t.Context(), "mem/own", "text", memory.SetOptions{}); err != nil {
		t.Fatal(err)
	}
	repair(t, s, func(_ context.Context, r *Repair) {
		if len(r.Missing) > 0 {
			t.Errorf("%d are missing", len(r.Missing))
		}
	})
	before := relay.bytesOf(t)
	relay.empty()
	s = openedAt(t, cache, state, relay.url)
	repair(t, s, func(_ context.Context, r *Repair) {
		if len(r.Missing) != len(before) || r.Behind().Behind < n {
			t.Errorf("%d are missing of %d", len(r.Missing), len(before))
		}
	})
	s.Close()
	if err := os.RemoveAll(cache); err != nil {
		t.Fatal(err)
	}
	var cut int
	repair(t, openedAt(t, cache, state, relay.url), func(ctx context.Context, r *Repair) {
		cut = len(r.Missing) / 2
		for _, m := range r.Missing[:cut] { // this machine does not come to note it
			whole, err := r.s.known.At(ctx, m.D)
			if err != nil || whole.Event == nil {
				t.Fatal(err)
			}
			relay.has.Load().Put(whole.Event)
		}
	})
	repair(t, openedAt(t, cache, state, relay.url), func(ctx context.Context, r *Repair) {
		if len(r.Missing) != len(before)-cut {
			t.Errorf("%d are missing, of which %d were sent", len(r.Missing), cut)
		}
		if err := r.SendAgain(ctx, r.Missing); err != nil || fates(r.Missing)[WasSent] != len(r.Missing) {
			t.Errorf("%v %v", fates(r.Missing), err)
		}
		if heads, err := r.s.known.heads(ctx); err != nil {
			t.Error(err)
		} else if kept, err := heads.Kept(ctx); err != nil || len(kept) > cut {
			t.Errorf("%d are kept in the state still: %v", len(kept), err)
		}
	})
	if after := relay.bytesOf(t); !slices.Equal(after, before) {
		t.Errorf("%d events of %d are back", len(after), len(before))
	}
	repair(t, openedAt(t, cache, state, relay.url), func(ctx context.Context, r *Repair) {
		if len(r.Missing) > 0 {
			t.Errorf("%d are missing in the end", len(r.Missing))
		}
	})
}

// TestRepairRefused: what a relay refuses stays missing, in its words; one that holds back
// by rate or fails leaves the rest, which the next run sends.
func TestRepairRefused(t *testing.T) {
	relay, cache, state := newFrail(t), t.TempDir(), t.TempDir()
	for i := range 3 * repairLanes {
		relay.has.Load().Put(planted(fmt.Sprintf("mem/n%03d", i), 1_700_000_000+int64(i)))
	}
	repair(t, openedAt(t, cache, state, relay.url), func(context.Context, *Repair) {})
	relay.empty()
	soon, interrupt := context.WithCancel(t.Context()) // once the relay holds back by rate
	defer interrupt()
	relay.refusing(func(ev *nostr.Event) string {
		switch at := int64(ev.CreatedAt) - 1_700_000_000; {
		case at == 0:
			return "blocked: deleted by its author"
		case at == 1:
			return "blocked: removed by the operator"
		case at == 2:
			return "restricted: no room"
		case at == 3:
			return "blocked: a newer version was stored, and has expired"
		case at >= repairLanes:
			interrupt()
			return "rate-limited: slow down"
		}
		return ""
	})
	repair(t, openedAt(t, cache, state, relay.url), func(_ context.Context, r *Repair) {
		err := r.SendAgain(soon, r.Missing)
		// Nothing proves that its author deleted the first.
		if n := fates(r.Missing); err != nil || n[Refused] != 2 || n[Removed] != 1 || n[Expired] != 1 || n[Left] != 2*repairLanes || n[WasSent] != repairLanes-4 {
			t.Errorf("%v %v", n, err)
		}
		if last := r.Missing[len(r.Missing)-1]; len(last.Published) != 1 || last.Published[0].Err == nil {
			t.Errorf("%+v", last)
		}
	})
	relay.refusing(func(*nostr.Event) string { return "" })
	repair(t, openedAt(t, cache, state, relay.url), func(ctx context.Context, r *Repair) {
		if len(r.Missing) != 2*repairLanes+4 || r.Missing[1].Removed != (client.Removal{}) { // no state is kept
			t.Errorf("%d are missing, %+v", len(r.Missing), r.Missing[1])
		}
		if err := r.SendAgain(ctx, r.Missing); err != nil || fates(r.Missing)[WasSent] != len(r.Missing) {
			t.Errorf("%v %v", fates(r.Missing), err)
		}
	})
}

// TestRepairDeleted: a relay that says so and shows the request ends what is missing.
func TestRepairDeleted(t *testing.T) {
	relay, cache := newFrail(t), t.TempDir()
	gone := planted("mem/gone", 1_700_000_000)
	relay.has.Load().Put(gone)
	repair(t, opened(t, cache, relay.url), func(context.Context, *Repair) {})
	relay.empty()
	relay.refusing(func(ev *nostr.Event) string {
		if ev.Kind == nostr.KindDeletion {
			return ""
		}
		relay.has.Load().Put(relaytest.Deletion(relaytest.Agent(), 1_700_000_001, nostr.Tag{"e", gone.ID}))
		return "blocked: deleted by its author"
	})
	repair(t, opened(t, cache, relay.url), func(ctx context.Context, r *Repair) {
		if err := r.SendAgain(ctx, r.Missing); err != nil || len(r.Missing) != 1 || r.Missing[0].Fate != Deleted {
			t.Errorf("%v %v", fates(r.Missing), err)
		}
	})
	relay.empty()
	repair(t, opened(t, cache, relay.url), func(_ context.Context, r *Repair) {
		if len(r.Missing) > 0 {
			t.Errorf("it is missing again: %+v", r.Missing[0])
		}
	})
}

// TestRepairDoubts: a copy that was confirmed long ago, and what was written elsewhere
// since, are told; what this machine wrote is not.
func TestRepairDoubts(t *testing.T) {
	relay, cache, state := newFrail(t), t.TempDir(), t.TempDir()
	s := openedAt(t, cache, state, relay.url)
	repair(t, s, func(_ context.Context, r *Repair) {
		if !r.Confirmed.IsZero() {
			t.Errorf("confirmed at %v", r.Confirmed)
		}
		long := time.Now().Add(-3 * time.Hour)
		if err := r.SetMark(t.Context(), relay.url, localcopy.Mark{Confirmed: long, Complete: true}); err != nil {
			t.Fatal(err)
		}
	})
	if _, _, err := s.Memory.Set(t.Context(), "mem/own", "text", memory.SetOptions{}); err != nil {
		t.Fatal(err)
	}
	relay.has.Load().Put(planted("mem/theirs", time.Now().Unix()-3600), planted("mem/before", 1_700_000_000))
	repair(t, openedAt(t, cache, state, relay.url), func(_ context.Context, r *Repair) {
		if ago := time.Since(r.Confirmed); ago < 2*time.Hour || r.Others != 1 {
			t.Errorf("confirmed %v ago, %d others", ago, r.Others)
		}
	})
}

// TestRepairOfIDs: what is here by its id, or as a text alone, is told and not sent; a
// person gives it up.
func TestRepairOfIDs(t *testing.T) {
	relay, state := newFrail(t), t.TempDir()
	s := openedAt(t, t.TempDir(), state, relay.url)
	entry, _, err := s.Memory.Set(t.Context(), "mem/own", "text", memory.SetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	heads, err := s.known.heads(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := heads.Drop(t.Context(), entry.ID); err != nil {
		t.Fatal(err)
	}
	relay.empty()
	repair(t, openedAt(t, t.TempDir(), state, relay.url), func(ctx context.Context, r *Repair) {
		if len(r.Missing) != 1 || r.Missing[0].Fate != NoText || r.Missing[0].Slug != "" {
			t.Fatalf("%+v", r.Missing)
		}
		one := r.Missing[0]
		m := r.look(one.Newest, one.Newest, localcopy.Last{ID: one.ID, Slug: "mem/own", Shown: localcopy.ShownNone}, true)
		if m.Fate != TextOnly || m.Slug != "mem/own" {
			t.Errorf("%+v", m)
		}
		if err := r.SendAgain(ctx, r.Missing); err != nil || one.Fate != NoText || len(one.Published) > 0 {
			t.Errorf("%+v %v", one, err)
		}
		if err := r.Anew(ctx, one, false); !errors.Is(err, client.ErrBehind) {
			t.Error(err)
		}
		if behind := r.Behind(); behind.Behind != 1 || behind.Withheld != 1 {
			t.Errorf("%+v", behind)
		}
		if err := r.GiveUp(ctx, one); err != nil || one.Fate != GivenUp {
			t.Errorf("%+v %v", one, err)
		}
	})
	repair(t, openedAt(t, t.TempDir(), state, relay.url), func(_ context.Context, r *Repair) {
		if len(r.Missing) > 0 {
			t.Errorf("%+v", r.Missing[0])
		}
	})
	s = openedAt(t, t.TempDir(), state, relay.url)
	if _, _, err := s.Memory.Get(t.Context(), nipae.Slug("mem/own")); !errors.Is(err, client.ErrNotFound) {
		t.Error(err)
	}
}
