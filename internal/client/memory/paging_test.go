package memory

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/client/clienttest"
	"engramd/nips/nipae"
)

// notes returns n open events of one author, perSecond of them in each second.
func notes(t testing.TB, n, perSecond int) []*nostr.Event {
	t.Helper()
	id := who(t, "author")
	var out []*nostr.Event
	for i := range n {
		ev := &nostr.Event{Kind: 1, CreatedAt: nostr.Timestamp(1_700_000_000 + i/perSecond), Content: fmt.Sprint(i)}
		if err := id.Sign(ev); err != nil {
			t.Fatal(err)
		}
		out = append(out, ev)
	}
	return out
}

// Whatever a relay's cap, all events are paged in, also many in one second;
// where a cap hides some, the answer says so.
func TestPaging(t *testing.T) {
	tests := []struct {
		name              string
		events, perSecond int
		cap               int
		hints             bool
		want              int
		complete          bool
		limit             int
		page              int
		requests          int // at most
		since, until      int64
	}{
		{name: "nothing", complete: true, requests: 1},
		{name: "nothing, with hints", hints: true, complete: true, requests: 1},
		{name: "one", events: 1, perSecond: 1, want: 1, complete: true, requests: 3},
		{name: "no cap", events: 60, perSecond: 1, want: 60, complete: true, requests: 3},
		{name: "no cap, with hints", events: 60, perSecond: 7, hints: true, want: 60, complete: true, requests: 1},
		{name: "a cap", events: 60, perSecond: 1, cap: 7, want: 60, complete: true, requests: 13},
		{name: "a cap, with hints", events: 60, perSecond: 1, cap: 7, hints: true, want: 60, complete: true, requests: 10},
		{name: "ties across pages", events: 60, perSecond: 5, cap: 7, want: 60, complete: true, requests: 30},
		{name: "ties across pages, with hints", events: 60, perSecond: 5, cap: 7, hints: true, want: 60, complete: true, requests: 30},
		{name: "ties as many as the cap", events: 21, perSecond: 7, cap: 7, want: 21, complete: false, requests: 30},
		{name: "ties as many as the cap, with hints", events: 21, perSecond: 7, cap: 7, hints: true, want: 21, complete: false, requests: 30},
		{name: "more ties than the cap", events: 24, perSecond: 8, cap: 7, want: 21, complete: false, requests: 30},
		{name: "more ties than the cap, with hints", events: 24, perSecond: 8, cap: 7, hints: true, want: 21, complete: false, requests: 30},
		{name: "our pages are small", events: 60, perSecond: 3, page: 10, hints: true, want: 60, complete: true, requests: 20},
		{name: "a limit", events: 60, perSecond: 1, cap: 7, limit: 20, want: 20, complete: true, requests: 5},
		{name: "a small limit", events: 60, perSecond: 1, limit: 1, want: 1, complete: true, requests: 1},
		{name: "since", events: 60, perSecond: 1, cap: 7, since: 1_700_000_050, want: 10, complete: true, requests: 5},
		{name: "until", events: 60, perSecond: 1, cap: 7, until: 1_700_000_009, want: 10, complete: true, requests: 5},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := &clienttest.Hoard{Most: tt.cap, Hints: tt.hints, Events: notes(t, tt.events, max(1, tt.perSecond))}
			c := clientFor(t, client.Identity{}, []string{clienttest.StartHoard(t, h)}, func(o *client.Options) { o.Limits.Page = tt.page })
			f := nostr.Filter{Kinds: []int{1}, Limit: tt.limit}
			if tt.since != 0 {
				f.Since = new(nostr.Timestamp(tt.since))
			}
			if tt.until != 0 {
				f.Until = new(nostr.Timestamp(tt.until))
			}
			a, err := c.Ask(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			if len(a.Events) != tt.want || a.Relays[0].Complete != tt.complete || a.Partial() == tt.complete {
				t.Errorf("%d events, complete %v; want %d, %v", len(a.Events), a.Relays[0].Complete, tt.want, tt.complete)
			}
			if h.Asked() > tt.requests {
				t.Errorf("it took %d requests", h.Asked())
			}
			for i := 1; i < len(a.Events); i++ {
				if p, q := a.Events[i-1], a.Events[i]; p.CreatedAt < q.CreatedAt || p.CreatedAt == q.CreatedAt && p.ID >= q.ID {
					t.Fatalf("event %d is out of order", i)
				}
			}
		})
	}
}

// A memory that is rewritten between two pages of a list stays in the list.
func TestPagingBesideWrites(t *testing.T) {
	now := time.Now().Unix()
	for _, hints := range []bool{true, false} {
		t.Run(fmt.Sprintf("hints %v", hints), func(t *testing.T) {
			h := &clienttest.Hoard{Most: 4, Hints: hints}
			slug := func(i int) nipae.Slug { return nipae.Slug(fmt.Sprintf("mem/%d", i)) }
			for i := range 12 {
				h.Put(clienttest.EngramAt(t, "agent", "owner", slug(i), "old", now-10_000+int64(i)))
			}
			h.Asking = func(req int) {
				if req == 2 || req == 3 { // the oldest, whose page comes last
					h.Replace(clienttest.EngramAt(t, "agent", "owner", slug(req), "new", now))
				}
			}
			m := ownerOf(t, "agent", "owner", []string{clienttest.StartHoard(t, h)}, nil)
			list, status, err := listed(t, m)
			if err != nil || status.Partial || len(list) != 12 {
				t.Fatalf("%d of 12 entries, partial %v, %v", len(list), status.Partial, err)
			}
			for _, e := range list {
				if want := map[bool]string{true: "new", false: "old"}[e.Slug == slug(2) || e.Slug == slug(3)]; e.Text != want {
					t.Errorf("%s is %q, want %q", e.Slug, e.Text, want)
				}
			}
		})
	}
}

// For random stores and caps the result is complete or marked as cut.
func TestPagingRandomly(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	all := notes(t, 120, 1)
	t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
		rng := rand.New(rand.NewPCG(seed, 0))
		id := who(t, "author")
		for round := range 40 {
			var events []*nostr.Event
			for i := range rng.IntN(len(all)) {
				ev := &nostr.Event{Kind: 1, CreatedAt: nostr.Timestamp(rng.IntN(20)), Content: fmt.Sprint(round, i)}
				if err := id.Sign(ev); err != nil {
					t.Fatal(err)
				}
				events = append(events, ev)
			}
			h := &clienttest.Hoard{Most: 2 + rng.IntN(20), Hints: rng.IntN(2) == 0, Events: events}
			c := clientFor(t, client.Identity{}, []string{clienttest.StartHoard(t, h)}, nil)
			a, err := c.Ask(t.Context(), nostr.Filter{Kinds: []int{1}})
			if err != nil {
				t.Fatal(err)
			}
			if complete := a.Relays[0].Complete; complete && len(a.Events) != len(events) {
				t.Fatalf("round %d: %d of %d events are said to be all (cap %d, hints %v)", round, len(a.Events), len(events), h.Most, h.Hints)
			}
			c.Close()
		}
	})
}

// Status reports that a cap may have cut a list.
func TestListsSayThatTheyMayBeCut(t *testing.T) {
	h := &clienttest.Hoard{Most: 3}
	now := time.Now().Unix()
	for i := range 10 {
		h.Put(clienttest.EngramAt(t, "agent", "owner", nipae.Slug(fmt.Sprintf("mem/%d", i)), "x", now))
	}
	relays := []string{clienttest.StartHoard(t, h)}
	m := ownerOf(t, "agent", "owner", relays, nil)
	list, status, err := listed(t, m)
	if err != nil || len(list) != 3 || !status.Partial {
		t.Errorf("%d entries, %v, %+v", len(list), err, status)
	}
	h.Uncap()
	if list, status, err = listed(t, m); err != nil || len(list) != 10 || status.Partial {
		t.Errorf("without the cap: %d entries, %v, %+v", len(list), err, status)
	}
	empty := ownerOf(t, "agent", "second", []string{clienttest.StartHoard(t, &clienttest.Hoard{})}, nil)
	if list, status, err := listed(t, empty); err != nil || len(list) != 0 || status.Partial {
		t.Errorf("nothing at all: %v, %v, %+v", list, err, status)
	}
	garbled := relabelled(t, clienttest.EngramAt(t, "second", "owner", "mem/a", "x", now), clienttest.EngramAt(t, "agent", "owner", "mem/a", "x", now).Tags)
	mixed := &clienttest.Hoard{Events: []*nostr.Event{garbled, clienttest.EngramAt(t, "agent", "owner", nipae.Core, "me", now)}}
	m = ownerOf(t, "agent", "owner", []string{clienttest.StartHoard(t, mixed)}, nil)
	if l, status, err := m.ListAll(t.Context()); err != nil || l.Unreadable != 1 || l.Core == nil || status.Doubtful != 1 {
		t.Errorf("all: %+v, %v", l, err)
	}
}
