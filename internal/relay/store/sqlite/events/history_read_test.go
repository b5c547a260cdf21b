package events_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/storetest"
)

// versions asks for history in pages and returns the ids.
func versions(t *testing.T, s *sqlite.Store, scope gate.Scope, q store.HistoryQuery) (ids []string) {
	t.Helper()
	for more := true; more; {
		var rows []store.Row
		var err error
		if rows, more, err = s.History(t.Context(), scope, q); err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			ids = append(ids, hex.EncodeToString(row.ID[:]))
			q.After = &store.Position{CreatedAt: row.CreatedAt, ID: row.ID}
		}
	}
	return ids
}

func idsOf(events ...*nostr.Event) (ids []string) {
	for _, ev := range events {
		ids = append(ids, ev.ID)
	}
	return ids
}

// TestHistoryIsForParties: superseded versions only, newest first, for the
// author and the p of each version.
func TestHistoryIsForParties(t *testing.T) {
	s := storetest.MustOpen(t)
	table := storetest.MustTable(t, gate.Options{})
	party := func(k ...storetest.Key) gate.Scope {
		var keys []string
		for _, k := range k {
			keys = append(keys, k.Pub)
		}
		return gate.Party(table, gate.NewReader(keys...))
	}
	a1, a2, a3 := alice.Engram(bob, 1, "mem/a"), alice.Engram(bob, 2, "mem/a"), alice.Engram(bob, 5, "mem/a")
	b1, b2 := alice.Engram(carol, 2, "mem/b"), alice.Engram(bob, 3, "mem/b") // it changed owners
	for _, ev := range []*nostr.Event{a1, b1} {
		put(t, s, ev, store.Stored)
	}
	for _, ev := range []*nostr.Event{a2, b2, a3} {
		put(t, s, ev, store.Replaced)
	}
	put(t, s, alice.Fake(30023, 1, "old", nostr.Tag{"d", "x"}), store.Stored)
	put(t, s, alice.Fake(30023, 2, "new", nostr.Tag{"d", "x"}), store.Replaced)
	tied := []*nostr.Event{a2, b1}
	slices.SortFunc(tied, func(a, b *nostr.Event) int { return slices.Compare([]byte(a.ID), []byte(b.ID)) })
	d := a1.Tags.GetD()
	until := storetest.Start.Unix() + 1
	for _, c := range []struct {
		name  string
		scope gate.Scope
		q     store.HistoryQuery
		want  []string
	}{
		{"author", party(alice), store.HistoryQuery{}, idsOf(tied[0], tied[1], a1)},
		{"author, one address", party(alice), store.HistoryQuery{D: &d}, idsOf(a2, a1)},
		{"author, until", party(alice), store.HistoryQuery{Until: &until}, idsOf(a1)},
		{"owner of now", party(bob), store.HistoryQuery{}, idsOf(a2, a1)},
		{"owner of then", party(carol), store.HistoryQuery{}, idsOf(b1)},
		{"several", party(bob, carol), store.HistoryQuery{}, idsOf(tied[0], tied[1], a1)},
		{"stranger", party(storetest.NewKey("mallory")), store.HistoryQuery{}, nil},
		{"nobody", party(), store.HistoryQuery{}, nil},
		{"nobody, one address", party(), store.HistoryQuery{D: &d}, nil},
		{"zero", gate.Scope{}, store.HistoryQuery{}, nil},
		{"operator", gate.Operator(), store.HistoryQuery{}, idsOf(tied[0], tied[1], a1)},
		{"another kind", party(alice), store.HistoryQuery{Kind: 30090}, nil},
		{"another author", party(alice), store.HistoryQuery{Author: bob.Pub}, nil},
	} {
		if c.q.Kind == 0 {
			c.q.Kind = 30174
		}
		if c.q.Author == "" {
			c.q.Author = alice.Pub
		}
		for limit := range 4 {
			c.q.Limit = limit
			if got := versions(t, s, c.scope, c.q); !slices.Equal(got, c.want) {
				t.Errorf("%s by %d: %v, want %v", c.name, limit, got, c.want)
			}
		}
	}
	if _, _, err := s.History(t.Context(), gate.Operator(), store.HistoryQuery{Author: "alice"}); !errors.Is(err, store.ErrFilter) {
		t.Errorf("an author that is none: %v", err)
	}
}

// TestHistoryOfManyReaders: with several p tags each reader sees the version,
// wherever he is named.
func TestHistoryOfManyReaders(t *testing.T) {
	table := storetest.MustTable(t, gate.Options{Rules: []string{"30500 author,p", "10077 p"}})
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Table = table })
	tags := []nostr.Tag{{"d", "x"}, {"p", "no key"}}
	var readers []storetest.Key
	for i := range 5 {
		k := storetest.NewKey(fmt.Sprint("reader", i))
		readers = append(readers, k)
		tags = append(tags, nostr.Tag{"p", k.Pub})
	}
	for _, kind := range []int{30500, 10077} {
		old := alice.Fake(kind, 1, "old", tags...)
		put(t, s, old, store.Stored)
		put(t, s, alice.Fake(kind, 2, "new", tags...), store.Replaced)
		for i, k := range readers {
			d := "x" // an address of kind 10077 has none, which asks for the same
			for _, q := range []store.HistoryQuery{{Kind: kind, Author: alice.Pub}, {Kind: kind, Author: alice.Pub, D: &d}} {
				if got := versions(t, s, gate.Party(table, gate.NewReader(k.Pub)), q); !slices.Equal(got, idsOf(old)) {
					t.Errorf("kind %d, reader %d: %v", kind, i, got)
				}
			}
		}
		if got := versions(t, s, gate.Party(table, gate.NewReader(bob.Pub)), store.HistoryQuery{Kind: kind, Author: alice.Pub}); got != nil {
			t.Errorf("kind %d: a stranger sees %v", kind, got)
		}
		if got := versions(t, s, gate.Party(table, gate.NewReader(alice.Pub)), store.HistoryQuery{Kind: kind, Author: alice.Pub}); (got != nil) != (kind == 30500) {
			t.Errorf("kind %d: the author sees %v", kind, got)
		}
	}
}

// TestHistoryOfARuleThatIsGone: versions kept under a rule are nobody's once
// the operator took it away, though the head is everybody's then; they are back
// with the rule.
func TestHistoryOfARuleThatIsGone(t *testing.T) {
	ruled := storetest.MustTable(t, gate.Options{Rules: []string{"30500 author,p"}})
	plain := storetest.MustTable(t, gate.Options{})
	o := storetest.Options(t)
	old := alice.Fake(30500, 1, "old", nostr.Tag{"d", "x"}, nostr.Tag{"p", bob.Pub})
	for i, table := range []*gate.Table{ruled, plain, ruled} {
		o.Table = table
		s, err := sqlite.Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			put(t, s, old, store.Stored)
			put(t, s, alice.Fake(30500, 2, "new", nostr.Tag{"d", "x"}, nostr.Tag{"p", bob.Pub}), store.Replaced)
		}
		for _, k := range []storetest.Key{alice, bob, carol} {
			var want []string
			if table == ruled && k != carol {
				want = idsOf(old)
			}
			if got := versions(t, s, gate.Party(table, gate.NewReader(k.Pub)), store.HistoryQuery{Kind: 30500, Author: alice.Pub}); !slices.Equal(got, want) {
				t.Errorf("opened %d times, %.4s sees %v, want %v", i+1, k.Pub, got, want)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestHistoryByBytes: a page holds no more than MaxBytes but for its first row,
// and says that more follows.
func TestHistoryByBytes(t *testing.T) {
	s := storetest.MustOpen(t)
	for i := range 6 {
		want := store.Replaced
		if i == 0 {
			want = store.Stored
		}
		put(t, s, alice.Engram(bob, int64(i), "mem/a"), want)
	}
	scope := gate.Party(storetest.MustTable(t, gate.Options{}), gate.NewReader(bob.Pub))
	q := store.HistoryQuery{Kind: 30174, Author: alice.Pub, MaxBytes: 1}
	rows, more, err := s.History(t.Context(), scope, q)
	if err != nil || len(rows) != 1 || !more {
		t.Errorf("%d rows, more %v, %v", len(rows), more, err)
	}
	if got := versions(t, s, scope, q); len(got) != 5 {
		t.Errorf("%d versions by one", len(got))
	}
}
