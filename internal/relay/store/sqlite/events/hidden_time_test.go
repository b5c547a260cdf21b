package events_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events"
	"engramd/internal/relay/store/sqlite/storetest"
)

// timedBy says by which of the store's calls a surface of the gate reads, so that
// TestHiddenRowsTakeNoTime covers it, or why it need not. A new surface belongs
// here.
var timedBy = map[gate.Surface]string{
	gate.SurfaceReq: "query", gate.SurfaceQuery: "query", gate.SurfaceCount: "count", gate.SurfaceHTTPCount: "count",
	gate.SurfaceSync: "ids", gate.SurfaceSearch: "search", gate.SurfaceHistory: "history",
	gate.SurfaceLive: notStored, gate.SurfacePast: "shows everything, to replicas",
	gate.SurfaceContracts: byPair, gate.SurfaceContract: byPair, gate.SurfaceThread: byPair, gate.SurfaceThreadEntry: byPair,
	gate.SurfaceThreadSummary: byPair, gate.SurfaceThreadSearch: byPair, gate.SurfaceThreadOrder: byPair, gate.SurfaceTransitions: byPair,
}

const (
	notStored = "reads nothing that is stored"
	byPair    = "reads tables of its own, by contract and pair of keys"
)

func TestEverySurfaceIsTimed(t *testing.T) {
	for _, s := range gate.Surfaces() {
		if timedBy[s] == "" {
			t.Errorf("nobody has said what the time of surface %v tells", s)
		}
	}
}

// hidingWorld is two stores: what a stranger may read is the same in both, and
// one has 20,000 rows besides that he may not.
type hidingWorld struct {
	victim, stranger, other storetest.Key
	ghost                   storetest.Key // of whom nothing is shown
	steps                   [2]*atomic.Int64
	stores                  [2]*sqlite.Store
	hidden                  *nostr.Event    // one of the rows
	repeated                [2]*nostr.Event // what each store has
}

const hiddenRows = 20_000

// theHidden is the event of a number that only others than the stranger read: of
// every class, with every tag that a filter may name, with one reader, several,
// none, and some that name the stranger and are not for him.
func (w *hidingWorld) theHidden(i int) *nostr.Event {
	v, o, s, at := w.victim, w.other, w.stranger, int64(i/4)
	if i/10%2 == 1 {
		v = w.ghost
	}
	tags := func(more ...nostr.Tag) []nostr.Tag {
		return append([]nostr.Tag{{"e", pointed}, {"t", "topic"}, {"a", "30023:" + v.Pub + ":gone"}}, more...)
	}
	p := nostr.Tag{"p", o.Pub}
	switch i % 10 {
	case 0, 1:
		return v.Fake(30174, at, storetest.Payload(fmt.Sprint(i)), tags(nostr.Tag{"d", fmt.Sprintf("%064x", i)}, p)...)
	case 2:
		return v.Fake(4, at, "x?iv=y", tags(p)...)
	case 3:
		return v.Fake(4, at, "x?iv=y", tags(p, nostr.Tag{"p", v.Pub})...)
	case 4:
		return v.Fake(1059, at, fmt.Sprint(i), tags(p)...)
	case 5:
		return v.Fake(5, at, fmt.Sprint(i), tags(nostr.Tag{"k", "30174"}, nostr.Tag{"p", s.Pub})...)
	case 6:
		return v.Entry(o, at, fmt.Sprint("contract ", i), "word")
	case 7:
		return v.Fake(30090, at, storetest.Payload(fmt.Sprint(i)), tags(nostr.Tag{"d", fmt.Sprint("sealed ", i)}, p)...)
	case 8:
		return v.Fake(30500, at, "word", tags(nostr.Tag{"d", fmt.Sprint("x", i%7000)}, nostr.Tag{"p", s.Pub})...)
	}
	return o.Fake(44200, at, fmt.Sprint(i), tags(nostr.Tag{"p", v.Pub})...)
}

const pointed = "00000000000000000000000000000000000000000000000000000000000000ff"

// pasts are superseded versions that only others read.
func (w *hidingWorld) pasts(i int) *nostr.Event {
	if i%8 == 2 {
		return w.ghost.Fake(30174, int64(i), storetest.Payload(fmt.Sprint(i)), nostr.Tag{"d", pointed}, nostr.Tag{"p", w.other.Pub})
	}
	if i%2 == 0 {
		return w.victim.Fake(30174, int64(i), storetest.Payload(fmt.Sprint(i)), nostr.Tag{"d", pointed}, nostr.Tag{"p", w.other.Pub})
	}
	return w.victim.Entry(w.other, int64(i-2000), "shared", fmt.Sprint("word ", i))
}

// A crowd of open events is in both.
func newHidingWorld(t testing.TB, crowd int, change func(*sqlite.Options)) *hidingWorld {
	w := &hidingWorld{victim: storetest.NewKey("victim"), stranger: storetest.NewKey("stranger"), other: storetest.NewKey("other"), ghost: storetest.NewKey("ghost")}
	v, o, s := w.victim, w.other, w.stranger
	shown := []*nostr.Event{
		v.Note(1, "a word of mine", nostr.Tag{"t", "topic"}), v.Note(2, "to him", nostr.Tag{"p", o.Pub}), s.Note(3, "me"),
		v.Fake(5, 4, "", nostr.Tag{"k", "1"}), v.Fake(30023, 5, "word", nostr.Tag{"d", "x"}),
		v.Fake(4, 6, "x?iv=y", nostr.Tag{"p", s.Pub}), v.Fake(30174, 7, storetest.Payload("a"), nostr.Tag{"d", "f" + pointed[1:]}, nostr.Tag{"p", s.Pub}),
		v.Entry(s, 8, "shared", "a word to you"), v.Entry(s, 9, "shared", "another word"), s.Entry(v, 9, "shared", "word back"),
		s.Fake(4, 10, "x?iv=y", nostr.Tag{"p", v.Pub}), s.Fake(1059, 11, "x", nostr.Tag{"p", s.Pub}), o.Note(12, "other"),
		// That somebody has deleted by id, and by address, anybody may know.
		s.Fake(5, 13, "", nostr.Tag{"k", "30174"}, nostr.Tag{"e", pointed}, nostr.Tag{"a", "30023:" + s.Pub + ":gone"}),
		v.Fake(4, 14, "x?iv=y", nostr.Tag{"p", s.Pub}, nostr.Tag{"p", o.Pub}),
	}
	for n := range w.stores {
		w.steps[n] = &atomic.Int64{}
		st := storetest.MustOpen(t, func(opt *sqlite.Options) {
			opt.Table = storetest.MustTable(t, gate.Options{Rules: hidingRules})
			opt.After = func(time.Duration) <-chan time.Time { return nil } // nothing else reads
			change(opt)
			if opt.Pacing.Every > 0 {
				opt.Pacing.Sum = w.steps[n]
			}
		})
		w.stores[n] = st
		var last store.Pending
		begin := func(ev *nostr.Event) {
			p, err := st.Begin(t.Context(), ev, store.PutOptions{Import: true})
			if err != nil {
				t.Fatal(err)
			}
			last = p
		}
		for _, ev := range shown {
			begin(ev)
		}
		w.repeated[n] = shown[0]
		for i := range crowd {
			id := fmt.Sprintf("%064x", 1<<40+i)
			begin(storetest.NewKey(fmt.Sprint("crowd ", i%50)).Fake(1+i%2*30022, int64(i/4), "noise", nostr.Tag{"e", id}, nostr.Tag{"d", id}, nostr.Tag{"p", id}))
		}
		if n == 0 {
			for i := range hiddenRows {
				begin(w.theHidden(i))
			}
			for i := range 2000 {
				begin(w.pasts(i))
			}
			w.hidden = w.theHidden(0)
		}
		if r := last.Wait(); r.Err != nil {
			t.Fatal(r.Err)
		}
		if err := st.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

var hidingRules = []string{"30500 author"}

// filters are those that are let through although they are about what hidden
// rows have: each list of the gate's rules is met by what names the stranger.
func (w *hidingWorld) filters() map[string]nostr.Filter {
	v, s := []string{w.victim.Pub}, []string{w.stranger.Pub}
	other := []string{w.other.Pub}
	ghost := []string{w.ghost.Pub}
	since, until := nostr.Timestamp(storetest.Start.Unix()+100), nostr.Timestamp(storetest.Start.Unix()+4000)
	ps := nostr.TagMap{"p": s}
	with := func(tags nostr.TagMap, name string, values ...string) nostr.TagMap {
		out := nostr.TagMap{name: values}
		for k, v := range tags {
			out[k] = v
		}
		return out
	}
	all := map[string]nostr.Filter{
		"engrams":              {Kinds: []int{30174}, Authors: v, Tags: ps},
		"engrams since":        {Kinds: []int{30174}, Authors: v, Tags: ps, Since: &since},
		"engrams until":        {Kinds: []int{30174}, Authors: v, Tags: ps, Until: &until},
		"engrams of many":      {Kinds: []int{30174}, Authors: append(many(20), v...), Tags: ps},
		"engrams by address":   {Kinds: []int{30174}, Authors: v, Tags: with(ps, "d", fmt.Sprintf("%064x", 0), fmt.Sprintf("%064x", 1))},
		"engrams by d":         {Kinds: []int{30174}, Tags: with(ps, "d", fmt.Sprintf("%064x", 0))},
		"engrams of a ghost":   {Kinds: []int{30174}, Authors: ghost, Tags: ps},
		"heads of a ghost":     {Kinds: []int{30174}, Authors: ghost, Tags: with(ps, "d", fmt.Sprintf("%064x", 10), fmt.Sprintf("%064x", 11), pointed)},
		"entries of a ghost":   {Kinds: []int{30090, 30091}, Authors: ghost, Tags: nostr.TagMap{"d": {"sealed 17", "x"}}},
		"deletions by a ghost": {Kinds: []int{5}, Authors: ghost},
		"notes by ghosts":      {Kinds: []int{1}, Authors: append(many(20), ghost...)},
		"notes naming a ghost": {Kinds: []int{1}, Tags: nostr.TagMap{"p": ghost}},
		"to me by a ghost":     {Authors: ghost, Tags: ps},
		"all by a ghost":       {Authors: ghost},
		"all naming ghosts":    {Tags: nostr.TagMap{"p": append(many(20), ghost...)}},
		"engrams, topic":       {Kinds: []int{30174}, Authors: v, Tags: with(ps, "t", "topic")},
		"engrams to me":        {Kinds: []int{30174}, Tags: ps},
		"to me by V":           {Authors: v, Tags: ps},
		"to me":                {Tags: ps},
		"to me, pointing":      {Tags: with(ps, "e", pointed)},
		"mine to V":            {Authors: s, Tags: nostr.TagMap{"p": v}},
		"mine":                 {Authors: s},
		"messages":             {Kinds: []int{4}, Authors: v, Tags: ps},
		"messages, pointing":   {Kinds: []int{4}, Authors: v, Tags: with(ps, "e", pointed)},
		"wraps":                {Kinds: []int{1059}, Authors: v, Tags: ps},
		"wraps and metrics":    {Kinds: []int{1059, 44200}, Authors: v, Tags: ps},
		"deletions by V":       {Kinds: []int{5}, Authors: v},
		"deletions":            {Kinds: []int{5}},
		"deletions of":         {Kinds: []int{5}, Tags: nostr.TagMap{"e": {pointed}}},
		"deletions of a":       {Kinds: []int{5}, Tags: nostr.TagMap{"a": {"30023:" + w.victim.Pub + ":gone"}}},
		"deletions naming me":  {Kinds: []int{5}, Tags: ps},
		"deletions of k":       {Kinds: []int{5}, Authors: v, Tags: nostr.TagMap{"k": {"30174"}}},
		"entries":              {Kinds: []int{30090}, Authors: v, Tags: ps},
		"entries of":           {Kinds: []int{30090, 30091}, Tags: nostr.TagMap{"d": {"sealed 7"}}},
		"entries of, by V":     {Kinds: []int{30090}, Authors: v, Tags: nostr.TagMap{"d": {"sealed 7", "sealed 17"}}},
		"entries, pointing":    {Kinds: []int{30090}, Tags: with(ps, "e", pointed)},
		"app data":             {Kinds: []int{30078}, Authors: v},
		"ruled, naming me":     {Kinds: []int{30500}, Authors: s, Tags: ps},
		"notes naming other":   {Kinds: []int{1}, Tags: nostr.TagMap{"p": other}},
		"notes by V":           {Kinds: []int{1}, Authors: v},
		"notes on a topic":     {Kinds: []int{1}, Tags: nostr.TagMap{"t": {"topic"}}},
		"replies":              {Kinds: []int{1}, Tags: nostr.TagMap{"e": {pointed}}},
		"articles by d":        {Kinds: []int{30023}, Tags: nostr.TagMap{"d": {"sealed 7", "x8"}}},
		"many open kinds":      {Kinds: []int{0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 30078}, Authors: v},
		"ids":                  {IDs: many(16)},
		"ids of V":             {IDs: many(16), Kinds: []int{30174, 4, 1059}, Authors: v},
		"ids, no kinds, mine":  {IDs: many(3), Tags: ps},
		"all by V":             {Authors: v},
		"all naming other":     {Tags: nostr.TagMap{"p": other}},
		"all naming V by V":    {Authors: v, Tags: nostr.TagMap{"p": v}},
		"all, pointing":        {Tags: nostr.TagMap{"e": {pointed}}},
		"all by d":             {Tags: nostr.TagMap{"d": {"sealed 7", "x8", "contract 6"}}},
		"all since":            {Since: &since},
		"all":                  {},
		"app data by address":  {Kinds: []int{30500, 30023}, Authors: append(v, s...), Tags: nostr.TagMap{"d": {"x8", "x18"}}},
	}
	for _, words := range []string{"word", "mine"} {
		all["search "+words] = nostr.Filter{Search: words, Kinds: []int{1}}
		all["search by V "+words] = nostr.Filter{Search: words, Authors: v, Kinds: []int{1}}
		all["search entries "+words] = nostr.Filter{Search: words, Kinds: []int{30090}, Authors: v, Tags: ps}
		all["search all "+words] = nostr.Filter{Search: words, Authors: v, Tags: ps}
	}
	return all
}

func many(n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("%064x", 0xabc000+i))
	}
	return out
}

// compare has fn ask both stores, and wants the same number of steps within a
// twentieth.
func (w *hidingWorld) compare(t *testing.T, name string, fn func(s *sqlite.Store, n int) (rows int64, err error)) {
	t.Helper()
	var steps, rows [2]int64
	for n, s := range w.stores {
		for range 2 { // the first has to prepare its statements
			w.steps[n].Store(0)
			got, err := fn(s, n)
			if err != nil && !errors.Is(err, store.ErrMany) {
				t.Errorf("%s: %v", name, err)
				return
			}
			steps[n], rows[n] = w.steps[n].Load(), got
		}
	}
	if steps[1] == 0 || rows[0] != rows[1] {
		t.Errorf("%s: %d rows with hidden ones, %d without, in %d steps: they are not the same question", name, rows[0], rows[1], steps[1])
	}
	if difference := max(steps[0]-steps[1], steps[1]-steps[0]); difference*20 > steps[1] {
		t.Errorf("%s: %d steps with %d hidden rows, %d without", name, steps[0], hiddenRows, steps[1])
	}
}

// TestHiddenRowsTakeNoTime: for every sort of filter that is let through, on
// every surface, what is hidden from the reader costs no steps. Time is a surface
// of the gate like any other.
func TestHiddenRowsTakeNoTime(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine writes much")
	}
	w := newHidingWorld(t, 0, func(o *sqlite.Options) { o.Pacing = engine.Pacing{Every: 1, Slice: 1e12} })
	readers := map[string]gate.Reader{
		"nobody": {}, "stranger": gate.NewReader(w.stranger.Pub),
		"stranger with keys": gate.NewReader(append(many(6), w.stranger.Pub)...),
	}
	asked := 0
	for mode, options := range map[string]gate.Options{
		"default": {}, "exclude": {Wildcard: gate.WildcardExclude},
		"strict": {IDs: gate.IDsParty, Contracts: gate.ContractsParties, Wildcard: gate.WildcardExclude},
	} {
		options.Rules = hidingRules
		table := storetest.MustTable(t, options)
		for who, reader := range readers {
			if who == "stranger with keys" && mode != "default" {
				continue
			}
			for shape, f := range w.filters() {
				scope, err := table.ScopeFor(reader, f)
				if err != nil {
					continue // refused before the store is asked
				}
				asked++
				w.timeFilter(t, fmt.Sprintf("%s, %s, %s", mode, who, shape), store.Ask{Scope: scope, Filter: f})
			}
			for _, q := range w.histories() {
				scope := gate.Party(table.PartiesOnly(), reader)
				w.compare(t, fmt.Sprintf("%s, %s, history %+v", mode, who, q), func(s *sqlite.Store, _ int) (int64, error) {
					rows, _, err := s.History(t.Context(), scope, q)
					return int64(len(rows)), err
				})
			}
		}
	}
	if asked < 150 {
		t.Errorf("%d filters were let through: the test proves little", asked)
	}
	w.timeWrites(t)
}

// timeFilter asks on each surface.
func (w *hidingWorld) timeFilter(t *testing.T, name string, ask store.Ask) {
	if ask.Filter.Search != "" {
		w.compare(t, name+", search", func(s *sqlite.Store, _ int) (int64, error) {
			hits, err := s.Search(t.Context(), ask)
			if err != nil {
				return 0, err
			}
			page, err := hits.Next(t.Context(), 0, 0)
			return int64(len(page.Rows)), err
		})
		return
	}
	w.compare(t, name+", query", func(s *sqlite.Store, _ int) (int64, error) {
		page, err := s.Query(t.Context(), ask)
		return int64(len(page.Rows)), err
	})
	for n := range 2 { // and as one of 16 filters
		asks := make([]store.Ask, 1+n*15)
		for i := range asks {
			asks[i] = ask
			until := nostr.Timestamp(storetest.Start.Unix() + 10_000 + int64(i))
			asks[i].Filter.Until = &until
		}
		w.compare(t, fmt.Sprintf("%s, count of %d", name, len(asks)), func(s *sqlite.Store, _ int) (int64, error) { return s.Count(t.Context(), asks) })
	}
	w.compare(t, name+", ids", func(s *sqlite.Store, _ int) (int64, error) {
		ids, err := s.IDs(t.Context(), ask, 1000, func(int) error { return nil })
		return int64(len(ids)), err
	})
}

func (w *hidingWorld) histories() (all []store.HistoryQuery) {
	d, shared, none := pointed, "shared", "none"
	all = append(all, store.HistoryQuery{Kind: 30174, Author: w.ghost.Pub}, store.HistoryQuery{Kind: 30174, Author: w.ghost.Pub, D: &d})
	for _, kind := range []int{30174, 30090, 30091, 30500, 30078} {
		all = append(all, store.HistoryQuery{Kind: kind, Author: w.victim.Pub})
		for _, at := range []*string{&d, &shared, &none} {
			all = append(all, store.HistoryQuery{Kind: kind, Author: w.victim.Pub, D: at})
		}
	}
	return all
}

// timeWrites has events come that tell of hidden rows if anything does.
func (w *hidingWorld) timeWrites(t *testing.T) {
	for n, s := range w.stores {
		if err := events.WatchWrites(s, w.steps[n]); err != nil {
			t.Fatal(err)
		}
	}
	puts := int64(0)
	putOn := func(name string, base *[32]byte, make func(n int, at int64) *nostr.Event) {
		w.compare(t, name, func(s *sqlite.Store, n int) (int64, error) {
			puts++
			r := s.Put(t.Context(), make(n, 20_000+puts/2), store.PutOptions{Base: base})
			return int64(r.Outcome), r.Err
		})
	}
	put := func(name string, make func(n int, at int64) *nostr.Event) { putOn(name, nil, make) }
	put("a duplicate", func(n int, _ int64) *nostr.Event { return w.repeated[n] })
	for name, id := range map[string]string{"present": w.hidden.ID, "another's gift wrap": w.theHidden(4).ID, "absent": pointed} {
		ids := nostr.Tags{{"e", pointed}, {"e", id}}
		put("a request to delete what is "+name, func(_ int, at int64) *nostr.Event { return w.stranger.Fake(5, at, "", ids...) })
		base, err := hex.DecodeString(id)
		if err != nil {
			t.Fatal(err)
		}
		putOn("a version with a base that is "+name, (*[32]byte)(base), func(_ int, at int64) *nostr.Event {
			return w.stranger.Fake(30078, at, "", nostr.Tag{"d", "mine"})
		})
	}
	put("a request to delete by address", func(_ int, at int64) *nostr.Event {
		return w.stranger.Fake(5, at, "", nostr.Tag{"a", fmt.Sprintf("30174:%s:%064x", w.victim.Pub, 0)})
	})
	put("a note that points at it", func(_ int, at int64) *nostr.Event {
		return w.stranger.Note(at, "x", nostr.Tag{"e", w.hidden.ID}, nostr.Tag{"p", w.victim.Pub})
	})
}
