package events_test

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/gate/gatetest"
	"engramd/internal/relay/gate/oracle"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/storetest"
)

// world is a store of random events and, beside it, the same events as a list,
// which a slow and obvious matcher answers from. Events share few times, values
// and people, so that ties and overlaps are the rule.
type world struct {
	*gatetest.Gen
	store   *sqlite.Store
	options oracle.Options
	table   *gate.Table
	clock   *storetest.Clock
	heads   []*nostr.Event
	seqs    map[string]int64
}

var worldValues = []string{"", "x", "nostr", "with \x00 zero", `quote " and *`, "ünïcode", "0123",
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}

func newWorld(tb testing.TB, seed uint64, events int, change ...func(*sqlite.Options)) *world {
	tb.Helper()
	w := &world{Gen: gatetest.New(seed, 6), clock: storetest.NewClock(), seqs: map[string]int64{}}
	w.Unsigned, w.Reuse = true, true
	w.options = oracle.Options{
		Wildcard:  []string{"", gate.WildcardExclude, gate.WildcardExclude}[w.Rand.IntN(3)],
		IDs:       []string{"", gate.IDsParty}[w.Rand.IntN(2)],
		Contracts: []string{"", gate.ContractsParties, gate.ContractsPublic}[w.Rand.IntN(3)],
		Rules:     gatetest.RuleSets[w.Rand.IntN(len(gatetest.RuleSets))],
	}
	w.table = storetest.MustTable(tb, gate.Options{
		Wildcard: w.options.Wildcard, IDs: w.options.IDs, Contracts: w.options.Contracts, Rules: w.options.Rules,
	})
	change = append(change, func(o *sqlite.Options) { o.Table, o.Clock = w.table, w.clock.Now })
	w.store = storetest.MustOpen(tb, change...)
	var came, written []*nostr.Event
	for range events {
		written = append(written, w.event())
	}
	for range 1 + events/100 {
		written = append(written, w.Dispute().Events...)
	}
	for _, ev := range written {
		ev.Sig = ev.ID + ev.ID
		if r := w.store.Put(tb.Context(), ev, store.PutOptions{Import: true}); r.Err != nil {
			tb.Fatalf("put %s: %v", ev, r.Err)
		} else if r.Seq != 0 {
			w.seqs[ev.ID] = r.Seq
			came = append(came, ev)
		}
	}
	w.options = oracle.Judge(w.options, came)
	w.load(tb)
	return w
}

// load takes the list from the store's export; that it is complete is another
// test's business.
func (w *world) load(tb testing.TB) {
	w.heads = nil
	err := w.store.Export(tb.Context(), gate.Operator(), false, nil, func(json []byte) error {
		ev, err := wire.ParseEvent(json)
		w.heads = append(w.heads, ev)
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	slices.SortFunc(w.heads, func(a, b *nostr.Event) int {
		return cmp.Or(cmp.Compare(b.CreatedAt, a.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
}

// event is one of the generator's with more of what makes queries hard.
func (w *world) event() *nostr.Event {
	ev := w.Event()
	if w.chance(70) {
		ev.CreatedAt = gatetest.Base + nostr.Timestamp(w.Rand.IntN(4))
	}
	strict := ev.Kind == 30174 || ev.Kind == 30090 || ev.Kind == 30091
	for w.chance(40) {
		ev.Tags = append(ev.Tags, nostr.Tag{pick(w.Rand, []string{"t", "e", "T"}), pick(w.Rand, worldValues)})
	}
	for !strict && w.chance(25) {
		ev.Tags = append(ev.Tags, nostr.Tag{"p", w.Person().Pub})
	}
	for !strict && w.chance(15) {
		ev.Tags = append(ev.Tags, nostr.Tag{"d", pick(w.Rand, worldValues)})
	}
	if ev.Kind == 30023 && w.chance(30) {
		ev.Tags = ev.Tags.FilterOut([]string{"d"}) // its address is "" all the same
	}
	if w.chance(10) {
		ev.Tags = append(ev.Tags, nostr.Tag{"expiration", strconv.FormatInt(storetest.Start.Unix()+int64(w.Rand.IntN(60)), 10)})
	}
	ev.ID = ev.GetID()
	ev.Sig = ev.ID + ev.ID
	return ev
}

func (w *world) chance(percent int) bool { return w.Rand.IntN(100) < percent }

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

// filter is one of the generator's with further conditions, and now and then
// with lists too long for open cursors.
func (w *world) filter(reader []string) nostr.Filter {
	f := w.Filter(reader, w.heads)
	if w.chance(15) {
		f = w.addressed()
	}
	if w.chance(8) {
		d := w.Dispute() // of people that are there, under an id that is not
		if ev := pick(w.Rand, w.heads); ev.Kind == 30090 || ev.Kind == 30091 {
			d.Contract = ev.Tags.GetD()
		}
		f = nostr.Filter{Kinds: []int{30090, 30091}, Tags: nostr.TagMap{"d": {d.Contract}}}
	}
	if w.chance(20) {
		if f.Tags == nil {
			f.Tags = nostr.TagMap{}
		}
		f.Tags[pick(w.Rand, []string{"t", "e", "T", "d"})] = []string{pick(w.Rand, worldValues), pick(w.Rand, worldValues)}
	}
	for name, values := range f.Tags {
		if w.chance(10) && len(values) > 0 {
			f.Tags[name] = w.pad(append(slices.Clone(values), worldValues...))
			for _, k := range w.Keys {
				f.Tags[name] = append(f.Tags[name], k.Pub)
			}
		}
	}
	if w.chance(10) && len(f.Authors) > 0 {
		f.Authors = w.pad(f.Authors)
	}
	if w.chance(10) && len(f.IDs) > 0 {
		f.IDs = w.pad(f.IDs)
	}
	if w.chance(10) && len(f.Kinds) > 0 {
		for i := range 20 {
			f.Kinds = append(f.Kinds, i)
		}
	}
	return f
}

// addressed asks for an address by any of an event's d tags, or by none.
func (w *world) addressed() nostr.Filter {
	f := nostr.Filter{Tags: nostr.TagMap{"d": {pick(w.Rand, []string{"", "none"})}}}
	for range 1 + w.Rand.IntN(2) {
		ev := pick(w.Rand, w.heads)
		for range 20 {
			if nostr.IsAddressableKind(ev.Kind) {
				break
			}
			ev = pick(w.Rand, w.heads)
		}
		f.Kinds, f.Authors = append(f.Kinds, ev.Kind), append(f.Authors, ev.PubKey)
		for tag := range ev.Tags.FindAll("d") {
			if w.chance(70) {
				f.Tags["d"] = append(f.Tags["d"], tag[1])
			}
		}
	}
	return f
}

// pad makes a list long by values that mean nothing.
func (w *world) pad(list []string) []string {
	out := slices.Clone(list)
	for range 30 {
		out = append(out, fmt.Sprintf("%064x", w.Rand.Uint64()))
	}
	return out
}

// scope draws a way of asking: the gate's scope for the filter, or, when it is
// refused or now and then, one of those that do not come from a filter. may is
// what the oracle says to it.
func (w *world) scope(reader []string, f nostr.Filter) (scope gate.Scope, name string, may func(*nostr.Event) bool) {
	cases, err := w.store.Cases(context.Background(), reader, f.Tags["d"])
	if err != nil {
		panic(err)
	}
	scope, err = w.table.ScopeFor(gate.NewReader(reader...), f, cases...)
	if err == nil && w.chance(90) {
		return scope, "reader", func(ev *nostr.Event) bool { return oracle.May(w.options, reader, f, ev) }
	}
	switch w.Rand.IntN(3) {
	case 0:
		return gate.Operator(), "operator", func(*nostr.Event) bool { return true }
	case 1:
		return gate.Party(w.table, gate.NewReader(reader...), cases...), "party", func(ev *nostr.Event) bool {
			return oracle.May(w.options, reader, nostr.Filter{}, ev) ||
				slices.Contains(f.Tags["d"], ev.Tags.GetD()) && oracle.Decides(w.options, reader, ev)
		}
	}
	return gate.Scope{}, "zero", func(ev *nostr.Event) bool { return w.class(ev) == gate.Open }
}

// class is that of an event of the world.
func (w *world) class(ev *nostr.Event) gate.Class {
	if ev.Kind == nostr.KindDeletion {
		return w.table.ClassifyDeletion(ev, w.options.Found[ev.ID])
	}
	return w.table.Classify(ev)
}

// expected answers by looking at every event.
func (w *world) expected(f nostr.Filter, above int64, may func(*nostr.Event) bool) (ids []string) {
	now := w.clock.Now().Unix()
	for _, ev := range w.heads {
		if tag := ev.Tags.Find("expiration"); tag != nil && ev.Kind != 30090 && ev.Kind != 30091 {
			if at, _ := strconv.ParseInt(tag[1], 10, 64); at <= now {
				continue
			}
		}
		if f.Matches(ev) && may(ev) && w.seqs[ev.ID] > above {
			ids = append(ids, ev.ID)
		}
	}
	return ids
}

// paged reads the whole answer in pages of random sizes.
func (w *world) paged(tb testing.TB, ask store.Ask) (ids []string) {
	tb.Helper()
	for calls := 0; ; calls++ {
		ask.MaxRows = 1 + w.Rand.IntN([]int{2, 6, 500}[w.Rand.IntN(3)])
		ask.MaxBytes = 1 + w.Rand.IntN([]int{1000, 5000, 1 << 20}[w.Rand.IntN(3)])
		page, err := w.store.Query(tb.Context(), ask)
		if err != nil {
			tb.Fatal(err)
		}
		if len(page.Rows) > ask.MaxRows || page.More && len(page.Rows) == 0 || calls > len(w.heads)+1 {
			tb.Fatalf("page of %d rows, asked for %d, more %v, call %d", len(page.Rows), ask.MaxRows, page.More, calls)
		}
		for _, row := range page.Rows {
			ev, err := wire.ParseEvent(row.JSON)
			if err != nil || ev.ID != hex.EncodeToString(row.ID[:]) || int64(ev.CreatedAt) != row.CreatedAt || row.Seq != w.seqs[ev.ID] {
				tb.Fatalf("row %d of %d with %s: %v", row.Seq, row.CreatedAt, row.JSON, err)
			}
			ids = append(ids, ev.ID)
		}
		if !page.More {
			return ids
		}
		last := page.Rows[len(page.Rows)-1]
		ask.After = &store.Position{CreatedAt: last.CreatedAt, ID: last.ID}
	}
}

// TestQueryAgainstModel compares pages and counts with the slow matcher's
// answers.
func TestQueryAgainstModel(t *testing.T) {
	seeds := 6
	switch {
	case os.Getenv("ENGRAMD_SOAK") == "1":
		seeds = 60
	case testing.Short():
		seeds = 3
	}
	for range seeds {
		seed := rand.Uint64()
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			w := newWorld(t, seed, 250)
			found := 0
			for range 150 {
				found += w.compare(t)
				if t.Failed() {
					return
				}
			}
			if found < 200 {
				t.Errorf("only %d events found: the test proves little", found)
			}
		})
	}
}

// compare asks one random question and reports how many events answer it.
func (w *world) compare(t *testing.T) int {
	t.Helper()
	if w.chance(5) {
		w.clock.Add(1e9)
	}
	reader := w.Reader()
	f := w.filter(reader)
	scope, name, may := w.scope(reader, f)
	ask := store.Ask{Scope: scope, Filter: f}
	full := w.expected(f, 0, may)
	if w.chance(20) {
		ask.Above = 1 + w.Rand.Int64N(w.store.LastSeq())
	}
	want := w.expected(f, ask.Above, may)
	if len(want) > 0 && w.chance(20) {
		at := w.Rand.IntN(len(want))
		i := slices.IndexFunc(w.heads, func(ev *nostr.Event) bool { return ev.ID == want[at] })
		ask.After = &store.Position{CreatedAt: int64(w.heads[i].CreatedAt)}
		hex.Decode(ask.After.ID[:], []byte(want[at]))
		want = want[at+1:]
	}
	if got := w.paged(t, ask); !slices.Equal(got, want) {
		t.Errorf("filter %s, scope %s %v, after %v, above %d:\n got %v\nwant %v", f, name, reader, ask.After, ask.Above, got, want)
	}
	n, err := w.store.Count(t.Context(), []store.Ask{ask})
	if err != nil || int(n) != len(full) {
		t.Errorf("filter %s, scope %s %v: count %d (%v), want %d", f, name, reader, n, err, len(full))
	}
	w.compareCounts(t, ask, full)
	w.compareIDs(t, ask, full)
	return len(want)
}

// compareCounts counts several filters together: distinct events.
func (w *world) compareCounts(t *testing.T, first store.Ask, matched []string) {
	t.Helper()
	distinct := map[string]bool{}
	for _, id := range matched {
		distinct[id] = true
	}
	asks := []store.Ask{first}
	for range w.Rand.IntN(3) {
		reader := w.Reader()
		f := w.filter(reader)
		scope, _, may := w.scope(reader, f)
		asks = append(asks, store.Ask{Scope: scope, Filter: f})
		for _, id := range w.expected(f, 0, may) {
			distinct[id] = true
		}
	}
	if n, err := w.store.Count(t.Context(), asks); err != nil || int(n) != len(distinct) {
		t.Errorf("count of %d filters: %d (%v), want %d: %v", len(asks), n, err, len(distinct), asks)
	}
}
