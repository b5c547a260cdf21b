package events_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/events"
	"engramd/internal/relay/store/sqlite/storetest"
)

// rotting is a closed database whose file bits are flipped in.
type rotting struct {
	t       *testing.T
	o       sqlite.Options
	file    []byte
	table   *gate.Table
	flipped int
	met     int // flips that a question met
}

// rottingStore fills a store, closes it and keeps its file.
func rottingStore(t *testing.T, fill func(s *sqlite.Store)) *rotting {
	t.Helper()
	o := storetest.Options(t, func(o *sqlite.Options) {
		o.Table = storetest.MustTable(t, gate.Options{Wildcard: gate.WildcardExclude})
	})
	s, err := sqlite.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	fill(s)
	wantClosed(t, s)
	file, err := os.ReadFile(o.Path)
	if err != nil {
		t.Fatal(err)
	}
	return &rotting{t: t, o: o, file: file, table: o.Table}
}

// cell is where the row of an event lies in the file: from some bytes before its
// JSON, which hold the columns before it, to some behind.
func (r *rotting) cell(ev *nostr.Event) (from, to int) {
	r.t.Helper()
	json := wire.AppendEvent(nil, ev)
	at := bytes.Index(r.file, json)
	if at < 0 || bytes.Contains(r.file[at+1:], json) {
		r.t.Fatalf("the row of %s is not in the file once", ev.ID)
	}
	columns := 40
	if ev.Tags.GetFirst([]string{"d"}) != nil {
		columns += 34
	}
	return at - columns, at + len(json) + 11
}

// each opens the database with one bit flipped, for every nth bit of a row.
func (r *rotting) each(ev *nostr.Event, nth int, look func(s *sqlite.Store, bit int)) {
	r.t.Helper()
	from, to := r.cell(ev)
	r.flip(8*from, 8*to, nth, look)
}

// flip does so for every nth bit of a part of the file.
func (r *rotting) flip(from, to, nth int, look func(s *sqlite.Store, bit int)) {
	r.t.Helper()
	dir := r.t.TempDir()
	for bit := from; bit < to; bit += nth {
		file := slices.Clone(r.file)
		file[bit/8] ^= 1 << (bit % 8)
		o := r.o
		o.Path = filepath.Join(dir, "flipped.db")
		if err := os.WriteFile(o.Path, file, 0o600); err != nil {
			r.t.Fatal(err)
		}
		s, err := sqlite.Open(r.t.Context(), o)
		if err != nil {
			continue // it is refused
		}
		r.flipped++
		look(s, bit)
		_ = s.Close() // a page that does not hang together may not close cleanly
		for _, end := range []string{"", "-wal", "-shm"} {
			_ = os.Remove(o.Path + end)
		}
	}
}

// shown asks a question and checks that what comes is what was stored.
func (r *rotting) shown(s *sqlite.Store, reader gate.Reader, f nostr.Filter, stored ...*nostr.Event) (n int, err error) {
	r.t.Helper()
	scope, err := r.table.ScopeFor(reader, f)
	if err != nil {
		r.t.Fatal(err)
	}
	page, err := s.Query(r.t.Context(), store.Ask{Scope: scope, Filter: f})
	for _, row := range page.Rows {
		if !slices.ContainsFunc(stored, func(ev *nostr.Event) bool { return bytes.Equal(row.JSON, wire.AppendEvent(nil, ev)) }) {
			r.t.Errorf("what was never stored is given out: %s", row.JSON)
		}
	}
	if err != nil {
		r.met++
	}
	return len(page.Rows), err
}

// TestNoRottenByteIsServed flips bits of rows in the file itself, so that indexes
// go on saying what was stored: nothing else is ever given out, nothing rotten
// reads as absence to who names it, a stranger learns nothing, and the same event
// coming again heals it.
func TestNoRottenByteIsServed(t *testing.T) {
	nth := 61
	if testing.Short() {
		nth = 307
	}
	note, wrap := alice.Note(0, "a note that is everybody's", nostr.Tag{"t", "x"}), carol.Fake(1059, 1, "sealed", nostr.Tag{"p", bob.Pub})
	old, head := alice.Engram(bob, 2, "mem/a"), alice.Engram(bob, 3, "mem/a")
	r := rottingStore(t, func(s *sqlite.Store) {
		for _, ev := range []*nostr.Event{note, wrap, old} {
			put(t, s, ev, store.Stored)
		}
		put(t, s, head, store.Replaced)
	})
	nobody, owner, stranger := gate.Reader{}, gate.NewReader(bob.Pub), gate.NewReader(storetest.NewKey("dave").Pub)
	for _, c := range []struct {
		event  *nostr.Event
		reader gate.Reader
		single []nostr.Filter // must not read as absence
		wide   []nostr.Filter
	}{
		{note, nobody, []nostr.Filter{{IDs: []string{note.ID}}}, []nostr.Filter{{Kinds: []int{1}}, {Tags: nostr.TagMap{"t": {"x"}}}, {}}},
		{wrap, owner, []nostr.Filter{{IDs: []string{wrap.ID}}}, []nostr.Filter{{Kinds: []int{1059}, Tags: nostr.TagMap{"p": {bob.Pub}}}}},
		{
			head, owner, []nostr.Filter{{IDs: []string{head.ID}}, {Kinds: []int{30174}, Authors: []string{alice.Pub}, Tags: nostr.TagMap{"d": {head.Tags.GetD()}, "p": {bob.Pub}}}},
			[]nostr.Filter{{Kinds: []int{30174}, Tags: nostr.TagMap{"p": {bob.Pub}}}},
		},
	} {
		r.each(c.event, nth, func(s *sqlite.Store, bit int) {
			for _, f := range c.single {
				if n, err := r.shown(s, c.reader, f, c.event); n == 0 && err == nil {
					t.Errorf("kind %d, bit %d: absent, asked for by %v", c.event.Kind, bit, f)
				}
			}
			for _, f := range c.wide {
				_, _ = r.shown(s, c.reader, f, note, wrap, head)
			}
			for _, f := range []nostr.Filter{{}, {Kinds: []int{30174}, Authors: []string{storetest.NewKey("dave").Pub}}, {IDs: []string{wrap.ID}}} {
				n, err := r.shown(s, stranger, f, note)
				if c.event != note && (n > 1 || errors.Is(err, store.ErrDamaged)) {
					t.Errorf("kind %d, bit %d: a stranger is shown %d, %v by %v", c.event.Kind, bit, n, err, f)
				}
			}
			for _, ev := range []*nostr.Event{c.event, note, wrap, head} { // the bits at the ends may be a neighbour's
				if healed := s.Put(context.Background(), ev, store.PutOptions{}); healed.Outcome == store.Failed {
					return // SQLite itself finds its file damaged
				} else if healed.Outcome != store.Duplicate {
					t.Errorf("kind %d, bit %d: sent again it is %v", c.event.Kind, bit, healed.Outcome)
				}
			}
			for _, f := range append(slices.Clone(c.single), c.wide...) {
				if n, err := r.shown(s, c.reader, f, note, wrap, head); n == 0 || err != nil {
					t.Errorf("kind %d, bit %d: healed, and %d are shown, %v by %v", c.event.Kind, bit, n, err, f)
				}
			}
			report, err := s.Check(t.Context())
			if err != nil || slices.ContainsFunc(report.Problems, func(p store.Problem) bool { return p.Check != "integrity" }) && report.Problems[0].Check != "integrity" {
				t.Errorf("kind %d, bit %d: healed, and check finds %+v, %v", c.event.Kind, bit, report.Problems, err)
			}
		})
	}
	if r.met < r.flipped {
		t.Errorf("of %d flips %d questions met one", r.flipped, r.met)
	}
}

// TestNoFlipOpensAnything flips bits all over the file, indexes included: what is
// not found may be missed, but nothing wrong is given out and nothing gated shown.
func TestNoFlipOpensAnything(t *testing.T) {
	note, wrap := alice.Note(0, "a note that is everybody's", nostr.Tag{"t", "x"}), carol.Fake(1059, 1, "sealed", nostr.Tag{"p", bob.Pub})
	old, head := alice.Engram(bob, 2, "mem/a"), alice.Engram(bob, 3, "mem/a")
	gone := alice.Delete(4, wrap.ID) // which is its author's alone
	r := rottingStore(t, func(s *sqlite.Store) {
		for _, ev := range []*nostr.Event{note, wrap, old, gone} {
			put(t, s, ev, store.Stored)
		}
		put(t, s, head, store.Replaced)
	})
	nth := len(r.file)*8/60 + 1
	if testing.Short() {
		nth *= 10
	}
	for first := range 2 { // the parts of pages that hold something are at their ends
		r.flip(first*4099, 8*len(r.file), nth, func(s *sqlite.Store, bit int) {
			r.harmless(s, bit, note, wrap, old, head, gone)
		})
	}
	for _, ev := range []*nostr.Event{old, gone} {
		from, to := r.cell(ev)
		r.flip(8*from, 8*to, 499, func(s *sqlite.Store, bit int) { r.harmless(s, bit, note, wrap, old, head, gone) })
	}
}

// harmless asks as everybody and checks what comes.
func (r *rotting) harmless(s *sqlite.Store, bit int, note, wrap, old, head, gone *nostr.Event) {
	r.t.Helper()
	nobody := gate.NewReader(storetest.NewKey("dave").Pub)
	for _, f := range []nostr.Filter{{}, {Kinds: []int{1}}, {IDs: []string{wrap.ID}}, {IDs: []string{gone.ID}}, {Kinds: []int{5}}} {
		if n, err := r.shown(s, nobody, f, note); n > 1 || errors.Is(err, store.ErrDamaged) && f.IDs != nil {
			r.t.Errorf("bit %d: a stranger is shown %d, %v by %v", bit, n, err, f)
		}
	}
	for _, f := range []nostr.Filter{{Kinds: []int{30174}, Authors: []string{alice.Pub}}, {Kinds: []int{5}, Authors: []string{alice.Pub}}} {
		_, _ = r.shown(s, gate.NewReader(alice.Pub), f, head, gone)
	}
	rows, _, err := s.History(r.t.Context(), gate.Party(r.table.PartiesOnly(), gate.NewReader(alice.Pub)), store.HistoryQuery{Kind: 30174, Author: alice.Pub})
	for _, row := range rows {
		if !bytes.Equal(row.JSON, wire.AppendEvent(nil, old)) {
			r.t.Errorf("bit %d: a version that was never stored: %s (%v)", bit, row.JSON, err)
		}
	}
	_ = s.Export(r.t.Context(), gate.Operator(), true, nil, func(json []byte) error {
		if !slices.ContainsFunc([]*nostr.Event{note, wrap, old, head, gone}, func(ev *nostr.Event) bool { return bytes.Equal(json, wire.AppendEvent(nil, ev)) }) {
			r.t.Errorf("bit %d: exported, and never stored: %s", bit, json)
		}
		return nil
	})
}

// TestRotHaltsOneOfSeveral: a command that must read a rotten row halts the node,
// whose others may have it whole. Healing is no outcome and halts nobody.
func TestRotHaltsOneOfSeveral(t *testing.T) {
	o := &several{clock: storetest.NewClock().Now}
	o.open(t, storetest.Options(t))
	first := alice.Engram(bob, 1, "mem/a")
	put(t, o.s, first, store.Stored)
	for range 2 {
		if _, err := events.OnWriter(o.s, "UPDATE events SET json = CAST(replace(json, 'content', 'c0ntent') AS BLOB)"); err != nil {
			t.Fatal(err)
		}
		put(t, o.s, first, store.Duplicate)
		if o.halted != nil {
			t.Fatalf("healing halts it: %v", o.halted)
		}
	}
	put(t, o.s, alice.Engram(bob, 2, "mem/a"), store.Replaced)
	if _, err := events.OnWriter(o.s, "UPDATE events SET created_at = created_at + 1"); err != nil {
		t.Fatal(err)
	}
	if r := o.s.Put(t.Context(), alice.Engram(bob, 3, "mem/a"), store.PutOptions{}); r.Outcome != store.Failed || !errors.Is(o.halted, store.ErrDamaged) {
		t.Errorf("%v, %v; halted by %v", r.Outcome, r.Err, o.halted)
	}
	o.s.Close()
}

// TestEveryWayHeals: the same event heals its row, head or version, however it comes
// again, and changes nothing else.
func TestEveryWayHeals(t *testing.T) {
	for name, o := range map[string]store.PutOptions{"event": {}, "import": {Import: true}, "replica": {Replica: true}, "replica, past": {Replica: true, Past: true}} {
		t.Run(name, func(t *testing.T) {
			s := storetest.MustOpen(t)
			old, head, note := alice.Engram(bob, 1, "mem/a"), alice.Engram(bob, 2, "mem/a"), alice.Note(0, "x", nostr.Tag{"t", "y"})
			put(t, s, old, store.Stored)
			put(t, s, head, store.Replaced)
			put(t, s, note, store.Stored)
			before, err := events.Dump(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			for _, harm := range []string{"class = 0", "created_at = created_at + 1", "json = CAST(replace(json, 'kind', 'k1nd') AS BLOB)", "readers = NULL", "sum = 1"} {
				for _, table := range []string{"events", "history"} {
					if _, err := events.OnWriter(s, "UPDATE "+table+" SET "+harm); err != nil {
						t.Fatal(err)
					}
				}
				for _, ev := range []*nostr.Event{note, old, head} {
					if r := s.Put(t.Context(), ev, o); r.Outcome != store.Duplicate {
						t.Errorf("%s: kind %d is answered %v, %v", harm, ev.Kind, r.Outcome, r.Err)
					}
				}
				after, err := events.Dump(t.Context(), s)
				if err != nil || !slices.Equal(before, after) {
					t.Fatalf("%s: healed, and the rows are others (%v):\n%q\n%q", harm, err, before, after)
				}
			}
			wantWhole(t, s)
		})
	}
}
