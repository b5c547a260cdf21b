package events_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/events"
	"engramd/internal/relay/store/sqlite/storetest"
)

// model is a store as one would write it down: lists, walked from end to end,
// no index, no batch, no chunk.
type model struct {
	versions int
	now      int64
	heads    []*nostr.Event // and regular events
	past     []*nostr.Event
	ids      map[string]int64 // "author id" deleted
	addrs    map[string]int64 // address deleted up to
	gone     map[string]int64 // author vanished up to
	taken    map[string]bool  // rolled back, by id
	over     map[string]int64 // address whose head expired: its time
}

func newModel(versions int) *model {
	return &model{versions: versions, now: storetest.Start.Unix(), ids: map[string]int64{}, addrs: map[string]int64{}, gone: map[string]int64{}, taken: map[string]bool{}, over: map[string]int64{}}
}

func isGated(kind int) bool { return kind == 30174 || kind == 30090 }

func hasAddress(kind int) bool { return nostr.IsReplaceableKind(kind) || nostr.IsAddressableKind(kind) }

// beats is the rule for heads: newer, ties to the lower id.
func beats(a, b *nostr.Event) bool {
	return a.CreatedAt > b.CreatedAt || a.CreatedAt == b.CreatedAt && a.ID < b.ID
}

func (m *model) expired(ev *nostr.Event) bool {
	t := ev.Tags.Find("expiration")
	if t == nil || ev.Kind == 30090 {
		return false
	}
	at, _ := strconv.ParseInt(t[1], 10, 64)
	return at <= m.now
}

// ended reports whether an event has expired, or a head that superseded it.
func (m *model) ended(ev *nostr.Event) bool {
	return m.expired(ev) || ev.Kind == 30174 && slices.ContainsFunc(m.heads, func(h *nostr.Event) bool {
		return m.expired(h) && h.Kind == ev.Kind && storetest.Address(h) == storetest.Address(ev) && h.CreatedAt >= ev.CreatedAt
	})
}

// drop removes from both lists what the condition names, and what has expired.
func (m *model) drop(cond func(ev *nostr.Event) bool) {
	del := func(ev *nostr.Event) bool { return m.ended(ev) || cond(ev) }
	m.past = slices.DeleteFunc(m.past, del)
	for _, h := range m.heads {
		if at := storetest.Address(h); h.Kind == 30174 && m.expired(h) {
			m.over[at] = max(m.over[at], int64(h.CreatedAt))
		}
	}
	m.heads = slices.DeleteFunc(m.heads, func(ev *nostr.Event) bool { return m.expired(ev) || cond(ev) })
}

func (m *model) put(ev *nostr.Event, imported bool) store.Outcome {
	m.drop(func(*nostr.Event) bool { return false })
	same := func(o *nostr.Event) bool { return o.ID == ev.ID }
	until, vanished := m.gone[ev.PubKey]
	switch {
	case m.expired(ev):
		return store.Refused
	case ev.Kind == 30090 && m.deleted(ev) && !imported: // it may be here, withdrawn
		return store.Deleted
	case slices.ContainsFunc(m.heads, same), slices.ContainsFunc(m.past, same):
		return store.Duplicate
	case vanished && int64(ev.CreatedAt) <= until, ev.Kind == 1059 && m.toVanished(ev):
		return store.Deleted
	case ev.Kind == 30090 && m.deleted(ev):
		m.past = append(m.past, ev)
		return store.Stored
	case ev.Kind != 5 && ev.Kind != 62 && m.deleted(ev):
		return store.Deleted
	case m.taken[ev.ID] && !imported:
		return store.Deleted
	}
	delete(m.taken, ev.ID)
	switch ev.Kind {
	case 5:
		m.delete(ev)
	case 62:
		m.vanish(ev)
	}
	outcome := m.place(ev)
	if outcome == store.Stale && ev.Kind == 30090 && !imported {
		return store.Stored // and history
	}
	return outcome
}

// rollback takes all that an agent remembers, and what it remembered since asOf.
func (m *model) rollback(agent string, asOf int64) {
	took := func(since int64) func(ev *nostr.Event) bool {
		return func(ev *nostr.Event) bool {
			its := ev.PubKey == agent && int64(ev.CreatedAt) > since && (ev.Kind == 30174 || ev.Kind == 10002)
			m.taken[ev.ID] = m.taken[ev.ID] || its
			return its
		}
	}
	m.heads, m.past = slices.DeleteFunc(m.heads, took(0)), slices.DeleteFunc(m.past, took(asOf))
}

func (m *model) toVanished(ev *nostr.Event) bool {
	for _, t := range ev.Tags {
		if until, ok := m.gone[t[1]]; t[0] == "p" && ok && int64(ev.CreatedAt) <= until {
			return true
		}
	}
	return false
}

func (m *model) deleted(ev *nostr.Event) bool {
	_, byID := m.ids[ev.PubKey+" "+ev.ID]
	if to := ev.Tags.GetFirst([]string{"p"}); ev.Kind == 1059 && len(ev.Tags.GetAll([]string{"p"})) == 1 {
		_, byRecipient := m.ids[to.Value()+" "+ev.ID]
		byID = byID || byRecipient
	}
	until, byAddr := m.addrs[storetest.Address(ev)]
	return byID || hasAddress(ev.Kind) && byAddr && int64(ev.CreatedAt) <= until
}

func (m *model) delete(req *nostr.Event) {
	for _, t := range req.Tags {
		if t[0] == "e" {
			m.ids[req.PubKey+" "+t[1]] = 1
		} else if strings.Contains(t[1], req.PubKey) {
			m.addrs[t[1]] = max(m.addrs[t[1]], int64(req.CreatedAt))
		}
	}
	m.heads = slices.DeleteFunc(m.heads, func(ev *nostr.Event) bool {
		withdrawn := ev.Kind == 30090 && m.deleted(ev)
		if withdrawn {
			m.past = append(m.past, ev)
		}
		return withdrawn
	})
	m.drop(func(ev *nostr.Event) bool { return ev.Kind != 5 && ev.Kind != 62 && ev.Kind != 30090 && m.deleted(ev) })
}

func (m *model) vanish(req *nostr.Event) {
	m.gone[req.PubKey] = max(m.gone[req.PubKey], int64(req.CreatedAt))
	m.drop(func(ev *nostr.Event) bool {
		return ev.PubKey == req.PubKey && ev.CreatedAt <= req.CreatedAt ||
			ev.Kind == 1059 && ev.CreatedAt <= req.CreatedAt && ev.Tags.FindWithValue("p", req.PubKey) != nil
	})
}

func (m *model) place(ev *nostr.Event) store.Outcome {
	if !hasAddress(ev.Kind) {
		m.heads = append(m.heads, ev)
		return store.Stored
	}
	at := func(o *nostr.Event) bool { return storetest.Address(o) == storetest.Address(ev) }
	for _, o := range append(slices.Clone(m.heads), m.past...) {
		if at(o) && beats(o, ev) {
			if ev.Kind == 30090 {
				m.past = append(m.past, ev)
			}
			return store.Stale
		}
	}
	i := slices.IndexFunc(m.heads, at)
	if until, over := m.over[storetest.Address(ev)]; i < 0 && over && (int64(ev.CreatedAt) < until || int64(ev.CreatedAt) == until && ev.Tags.Find("expiration") == nil) {
		return store.Stale
	}
	if i < 0 {
		m.heads = append(m.heads, ev)
		return store.Stored
	}
	old := m.heads[i]
	m.heads[i] = ev
	if isGated(ev.Kind) {
		m.past = append(m.past, old)
		m.prune(ev, at)
	}
	return store.Replaced
}

func (m *model) prune(ev *nostr.Event, at func(*nostr.Event) bool) {
	if ev.Kind == 30090 {
		return
	}
	var list []*nostr.Event
	for _, o := range m.past {
		if at(o) {
			list = append(list, o)
		}
	}
	slices.SortFunc(list, func(a, b *nostr.Event) int {
		if beats(a, b) {
			return -1
		}
		return 1
	})
	if len(list) > m.versions {
		m.drop(func(o *nostr.Event) bool { return slices.Contains(list[m.versions:], o) })
	}
}

// script makes random events in a small world, so that they meet.
type script struct {
	rnd    *rand.Rand
	people []storetest.Key
	sent   []*nostr.Event
	expire func(kind int) bool
}

func (g *script) person() storetest.Key { return g.people[g.rnd.IntN(len(g.people))] }

func (g *script) next() *nostr.Event {
	if len(g.sent) > 0 && g.rnd.IntN(5) == 0 {
		return g.sent[g.rnd.IntN(len(g.sent))]
	}
	ev := g.fresh()
	g.sent = append(g.sent, ev)
	return ev
}

func (g *script) fresh() *nostr.Event {
	who, at, d := g.person(), int64(g.rnd.IntN(40)), nostr.Tag{"d", string("xy"[g.rnd.IntN(2)])}
	p := nostr.Tag{"p", g.person().Pub}
	kinds := []int{1, 0, 10002, 30023, 30174, 30174, 30090, 30090, 1059, 5, 5, 62}
	kind := kinds[g.rnd.IntN(len(kinds))]
	var tags []nostr.Tag
	switch kind {
	case 30023:
		tags = []nostr.Tag{d}
	case 30174, 30090:
		tags = []nostr.Tag{d, p}
	case 1059:
		tags = []nostr.Tag{p}
		if g.rnd.IntN(4) == 0 {
			tags = append(tags, nostr.Tag{"p", g.person().Pub})
		}
	case 62:
		if g.rnd.IntN(4) > 0 {
			return g.fresh()
		}
	case 5:
		for range 1 + g.rnd.IntN(3) {
			if len(g.sent) == 0 {
				return g.fresh()
			}
			target := g.sent[g.rnd.IntN(len(g.sent))]
			by := target.PubKey
			if target.Kind == 1059 && g.rnd.IntN(2) == 0 {
				by = target.Tags.Find("p")[1]
			}
			who = g.people[slices.IndexFunc(g.people, func(k storetest.Key) bool { return k.Pub == by })]
			if g.rnd.IntN(8) == 0 {
				who = g.person()
			}
			if hasAddress(target.Kind) && g.rnd.IntN(2) == 0 {
				tags = append(tags, nostr.Tag{"a", storetest.Address(target)})
			} else {
				tags = append(tags, nostr.Tag{"e", target.ID})
			}
		}
	}
	if g.expire(kind) && g.rnd.IntN(4) == 0 {
		tags = append(tags, expires(int64(g.rnd.IntN(60))))
	}
	return who.Fake(kind, at, fmt.Sprint(g.rnd.IntN(3)), tags...)
}

// present lists the ids of those events that have not expired.
func (m *model) present(list []*nostr.Event) []string {
	out := []string{}
	for _, ev := range list {
		if !m.ended(ev) {
			out = append(out, ev.ID)
		}
	}
	slices.Sort(out)
	return out
}

func stored(t *testing.T, s *sqlite.Store, table string, now int64) []string {
	t.Helper()
	list, err := events.OnReader(t.Context(), s, fmt.Sprintf(
		`SELECT lower(hex(id)) AS h FROM %[1]s t WHERE (expires_at IS NULL OR expires_at > %[2]d) AND NOT EXISTS (SELECT 1 FROM events e
			WHERE e.expires_at <= %[2]d AND e.kind = 30174 AND e.kind = t.kind AND e.d = t.d AND e.pubkey = t.pubkey AND e.created_at >= t.created_at) ORDER BY h`, table, now))
	if err != nil {
		t.Fatal(err)
	}
	out := []string{}
	for _, v := range list {
		out = append(out, v.(string))
	}
	return out
}

// The store and the model take the same random writes, in batches and with
// restarts, sweeps and a clock that moves, and must give the same outcomes and
// hold the same events.
func TestAgainstModel(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	for i := range uint64(8) {
		t.Run(fmt.Sprintf("seed %d", seed+i), func(t *testing.T) { compareWithModel(t, seed+i) })
	}
}

func compareWithModel(t *testing.T, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, seed))
	clock := storetest.NewClock()
	versions, expire := 3, func(kind int) bool { return !isGated(kind) }
	if seed%2 == 0 {
		versions, expire = 1000, func(int) bool { return true }
	}
	o := storetest.Options(t, func(o *sqlite.Options) { o.Clock, o.Versions = clock.Now, versions }, marked)
	s, err := sqlite.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	mark := readFile(t, o.Mark)
	defer func() { s.Close() }()
	m := newModel(versions)
	g := &script{rnd: rnd, people: []storetest.Key{alice, bob, carol}, expire: expire}
	for step := range 60 {
		release := events.HoldWriter(s)
		var pending []store.Pending
		var evs []*nostr.Event
		var imported []bool
		for range 1 + rnd.IntN(8) {
			ev := g.next()
			imported = append(imported, rnd.IntN(3) == 0)
			p, err := s.Begin(t.Context(), ev, store.PutOptions{Import: imported[len(evs)]})
			if err != nil {
				t.Fatal(err)
			}
			pending, evs = append(pending, p), append(evs, ev)
		}
		release()
		for i, p := range pending {
			if got, want := p.Wait(), m.put(evs[i], imported[i]); got.Outcome != want {
				t.Fatalf("step %d: kind %d at %d: %v (%v), the model says %v", step, evs[i].Kind, evs[i].CreatedAt, got.Outcome, got.Err, want)
			}
		}
		if got, want := stored(t, s, "events", m.now), m.present(m.heads); !slices.Equal(got, want) {
			t.Fatalf("step %d: %d events, the model has %d", step, len(got), len(want))
		}
		if got, want := stored(t, s, "history", m.now), m.present(m.past); !slices.Equal(got, want) {
			t.Fatalf("step %d: %d versions in history, the model has %d", step, len(got), len(want))
		}
		switch rnd.IntN(12) {
		case 0:
			if err := s.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
		case 3:
			who, asOf := g.person(), int64(rnd.IntN(40))
			m.rollback(who.Pub, storetest.Start.Unix()+asOf)
			if got := switchIn(t, s, rollback(who, asOf), nil); got.Quarantined > 0 && rnd.IntN(2) == 0 {
				if err := s.DropQuarantine(t.Context(), "test"); err != nil {
					t.Fatal(err)
				}
			}
		case 1:
			clock.Add(5 * time.Second)
			m.now += 5
		case 2:
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			mark = earlierMark(t, o, mark)
			if s, err = sqlite.Open(t.Context(), o); err != nil {
				t.Fatal(err)
			}
		}
	}
	wantWhole(t, s)
}
