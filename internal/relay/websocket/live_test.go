package websocket

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
)

// gatedStream lets a test act between the pages of a query.
type gatedStream struct {
	pages [][]store.Row
	next  func(page int)
	page  int
}

func (g *gatedStream) Next(context.Context, int, int) ([]store.Row, bool, error) {
	g.next(g.page)
	rows := g.pages[g.page]
	g.page++
	return rows, g.page == len(g.pages), nil
}
func (g *gatedStream) More() bool               { return false }
func (g *gatedStream) Damaged() []store.Damaged { return nil }
func (g *gatedStream) Complete() bool           { return false }

// khatru 0.19.1: an event stored between the query and the registration is
// never delivered (docs/khatru.md). Here events are committed and delivered at
// every moment between the registration and EOSE, some of them late.
func TestKhatruFault_GapBetweenStoredAndLive(t *testing.T) {
	ev := make([]*nostr.Event, 7)
	for i := range ev {
		ev[i] = event(t, alice, 1, fmt.Sprint(i))
	}
	f := &fake{}
	before := f.put(ev[0])          // stored and delivered long ago
	var late, early relay.Delivery  // committed before the ceiling is read, delivered after
	f.lastSeq = func(int64) int64 { // the subscription is registered by now
		early = f.put(ev[1])
		f.dispatch(early)
		late = f.put(ev[2])
		return late.Seq
	}
	f.stored = func(_ []relay.Granted, ceiling int64) Stream {
		var rows []store.Row
		for _, row := range slices.Backward(f.rows) {
			if row.Seq <= ceiling {
				rows = append(rows, row.Row)
			}
		}
		f.dispatch(f.put(ev[3])) // beside the query: not in it, so live
		return &gatedStream{pages: [][]store.Row{rows[:2], rows[2:]}, next: func(page int) {
			if page == 0 {
				f.dispatch(late)
				return
			}
			f.dispatch(f.put(ev[4]))
			gone := big(9, 10)
			gone.Tags = nostr.Tags{{"expiration", "1"}}
			f.dispatch(f.put(gone))
		}}
	}
	r := start(t, f, Options{})
	c := r.dial(t)
	c.send(`["REQ","s",{"kinds":[1]}]`)
	c.expect(
		delivered("s", ev[2]), delivered("s", ev[1]), delivered("s", ev[0]), `["EOSE","s"]`,
		delivered("s", ev[3]), delivered("s", ev[4]),
	)
	f.dispatch(before, early, late) // the dispatcher may even be this late
	f.dispatch(f.put(ev[5]))
	c.expect(delivered("s", ev[5]))
	f.dispatch(relay.Delivery{Event: ev[6], JSON: wire.AppendEvent(nil, ev[6])}) // ephemeral: no seq
	c.expect(delivered("s", ev[6]))
	c.nothingBefore()
}

// What is committed after the ceiling was read may be among the stored events.
// Then it is not sent again, whether it is delivered before EOSE or after.
func TestStoredEventsAboveTheCeilingComeOnce(t *testing.T) {
	f := &fake{}
	var ev []*nostr.Event
	for _, text := range []string{"before", "kept", "behind", "next"} {
		ev = append(ev, event(t, alice, 1, text))
	}
	f.put(ev[0])
	var kept, behind, next relay.Delivery
	f.stored = func([]relay.Granted, int64) Stream {
		kept, behind = f.put(ev[1]), f.put(ev[2])
		var rows []store.Row
		for _, row := range slices.Backward(f.rows) {
			rows = append(rows, row.Row)
		}
		return &gatedStream{pages: [][]store.Row{rows[:1], rows[1:]}, next: func(page int) {
			if page == 0 {
				f.dispatch(kept)
				next = f.put(ev[3])
			}
		}}
	}
	r := start(t, f, Options{})
	c := r.dial(t)
	c.send(`["REQ","s",{"kinds":[1]}]`)
	c.expect(delivered("s", ev[2]), delivered("s", ev[1]), delivered("s", ev[0]), `["EOSE","s"]`)
	f.dispatch(behind)
	f.dispatch(next)
	c.expect(delivered("s", ev[3]))
	c.nothingBefore()
}

// An event that is kept for after EOSE and expires meanwhile is not sent.
func TestKeptEventsMayExpire(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	f := &fake{}
	f.stored = func([]relay.Granted, int64) Stream {
		return &gatedStream{pages: [][]store.Row{nil}, next: func(int) {
			f.dispatch(f.put(event(t, alice, 1, "gone soon", nostr.Tag{"expiration", "1700000005"})))
			now = now.Add(5 * time.Second)
		}}
	}
	r := start(t, f, Options{Now: func() time.Time { return now }})
	c := r.dial(t)
	c.send(`["REQ","s",{"kinds":[1]}]`)
	c.expect(`["EOSE","s"]`)
	c.nothingBefore()
}

// khatru 0.19.1: live delivery consults neither RejectFilter nor
// OverwriteFilter (docs/khatru.md). The second check is made for each
// recipient and each of his filters, at the moment of delivery.
func TestKhatruFault_LiveDeliverySkipsTheGate(t *testing.T) {
	f := &fake{}
	f.canRead = func(scope gate.Scope, d *relay.Delivery) bool {
		return scope.CanRead(gate.SubjectOf(gate.Engram, d.Event))
	}
	r := start(t, f, Options{})
	table, err := gate.NewTable(gate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	pa, pb := pubkeyOf(t, alice), pubkeyOf(t, bob)
	ev := event(t, alice, 30174, "x", nostr.Tag{"d", strings.Repeat("1", 64)}, nostr.Tag{"p", pb})
	readers := map[string]bool{pa: true, pb: true, strings.Repeat("c", 64): false}
	for reader, may := range readers {
		filter := nostr.Filter{Kinds: []int{30174}, Authors: []string{reader}}
		scope, err := table.ScopeFor(gate.NewReader(reader), filter)
		if err != nil {
			t.Fatal(err)
		}
		c := r.dial(t)
		// A wide filter with a party's scope: only the check can hold it back.
		f.stored = func([]relay.Granted, int64) Stream { return &fakeStream{} }
		sub := newSubscription(onlyConn(t, r.Server), "s", []relay.Granted{{Filter: nostr.Filter{Kinds: []int{30174}}, Scope: scope}})
		sub.live = true
		d := relay.Delivery{Event: ev, JSON: []byte("{}"), Seq: 1}
		var p prepared
		p.of(r.live.hash, ev)
		news := newNews(&p, &d, 0, time.Now())
		got, start, _ := sub.deliver(&task{news: news, n: 4})
		if got != may {
			t.Errorf("delivered %v, want %v", got, may)
		}
		if start {
			go newWriter(sub.c).run()
		}
		c.ws.Close()
		r.count.await(t, "open", 0)
	}
}

func onlyConn(t testing.TB, s *Server) *conn {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		return c
	}
	t.Fatal("no connection")
	return nil
}

func TestEphemeralEventsAreLive(t *testing.T) {
	r := start(t, &fake{}, Options{})
	c, w := r.dial(t), r.dial(t)
	c.send(`["REQ","s",{"kinds":[20001]}]`)
	c.expect(`["EOSE","s"]`)
	ev := event(t, alice, 20001, "now")
	w.send(eventFrame(ev))
	w.expect(okFrame(ev))
	c.expect(delivered("s", ev))
}

// An expired event is not delivered (NIP-40).
func TestExpiredEventsAreNotDelivered(t *testing.T) {
	f := &fake{}
	r := start(t, f, Options{})
	c := r.dial(t)
	c.send(`["REQ","s",{"kinds":[1]}]`)
	c.expect(`["EOSE","s"]`)
	f.dispatch(f.put(event(t, alice, 1, "gone", nostr.Tag{"expiration", "1600000000"})))
	stays := event(t, alice, 1, "stays", nostr.Tag{"expiration", "99999999999"})
	f.dispatch(f.put(stays))
	c.expect(delivered("s", stays))
}

// The index finds exactly what asking every subscription would find.
func TestTheIndexAgreesWithASlowMatcher(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	pick := func(n int, prefix string) (values []string) {
		for range rng.IntN(n + 1) {
			values = append(values, fmt.Sprint(prefix, rng.IntN(6)))
		}
		return values
	}
	s := newServer(&fake{}, Options{Limits: filled(Limits{}), Metrics: noMetrics})
	t.Cleanup(s.verifier.close)
	conns := []*conn{deafConn(s), deafConn(s), deafConn(s), deafConn(s)}
	x := s.live
	var subs []*subscription
	filters := map[*subscription][]nostr.Filter{}
	for i := range 400 {
		var granted []relay.Granted
		for range 1 + rng.IntN(3) {
			f := nostr.Filter{IDs: pick(1, "id"), Authors: pick(2, "author"), Tags: nostr.TagMap{}}
			for range rng.IntN(3) {
				f.Kinds = append(f.Kinds, rng.IntN(3))
			}
			for _, name := range []string{"t", "p"} {
				if v := pick(6, "v"); v != nil && rng.IntN(2) == 0 {
					f.Tags[name] = v
				}
			}
			if rng.IntN(4) == 0 {
				f.Since = new(nostr.Timestamp(rng.IntN(10)))
			}
			if rng.IntN(4) == 0 {
				f.Until = new(nostr.Timestamp(rng.IntN(10)))
			}
			if rng.IntN(8) == 0 {
				f.Authors = []string{}
			}
			granted = append(granted, relay.Granted{Filter: f})
		}
		c := conns[rng.IntN(len(conns))]
		sub := newSubscription(c, fmt.Sprint(i), granted)
		for _, g := range granted {
			filters[sub] = append(filters[sub], g.Filter)
		}
		c.feed.add(sub)
		subs = append(subs, sub)
	}
	check := func() {
		t.Helper()
		for range 300 {
			ev := &nostr.Event{ID: fmt.Sprint("id", rng.IntN(6)), PubKey: fmt.Sprint("author", rng.IntN(6)),
				Kind: rng.IntN(3), CreatedAt: nostr.Timestamp(rng.IntN(10))}
			for range rng.IntN(4) {
				ev.Tags = append(ev.Tags, nostr.Tag{[]string{"t", "p", "x"}[rng.IntN(3)], fmt.Sprint("v", rng.IntN(6))})
			}
			ev.Tags = append(ev.Tags, nostr.Tag{"t"})
			var r round
			r.event.of(x.hash, ev)
			n := newNews(&r.event, &relay.Delivery{Event: ev}, 0, time.Now())
			x.concerned(&r, &r.event)
			seen := map[*subscription]bool{}
			for i, f := range r.feeds {
				if slices.Contains(r.feeds[:i], f) {
					t.Fatalf("seed %d: found twice", seed)
				}
				for _, sub := range f.list() {
					comparisons := 0
					r.tasks[i].news = n
					seen[sub] = overlap(sub.places, r.tasks[i].found(), &comparisons) && sub.wants(n, &comparisons)
				}
			}
			for _, sub := range subs {
				if want := nostr.Filters(filters[sub]).Match(ev); seen[sub] != want {
					t.Fatalf("seed %d: %v found %v, want %v by %v", seed, ev, seen[sub], want, filters[sub])
				}
			}
		}
	}
	check()
	rng.Shuffle(len(subs), func(i, j int) { subs[i], subs[j] = subs[j], subs[i] })
	for _, sub := range subs[200:] {
		sub.c.feed.remove(sub)
	}
	subs = subs[:200]
	check()
	for _, sub := range subs {
		sub.c.feed.remove(sub)
	}
	if len(x.places) != 0 {
		t.Errorf("%d places are left", len(x.places))
	}
}

// What an event costs depends on how many want it, not on how many subscribe.
func BenchmarkDeliverOneOfMany(b *testing.B) {
	for _, n := range []int{1, 100, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s, batch := crowded(b, n)
			b.ReportAllocs()
			for b.Loop() {
				s.deliver(batch)
			}
		})
	}
}
