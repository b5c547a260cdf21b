package state

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"engramd/internal/protocol/writerlog"
)

func hexOf(n int) string { return fmt.Sprintf("%064x", n) }

// take takes a number for an event at an address.
func take(t testing.TB, s *State, id, d string, at int64, tombstone bool) {
	t.Helper()
	must(t, s.Links.Take(t.Context(), 1, func(int, writerlog.Link) (Sealed, error) {
		return Sealed{ID: id, D: d, At: at, Event: []byte("event " + id), Tombstone: tombstone, Expires: 77}, nil
	}))
}

// relayTook has a relay say in that order that it has events.
func relayTook(t testing.TB, s *State, ids ...string) {
	t.Helper()
	for _, id := range ids {
		must(t, s.Links.Took(t.Context(), map[string][]string{id: {"wss://a"}}))
	}
}

// TestNewestOfAddress: what a relay took is known by its address, the newest one, with
// its bytes until they are dropped; what no relay took is not, and an open one is
// told of.
func TestNewestOfAddress(t *testing.T) {
	s := newRig(t).open(testPair)
	must(t, s.Links.Begin(t.Context(), "", nil, strings.NewReader("abcd")))
	d, other := hexOf(0xd), hexOf(0xe)
	for i, one := range []struct {
		id, d string
		at    int64
		fate  Fate
	}{{hexOf(1), d, 10, Stored}, {hexOf(2), d, 12, Stored}, {hexOf(3), d, 11, Stored}, {hexOf(4), d, 13, Void}, {hexOf(5), other, 9, Unknown}} {
		take(t, s, one.id, one.d, one.at, i == 1)
		if one.fate == Stored {
			relayTook(t, s, one.id)
			continue
		}
		must(t, s.Links.Settle(t.Context(), one.fate, one.id))
	}
	at, err := s.Heads.At(t.Context(), d)
	must(t, err)
	if h := at.Head; h.ID != hexOf(2) || h.At != 12 || !h.Tombstone || h.Expires != 77 || string(h.Event) != "event "+hexOf(2) || len(at.Open) > 0 {
		t.Errorf("%+v", at)
	}
	if at, err = s.Heads.At(t.Context(), other); err != nil || at.Head.ID != "" || len(at.Open) != 1 {
		t.Errorf("an open one: %+v %v", at, err)
	}
	must(t, s.Links.Took(t.Context(), map[string][]string{hexOf(5): {"wss://a"}}))
	all, err := s.Heads.All(t.Context())
	must(t, err)
	if len(all) != 2 || all[d].Head.ID != hexOf(2) || all[other].Head.ID != hexOf(5) {
		t.Errorf("%+v", all)
	}
	must(t, s.Heads.Drop(t.Context(), hexOf(2), hexOf(5)))
	if at, _ = s.Heads.At(t.Context(), d); at.Head.ID != hexOf(2) || at.Head.Event != nil {
		t.Errorf("dropped: %+v", at)
	}
	if at, _ = s.Heads.At(t.Context(), other); len(at.Open) > 0 || at.Head.ID != hexOf(5) {
		t.Errorf("looked up: %+v", at)
	}
}

// TestKeptIsTheNewest: of events that are kept by an address the newest stays, and what
// is explained is, up to its time.
func TestKeptIsTheNewest(t *testing.T) {
	s := newRig(t).open(testPair)
	d := hexOf(0xd)
	for _, h := range []Head{{D: d, ID: hexOf(7), At: 5, Event: []byte("7")}, {D: d, ID: hexOf(6), At: 5, Event: []byte("6")}, {D: d, ID: hexOf(8), At: 4, Event: []byte("8")}} {
		must(t, s.Heads.Keep(t.Context(), h))
	}
	at, err := s.Heads.At(t.Context(), d)
	must(t, err)
	if at.Head.ID != hexOf(6) || string(at.Head.Event) != "6" || at.Lost() != 0 {
		t.Errorf("%+v", at)
	}
	if err := s.Heads.Keep(t.Context(), Head{D: d, ID: hexOf(9), At: 9}); err == nil {
		t.Error("an event without bytes is kept")
	}
	for _, why := range []Why{Removed, Expired} { // by a relay's word
		must(t, s.Heads.Lose(t.Context(), d, Loss{Relay: "wss://a", At: 5, Why: why}))
		if at, _ = s.Heads.At(t.Context(), d); at.Lost() != why {
			t.Errorf("%d: %+v", why, at)
		}
		if at.Losses = append([]Loss{{At: 5, Why: Accepted}}, at.Losses...); at.Lost() != Accepted {
			t.Errorf("%d, and given up before: %d", why, at.Lost())
		}
		must(t, s.Heads.Unlose(t.Context(), d))
		if at, _ = s.Heads.At(t.Context(), d); at.Lost() != 0 {
			t.Errorf("not %d: %+v", why, at)
		}
	}
	must(t, s.Heads.Lose(t.Context(), d, Loss{At: 4, Why: Accepted}))
	if at, _ = s.Heads.At(t.Context(), d); at.Lost() != 0 {
		t.Errorf("an older one was given up: %+v", at)
	}
	must(t, s.Heads.Lose(t.Context(), d, Loss{At: 5, Why: Deleted}))
	if n, err := s.Heads.Kept(t.Context()); len(n) != 0 || err != nil {
		t.Errorf("%v are kept that were deleted: %v", n, err)
	}
	if at, _ = s.Heads.At(t.Context(), d); len(at.Losses) != 1 || at.Losses[0].Why != Deleted {
		t.Errorf("deleted: %+v", at)
	}
}

// TestLinksGetPlaces: addresses that older versions did not keep are noted once.
func TestLinksGetPlaces(t *testing.T) {
	s := newRig(t).open(testPair)
	must(t, s.Links.Begin(t.Context(), "", nil, strings.NewReader("abcd")))
	take(t, s, hexOf(1), "", 10, false)
	take(t, s, hexOf(2), "", 11, false)
	relayTook(t, s, hexOf(1), hexOf(2))
	ids, err := s.Heads.Nowhere(t.Context())
	must(t, err)
	if len(ids) != 2 {
		t.Fatal(ids)
	}
	must(t, s.Heads.Place(t.Context(), []Head{{ID: hexOf(1), D: hexOf(0xd), Tombstone: true}, {ID: hexOf(2)}}))
	if ids, _ = s.Heads.Nowhere(t.Context()); len(ids) != 0 {
		t.Error("again:", ids)
	}
	at, _ := s.Heads.At(t.Context(), hexOf(0xd))
	if all, _ := s.Heads.All(t.Context()); len(all) != 1 || !at.Head.Tombstone {
		t.Errorf("%+v %+v", at, all)
	}
}

// TestActs: requests of the agent's key are kept once.
func TestActs(t *testing.T) {
	s := newRig(t).open(testPair)
	for range 2 {
		must(t, s.Heads.AddActs(t.Context(), map[string][]byte{hexOf(1): []byte("{}"), "no id": []byte("{}")}))
	}
	if acts, err := s.Heads.Acts(t.Context()); err != nil || len(acts) != 1 {
		t.Errorf("%q %v", acts, err)
	}
}

// manyLinks is a state behind 100,000 links at 20,000 addresses.
func manyLinks(t testing.TB) (s *State, address func(n int) string) {
	t.Helper()
	s = newRig(t).open(testPair)
	must(t, s.Links.Begin(t.Context(), "", nil, strings.NewReader("abcd")))
	address = func(n int) string { return hexOf(n % 20_000) }
	n := 0
	for range 25 {
		ids := map[string][]string{}
		must(t, s.Links.Take(t.Context(), 4000, func(int, writerlog.Link) (Sealed, error) {
			n++
			id := writerlog.Leaf(writerlog.Hash{byte(n), byte(n >> 8), byte(n >> 16)})
			ids[hex.EncodeToString(id[:])] = nil
			return Sealed{ID: hex.EncodeToString(id[:]), D: address(n), At: int64(n), Event: []byte("x")}, nil
		}))
		must(t, s.Links.Took(t.Context(), ids))
	}
	return s, address
}

// BenchmarkKnownAt is what a reading spends on asking what this machine knows of one
// address, behind 100,000 links: at most 1 ms.
func BenchmarkKnownAt(b *testing.B) {
	s, address := manyLinks(b)
	start := time.Now()
	all, err := s.Heads.All(b.Context())
	if err != nil || len(all) != 20_000 {
		b.Fatal(len(all), err)
	}
	took := time.Since(start) // Loop resets what was reported before it
	for i := 0; b.Loop(); i++ {
		if at, err := s.Heads.At(b.Context(), address(i)); err != nil || at.Head.ID == "" {
			b.Fatal(at, err)
		}
	}
	b.ReportMetric(float64(took.Milliseconds()), "ms-all")
}

// TestEnds: a later event says which numbers before it expire, those that are superseded
// by one that does among them, once that is stored; bytes of what has expired are dropped.
func TestEnds(t *testing.T) {
	r := newRig(t)
	s := r.open(testPair)
	must(t, s.Links.Begin(t.Context(), "", nil, strings.NewReader("abcd")))
	soon := r.now.Unix() + 60
	said := func(n int, d string, expires int64) (ends []writerlog.End) {
		t.Helper()
		must(t, s.Links.Take(t.Context(), 1, func(_ int, l writerlog.Link) (Sealed, error) {
			ends = l.Ends
			return Sealed{ID: hexOf(n), D: d, At: r.now.Unix() + int64(n), Event: []byte("event"), Expires: expires}, nil
		}))
		return ends
	}
	d := hexOf(0xd)
	said(1, d, 0)
	relayTook(t, s, hexOf(1))
	said(2, d, soon)
	if ends := said(3, hexOf(0xe), 0); len(ends) != 1 || ends[0] != (writerlog.End{1, soon}) {
		t.Errorf("before it is stored: %v", ends)
	}
	relayTook(t, s, hexOf(2))
	if ends := said(4, hexOf(0xf), 0); len(ends) != 2 || ends[0] != (writerlog.End{0, soon}) || ends[1] != (writerlog.End{1, soon}) {
		t.Errorf("stored: %v", ends)
	}
	if ends, err := s.Links.Ends(t.Context(), "61626364", 0, 4); err != nil || len(ends) != 2 {
		t.Errorf("%v %v", ends, err)
	}
	if own, err := s.Links.Own(t.Context()); err != nil || own["61626364"][0].Ends != soon || own["61626364"][2].Ends != 0 {
		t.Errorf("%+v %v", own, err)
	}
	kept := func() int {
		t.Helper()
		all, err := s.Heads.Kept(t.Context())
		must(t, err)
		return len(all)
	}
	if n := kept(); n != 1 {
		t.Fatalf("%d are kept", n)
	}
	must(t, s.Close())
	r.now = r.now.Add(time.Minute)
	if s = r.open(testPair); kept() != 0 {
		t.Error("the bytes of what has expired are kept")
	}
	if at, err := s.Heads.At(t.Context(), d); err != nil || at.Head.ID != hexOf(2) || at.Head.Expires != soon {
		t.Errorf("%+v %v", at, err)
	}
}

// TestEndsFollowTheNewest: what is superseded expires with the newest at its address, also
// when that comes to expire later or never, or by itself if that is sooner; also where it
// is settled late.
func TestEndsFollowTheNewest(t *testing.T) {
	r := newRig(t)
	s := r.open(testPair)
	must(t, s.Links.Begin(t.Context(), "", nil, strings.NewReader("abcd")))
	now, d := r.now.Unix(), hexOf(0xd)
	wrote := func(n int, expires int64, settle ...int) (ends []int64) {
		t.Helper()
		must(t, s.Links.Take(t.Context(), 1, func(int, writerlog.Link) (Sealed, error) {
			return Sealed{ID: hexOf(n), D: d, At: now + int64(n), Event: []byte("event"), Expires: expires}, nil
		}))
		for _, id := range settle {
			relayTook(t, s, hexOf(id))
		}
		own, err := s.Links.Own(t.Context())
		must(t, err)
		for _, o := range own["61626364"] {
			ends = append(ends, o.Ends)
		}
		return ends
	}
	for i, c := range []struct {
		expires int64
		settle  []int
		want    []int64
	}{
		{0, []int{1}, []int64{0}},
		{now + 60, []int{2}, []int64{now + 60, now + 60}},
		{now + 9000, []int{3}, []int64{now + 9000, now + 60, now + 9000}},
		{now + 9000, nil, []int64{now + 9000, now + 60, now + 9000, now + 9000}},
		{now + 30, []int{5, 4}, []int64{now + 30, now + 30, now + 30, now + 30, now + 30}},
		{0, []int{6}, []int64{0, now + 60, now + 9000, now + 9000, now + 30, 0}},
	} {
		if ends := wrote(i+1, c.expires, c.settle...); !slices.Equal(ends, c.want) {
			t.Errorf("after %d: %v, want %v", i+1, ends, c.want)
		}
	}
}

// TestEndsOfAChain: what has expired goes on having expired when something new is written
// at its address, in whatever order relays took what.
func TestEndsOfAChain(t *testing.T) {
	r := newRig(t)
	s := r.open(testPair)
	must(t, s.Links.Begin(t.Context(), "", nil, strings.NewReader("abcd")))
	now := r.now.Unix()
	versions := []struct{ at, expires, want int64 }{
		{1, 0, 200}, {2, 30, 30}, {20, 200, 200}, // it took all along
		{200, 0, 9000}, {210, 9000, 9000},
	}
	orders := permutations(len(versions))
	id := func(order, version int) string { return hexOf(1 + order*len(versions) + version) }
	must(t, s.Links.Take(t.Context(), len(orders)*len(versions), func(i int, _ writerlog.Link) (Sealed, error) {
		order, v := i/len(versions), versions[i%len(versions)]
		e := Sealed{ID: id(order, i%len(versions)), D: hexOf(1 + order), At: now + v.at, Event: []byte("event")}
		if v.expires > 0 {
			e.Expires = now + v.expires
		}
		return e, nil
	}))
	var settled []string
	for i, order := range orders {
		for _, v := range order {
			settled = append(settled, id(i, v))
		}
	}
	relayTook(t, s, settled...)
	own, err := s.Links.Own(t.Context())
	must(t, err)
	for i, o := range own["61626364"] {
		if want := versions[i%len(versions)].want; o.Ends != now+want {
			t.Errorf("settled as %v: version %d ends at %d, want %d", orders[i/len(versions)], i%len(versions), o.Ends-now, want)
		}
	}
}

// permutations are the orders of n.
func permutations(n int) (all [][]int) {
	if n == 0 {
		return [][]int{nil}
	}
	for _, p := range permutations(n - 1) {
		for i := range n {
			all = append(all, slices.Insert(slices.Clone(p), i, n-1))
		}
	}
	return all
}

// TestManyEnds: where more expire than one event tells of, the next goes on behind them,
// and begins anew behind the last; what a void event told is told again.
func TestManyEnds(t *testing.T) {
	r := newRig(t)
	s := r.open(testPair)
	must(t, s.Links.Begin(t.Context(), "", nil, strings.NewReader("abcd")))
	soon := r.now.Unix() + 60
	const many = 2*writerlog.MaxEnds + 3
	n := 0
	take := func(count int, expires int64) (told [][]int64) {
		t.Helper()
		must(t, s.Links.Take(t.Context(), count, func(_ int, l writerlog.Link) (Sealed, error) {
			var numbers []int64
			for _, e := range l.Ends {
				numbers = append(numbers, e[0])
			}
			told, n = append(told, numbers), n+1
			return Sealed{ID: hexOf(n), D: hexOf(n), At: r.now.Unix(), Event: []byte("event"), Expires: expires}, nil
		}))
		return told
	}
	take(writerlog.MaxEnds, soon)
	take(many-writerlog.MaxEnds, soon+60)
	seen := map[int64]int{}
	for _, told := range take(3, 0) {
		if len(told) != writerlog.MaxEnds {
			t.Errorf("one tells of %v", told)
		}
		for _, n := range told {
			seen[n]++
		}
	}
	if len(seen) != many {
		t.Errorf("three tell of %d, of %d", len(seen), many)
	}
	first := take(1, 0)[0]
	must(t, s.Links.Settle(t.Context(), Void, hexOf(n)))
	if again := take(1, 0)[0]; !slices.Equal(first, again) {
		t.Errorf("after a void one that told %v: %v", first, again)
	}
}
