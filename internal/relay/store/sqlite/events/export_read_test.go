package events_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/storetest"
)

func exported(t *testing.T, s *sqlite.Store, scope gate.Scope, history bool) (ids []string) {
	t.Helper()
	err := s.Export(t.Context(), scope, history, nil, func(json []byte) error {
		ev, err := wire.ParseEvent(json)
		if err == nil {
			ids = append(ids, ev.ID)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// TestExport: everything in the order of arrival, superseded versions when
// asked for, nothing expired, over many pages.
func TestExport(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine asks much")
	}
	clock := storetest.NewClock()
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Clock = clock.Now })
	var all, heads []string
	for i := range 1500 {
		ev := alice.Engram(bob, int64(i), fmt.Sprint("mem/", i%700))
		all = append(all, ev.ID)
		if i >= 800 {
			heads = append(heads, ev.ID)
		}
		put(t, s, ev, map[bool]store.Outcome{false: store.Stored, true: store.Replaced}[i >= 700])
	}
	large := bob.Note(0, strings.Repeat("large ", 20_000))
	put(t, s, large, store.Stored)
	put(t, s, bob.Note(1, "gone", nostr.Tag{"expiration", fmt.Sprint(storetest.Start.Unix() + 1)}), store.Stored)
	clock.Add(1e9)
	all, heads = append(all, large.ID), append(heads, large.ID)
	if got := exported(t, s, gate.Operator(), true); !slices.Equal(got, all) {
		t.Errorf("with history: %d events, want %d", len(got), len(all))
	}
	if got := exported(t, s, gate.Operator(), false); !slices.Equal(got, heads) {
		t.Errorf("heads: %d events, want %d", len(got), len(heads))
	}
	if got := exported(t, s, gate.Scope{}, true); !slices.Equal(got, []string{large.ID}) {
		t.Errorf("zero scope: %d events", len(got))
	}
	table := storetest.MustTable(t, gate.Options{})
	if got := exported(t, s, gate.Party(table, gate.NewReader(carol.Pub)), true); !slices.Equal(got, []string{large.ID}) {
		t.Errorf("stranger: %d events", len(got))
	}
	if got := exported(t, s, gate.Party(table, gate.NewReader(bob.Pub)), true); len(got) != len(all) {
		t.Errorf("owner: %d events", len(got))
	}
}

// TestExportStops at the first error, and holds no connection while the
// receiver works.
func TestExportStops(t *testing.T) {
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Readers = 1 })
	for i := range 5 {
		put(t, s, alice.Note(int64(i), "x"), store.Stored)
	}
	stop, n := errors.New("stop"), 0
	err := s.Export(t.Context(), gate.Operator(), false, nil, func([]byte) error {
		if _, err := s.Query(t.Context(), store.Ask{}); err != nil {
			t.Fatal(err)
		}
		if n++; n == 3 {
			return stop
		}
		return nil
	})
	if !errors.Is(err, stop) || n != 3 {
		t.Errorf("%v after %d", err, n)
	}
}

// TestExportBesideWrites: a head that is replaced while the export runs is not
// lost.
func TestExportBesideWrites(t *testing.T) {
	for _, history := range []bool{false, true} {
		s := storetest.MustOpen(t)
		for i := range 1200 {
			put(t, s, alice.Engram(bob, 1, fmt.Sprint("mem/", i)), store.Stored)
		}
		first, late := alice.Engram(bob, 1, "mem/0"), alice.Engram(bob, 1, "mem/1199")
		addresses, seen, n := map[string]bool{}, map[string]int{}, 0
		err := s.Export(t.Context(), gate.Operator(), history, nil, func(json []byte) error {
			if n++; n == 10 {
				put(t, s, alice.Engram(bob, 2, "mem/0"), store.Replaced)
				put(t, s, alice.Engram(bob, 2, "mem/1199"), store.Replaced)
			}
			ev, err := wire.ParseEvent(json)
			addresses[ev.Tags.GetD()] = true
			seen[ev.ID]++
			return err
		})
		if err != nil || len(addresses) != 1200 {
			t.Errorf("history %v: %d addresses, %v", history, len(addresses), err)
		}
		for id, times := range seen {
			if times > 1 {
				t.Errorf("history %v: %s came %d times", history, id, times)
			}
		}
		if seen[first.ID] != 1 || seen[late.ID] != map[bool]int{false: 0, true: 1}[history] {
			t.Errorf("history %v: replaced versions came %d and %d times", history, seen[first.ID], seen[late.ID])
		}
	}
}

func TestApproved(t *testing.T) {
	clock := storetest.NewClock()
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Clock = clock.Now })
	list := func(k storetest.Key, at int64, d string, more ...nostr.Tag) *nostr.Event {
		return k.Fake(30078, at, "", append([]nostr.Tag{{"d", d}}, more...)...)
	}
	ask := func(owner, agent storetest.Key, want bool) {
		t.Helper()
		if got, err := s.Approved(t.Context(), []string{owner.Pub}, agent.Pub); err != nil || got != want {
			t.Errorf("approved %v (%v), want %v", got, err, want)
		}
	}
	ask(alice, bob, false)
	put(t, s, list(alice, 0, "engramd/agents", nostr.Tag{"p", carol.Pub}, nostr.Tag{"p", bob.Pub}), store.Stored)
	ask(alice, bob, true)
	ask(alice, carol, true)
	ask(alice, alice, false)
	ask(bob, alice, false)
	put(t, s, list(bob, 0, "other", nostr.Tag{"p", alice.Pub}), store.Stored)
	ask(bob, alice, false)
	put(t, s, list(alice, 1, "engramd/agents", nostr.Tag{"p", carol.Pub}), store.Replaced)
	ask(alice, bob, false)
	put(t, s, list(carol, 0, "engramd/agents", nostr.Tag{"p", bob.Pub},
		nostr.Tag{"expiration", fmt.Sprint(storetest.Start.Unix() + 5)}), store.Stored)
	ask(carol, bob, true)
	clock.Add(5e9)
	ask(carol, bob, false)
	if got, err := s.Approved(t.Context(), []string{"x"}, bob.Pub); got || err != nil {
		t.Errorf("an owner that is no key: %v, %v", got, err)
	}
	for _, c := range []struct {
		owners []string
		want   bool
	}{{nil, false}, {[]string{bob.Pub, carol.Pub}, false}, {[]string{bob.Pub, "x", alice.Pub}, true}, {[]string{alice.Pub, bob.Pub}, true}} {
		if got, err := s.Approved(t.Context(), c.owners, carol.Pub); err != nil || got != c.want {
			t.Errorf("by one of %d owners: %v (%v), want %v", len(c.owners), got, err, c.want)
		}
	}
}
