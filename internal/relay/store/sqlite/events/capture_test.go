package events_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/storetest"
)

var parts = []store.Part{store.Heads, store.Versions, store.Deletions, store.Relays, store.Contracts}

// captured is what Capture gives of an agent, ids by part, sorted.
func captured(t *testing.T, s *sqlite.Store, agent storetest.Key, at *int64) map[store.Part][]string {
	t.Helper()
	out := map[store.Part][]string{}
	err := s.Capture(t.Context(), gate.Operator(), store.CaptureQuery{Agent: agent.Pub, At: at}, func(v store.View) error {
		for _, p := range parts {
			err := v.Each(t.Context(), p, func(json []byte) error {
				ev, err := wire.ParseEvent(json)
				if err == nil {
					out[p] = append(out[p], ev.ID)
				}
				return err
			})
			if err != nil {
				return err
			}
			if len(out[p]) != v.Count(p) {
				t.Errorf("part %d: %d events, Count says %d", p, len(out[p]), v.Count(p))
			}
			slices.Sort(out[p])
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func ids(events ...*nostr.Event) []string {
	var out []string
	for _, ev := range events {
		out = append(out, ev.ID)
	}
	slices.Sort(out)
	return out
}

func wantParts(t *testing.T, got, want map[store.Part][]string) {
	t.Helper()
	for _, p := range parts {
		if !slices.Equal(got[p], want[p]) {
			t.Errorf("part %d: %d events %.8s, want %d %.8s", p, len(got[p]), got[p], len(want[p]), want[p])
		}
	}
}

func TestCaptureTakesTheAgentsMemoryAndNothingElse(t *testing.T) {
	s := storetest.MustOpen(t)
	old, head := alice.Engram(bob, 0, "mem/a"), alice.Engram(bob, 5, "mem/a")
	other := alice.Engram(carol, 1, "mem/b")
	relays := alice.Sign(10002, 2, "", nostr.Tag{"r", "wss://relay.example"})
	deletion := alice.Delete(3, fmt.Sprintf("%064x", 1))
	said, saidAgain := alice.Entry(bob, 4, "contract-1", "old"), alice.Entry(bob, 6, "contract-1", "new")
	told, toldAgain := bob.Entry(alice, 4, "contract-1", "old"), bob.Entry(alice, 6, "contract-1", "new")
	self := alice.Entry(alice, 1, "contract-2", "to myself")
	strangers := []*nostr.Event{
		bob.Engram(alice, 0, "mem/a"), bob.Entry(carol, 1, "contract-1", "x"), bob.Note(0, "hello"), alice.Note(0, "a note"),
		bob.Delete(3, fmt.Sprintf("%064x", 2)), bob.Sign(10002, 2, ""),
	}
	for _, ev := range append([]*nostr.Event{old, head, other, relays, deletion, said, saidAgain, told, toldAgain, self}, strangers...) {
		s.Put(t.Context(), ev, store.PutOptions{})
	}
	wantParts(t, captured(t, s, alice, nil), map[store.Part][]string{
		store.Heads: ids(head, other), store.Versions: ids(old, said, told), store.Deletions: ids(deletion),
		store.Relays: ids(relays), store.Contracts: ids(saidAgain, toldAgain, self),
	})
	wantParts(t, captured(t, s, storetest.NewKey("nobody"), nil), nil)
}

// What the other party withdrew is captured with his request, so that it is
// withdrawn wherever the capture is restored; a request that names anything else
// of his is not the agent's to hold.
func TestCaptureHasWhatWithdrew(t *testing.T) {
	s := storetest.MustOpen(t)
	moves, said := dispute(t, s)
	note := bob.Note(0, "of his own")
	put(t, s, note, store.Stored)
	ofThis, ofMore := bob.Delete(6, said[1].ID, moves[1].ID), bob.Delete(7, said[2].ID, note.ID)
	put(t, s, ofThis, store.Stored)
	put(t, s, ofMore, store.Stored)
	got := captured(t, s, alice, nil)
	wantParts(t, map[store.Part][]string{store.Deletions: got[store.Deletions]}, map[store.Part][]string{store.Deletions: ids(ofThis)})
	for _, ev := range []*nostr.Event{said[1], moves[1], said[2]} {
		if !slices.Contains(got[store.Versions], ev.ID) {
			t.Errorf("kind %d, which was withdrawn, is not captured", ev.Kind)
		}
	}
	wantParts(t, map[store.Part][]string{store.Deletions: captured(t, s, carol, nil)[store.Deletions]}, nil)
}

// TestCaptureRebuildsAnInstant by what had arrived, whatever time events bear:
// one that is dated back is not there before.
func TestCaptureRebuildsAnInstant(t *testing.T) {
	clock := storetest.NewClock()
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Clock = clock.Now })
	arrives := func(at int64, ev *nostr.Event, want store.Outcome) *nostr.Event {
		clock.Add(storetest.Start.Add(time.Duration(at) * time.Second).Sub(clock.Now()))
		put(t, s, ev, want)
		return ev
	}
	var a []*nostr.Event
	a = append(a, arrives(0, alice.Engram(bob, -9, "mem/a"), store.Stored))
	gone := arrives(1, alice.Engram(bob, 1, "mem/c"), store.Stored)
	goneHead := arrives(2, alice.Engram(bob, 2, "mem/c"), store.Replaced)
	a = append(a, arrives(10, alice.Engram(bob, 10, "mem/a"), store.Replaced))
	b := arrives(15, alice.Engram(bob, -1000, "mem/b"), store.Stored)
	a = append(a, arrives(20, alice.Engram(bob, 25, "mem/a"), store.Replaced), arrives(30, alice.Engram(bob, 30, "mem/a"), store.Replaced))
	arrives(50, alice.Delete(50, goneHead.ID), store.Stored)
	at := func(seconds int64) *int64 { n := storetest.Start.Unix() + seconds; return &n }
	for _, c := range []struct {
		at            int64
		heads, before []string
	}{
		{-1, nil, nil},
		{0, ids(a[0]), nil},
		{14, ids(a[1]), ids(a[0], gone)},
		{15, ids(a[1], b), ids(a[0], gone)},
		{29, ids(a[2], b), ids(a[0], a[1], gone)},
		{99, ids(a[3], b), ids(a[0], a[1], a[2], gone)},
	} {
		t.Run(fmt.Sprint(c.at), func(t *testing.T) {
			got := captured(t, s, alice, at(c.at))
			if !slices.Equal(got[store.Heads], c.heads) || !slices.Equal(got[store.Versions], c.before) {
				t.Errorf("heads %.8s, want %.8s; versions %.8s, want %.8s", got[store.Heads], c.heads, got[store.Versions], c.before)
			}
		})
	}
}

func TestCaptureRefusesWhatHistoryDoesNotCover(t *testing.T) {
	clock := storetest.NewClock()
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Versions, o.Days, o.Clock = 2, -1, clock.Now })
	for i := range int64(5) {
		s.Put(t.Context(), alice.Engram(bob, i, "mem/a"), store.PutOptions{})
		clock.Add(10 * time.Second)
	}
	capture := func(at int64) error {
		at += storetest.Start.Unix()
		q := store.CaptureQuery{Agent: alice.Pub, At: &at}
		return s.Capture(t.Context(), gate.Operator(), q, func(v store.View) error {
			if got, want := v.HistorySince(), storetest.Start.Unix()+20; got != want {
				t.Errorf("history since %d, want %d", got, want)
			}
			return nil
		})
	}
	if err := capture(20); err != nil {
		t.Error(err)
	}
	if err := capture(19); !errors.Is(err, store.ErrNotCovered) {
		t.Errorf("error %v", err)
	}
}

func TestCaptureIsTheOperators(t *testing.T) {
	s := storetest.MustOpen(t)
	none := func(store.View) error { t.Error("called"); return nil }
	if err := s.Capture(t.Context(), gate.Scope{}, store.CaptureQuery{Agent: alice.Pub}, none); !errors.Is(err, store.ErrFilter) {
		t.Errorf("error %v", err)
	}
	if err := s.Capture(t.Context(), gate.Operator(), store.CaptureQuery{Agent: "npub"}, none); !errors.Is(err, store.ErrFilter) {
		t.Errorf("error %v", err)
	}
}

// TestCaptureIsOneInstant writes two engrams in turn, each version to both,
// while captures run: both heads are always of the same age, or the second one
// behind, and history holds all that came before.
func TestCaptureIsOneInstant(t *testing.T) {
	s := storetest.MustOpen(t)
	const rounds = 90 // fewer than versions are kept
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range int64(rounds) {
			for _, slug := range []string{"mem/a", "mem/b"} {
				if r := s.Put(t.Context(), alice.Engram(bob, i, slug), store.PutOptions{}); !r.Outcome.OK() {
					t.Errorf("%+v", r)
				}
			}
		}
	})
	for last := 0; last < 2*rounds && !t.Failed(); {
		err := s.Capture(t.Context(), gate.Operator(), store.CaptureQuery{Agent: alice.Pub}, func(v store.View) error {
			var times []int64
			err := v.Each(t.Context(), store.Heads, func(json []byte) error {
				ev, err := wire.ParseEvent(json)
				times = append(times, int64(ev.CreatedAt)-storetest.Start.Unix())
				return err
			})
			slices.Sort(times)
			switch n := v.Count(store.Heads) + v.Count(store.Versions); {
			case len(times) == 2 && times[1]-times[0] > 1:
				t.Errorf("heads of times %v", times)
			case n < last:
				t.Errorf("%d versions after %d", n, last)
			case len(times) == 2 && int64(n) != times[0]+times[1]+2:
				t.Errorf("%d versions with heads %v", n, times)
			default:
				last = n
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	wg.Wait()
}
