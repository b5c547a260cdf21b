package events_test

import (
	"errors"
	"fmt"
	"maps"
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

// mustSearch opens a store with a full-text index, or skips where the program
// has none.
// search returns the contents of the hits in order, read in small pages, and
// whether the limit cut them.
func search(t *testing.T, s *sqlite.Store, ask store.Ask) (texts []string, cut bool) {
	t.Helper()
	hits, err := s.Search(t.Context(), ask)
	if err != nil {
		t.Fatalf("search %q: %v", ask.Filter.Search, err)
	}
	for more := true; more; {
		page, err := hits.Next(t.Context(), 2, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range page.Rows {
			ev, err := wire.ParseEvent(row.JSON)
			if err != nil {
				t.Fatal(err)
			}
			texts = append(texts, ev.Content)
		}
		more = page.More
	}
	return texts, hits.Cut()
}

// TestSearchWithoutFTS5 passes with and without the build tag: without it
// search says that there is none.
func TestSearchWithoutFTS5(t *testing.T) {
	s := storetest.MustOpen(t)
	if s.SearchEnabled() {
		return
	}
	put(t, s, alice.Note(0, "word"), store.Stored)
	ask := store.Ask{Filter: nostr.Filter{Search: "word"}}
	if _, err := s.Search(t.Context(), ask); !errors.Is(err, store.ErrNoSearch) {
		t.Errorf("search: %v", err)
	}
	if _, err := s.Count(t.Context(), []store.Ask{ask}); !errors.Is(err, store.ErrNoSearch) {
		t.Errorf("count: %v", err)
	}
}

func TestSearchWords(t *testing.T) {
	s := mustSearch(t)
	for i, text := range []string{
		"the quick brown fox", "a Brown quick dog", "Ünïcode wörds älso", "https://example.com/a?b=c", "don't NEAR panic",
		"日本語 テスト", "rust-lang C++ AND OR NOT", "before\x00after", "100% of 3.14",
	} {
		put(t, s, alice.Note(int64(i), text), store.Stored)
	}
	for _, c := range []struct {
		search string
		want   []string
	}{
		{"quick", []string{"the quick brown fox", "a Brown quick dog"}},
		{"QUICK brown", []string{"the quick brown fox", "a Brown quick dog"}},
		{`"quick brown"`, []string{"the quick brown fox"}},
		{`"quick brown" fox`, []string{"the quick brown fox"}},
		{`"quick brown`, []string{"the quick brown fox", "a Brown quick dog"}},
		{`quick" brown`, []string{"the quick brown fox", "a Brown quick dog"}},
		{"quick cat", nil},
		{"qui", nil},
		{"quick*", []string{"the quick brown fox", "a Brown quick dog"}},
		{"quick OR panic", nil},
		{"unicode words", []string{"Ünïcode wörds älso"}},
		{"ÄLSO", []string{"Ünïcode wörds älso"}},
		{"https://example.com/a?b=c", []string{"https://example.com/a?b=c"}},
		{"example.com", []string{"https://example.com/a?b=c"}},
		{"don't", []string{"don't NEAR panic"}},
		{"NEAR", []string{"don't NEAR panic"}},
		{"NEAR(don panic)", nil}, // a word with punctuation in it is a phrase
		{"NEAR(panic", []string{"don't NEAR panic"}},
		{"テスト", []string{"日本語 テスト"}},
		{"C++ OR", []string{"rust-lang C++ AND OR NOT"}},
		{"content: - ^fox", nil},
		{"^fox", []string{"the quick brown fox"}},
		{"fox ) ( * \" ' ; -- {", []string{"the quick brown fox"}},
		{"after", []string{"before\x00after"}},
		{"before\x00after", []string{"before\x00after"}},
		{"100%", []string{"100% of 3.14"}},
		{"!!! ??", nil},
		{"\"\"", nil},
		{"\"", nil},
	} {
		ask := store.Ask{Filter: nostr.Filter{Search: c.search}}
		got, _ := search(t, s, ask)
		slices.Sort(got)
		want := slices.Sorted(slices.Values(c.want))
		if !slices.Equal(got, want) {
			t.Errorf("search %q: %q, want %q", c.search, got, want)
		}
		if n, err := s.Count(t.Context(), []store.Ask{ask}); err != nil || int(n) != len(want) {
			t.Errorf("count %q: %d (%v), want %d", c.search, n, err, len(want))
		}
	}
}

// TestSearchOrder: best match first, then newest, then lowest id; the limit is
// applied after ranking.
func TestSearchOrder(t *testing.T) {
	s := mustSearch(t)
	long := strings.Repeat("filler ", 40)
	put(t, s, alice.Note(9, "fox "+long), store.Stored)
	put(t, s, alice.Note(1, "fox fox fox"), store.Stored)
	put(t, s, alice.Note(3, "one fox"), store.Stored)
	put(t, s, alice.Note(5, "two fox"), store.Stored)
	same := []*nostr.Event{alice.Note(4, "six fox"), bob.Note(4, "ten fox")}
	slices.SortFunc(same, func(a, b *nostr.Event) int { return strings.Compare(a.ID, b.ID) })
	put(t, s, same[1], store.Stored)
	put(t, s, same[0], store.Stored)
	put(t, s, alice.Note(8, "no such animal here"), store.Stored)
	want := []string{"fox fox fox", "two fox", same[0].Content, same[1].Content, "one fox", "fox " + long}
	for limit := 1; limit <= 7; limit++ {
		got, cut := search(t, s, store.Ask{Filter: nostr.Filter{Search: "fox"}, MaxRows: limit})
		if !slices.Equal(got, want[:min(limit, 6)]) || cut != (limit < 6) {
			t.Errorf("limit %d: %q, cut %v", limit, got, cut)
		}
	}
}

// TestSearchConditions: the filter and the scope hold, before the limit;
// ciphertext cannot be found at all.
func TestSearchConditions(t *testing.T) {
	clock := storetest.NewClock()
	s := mustSearch(t, func(o *sqlite.Options) { o.Clock = clock.Now })
	table := storetest.MustTable(t, gate.Options{})
	for i := range 20 {
		put(t, s, alice.Entry(bob, int64(100+i), fmt.Sprint("c", i), "fox fox fox fox"), store.Stored)
	}
	put(t, s, alice.Note(1, "fox by alice", nostr.Tag{"t", "x"}), store.Stored)
	put(t, s, carol.Note(2, "fox by carol"), store.Stored)
	put(t, s, carol.Fake(30023, 3, "fox article", nostr.Tag{"d", "a"}), store.Stored)
	put(t, s, carol.Note(4, "fox soon gone", nostr.Tag{"expiration", fmt.Sprint(storetest.Start.Unix() + 10)}), store.Stored)
	put(t, s, alice.Fake(4, 5, "fox?iv=fox", nostr.Tag{"p", bob.Pub}), store.Stored)
	clock.Add(10e9)
	since := nostr.Timestamp(storetest.Start.Unix() + 2)
	for _, c := range []struct {
		name   string
		scope  gate.Scope
		filter nostr.Filter
		want   int
	}{
		{"nobody", gate.Scope{}, nostr.Filter{}, 3},
		{"nobody, author", gate.Scope{}, nostr.Filter{Authors: []string{alice.Pub}}, 1},
		{"nobody, kind", gate.Scope{}, nostr.Filter{Kinds: []int{30023}}, 1},
		{"nobody, tag", gate.Scope{}, nostr.Filter{Tags: nostr.TagMap{"t": {"x"}}}, 1},
		{"nobody, since", gate.Scope{}, nostr.Filter{Since: &since}, 2},
		{"nobody, no kinds", gate.Scope{}, nostr.Filter{Kinds: []int{}}, 0},
		{"bob", gate.Party(table, gate.NewReader(bob.Pub)), nostr.Filter{}, 23},
		{"carol", gate.Party(table, gate.NewReader(carol.Pub)), nostr.Filter{}, 3},
		{"operator", gate.Operator(), nostr.Filter{}, 23},
	} {
		c.filter.Search = "fox"
		ask := store.Ask{Scope: c.scope, Filter: c.filter}
		if got, cut := search(t, s, ask); len(got) != c.want || cut {
			t.Errorf("%s: %d hits, want %d: %q", c.name, len(got), c.want, got)
		}
		if n, err := s.Count(t.Context(), []store.Ask{ask}); err != nil || int(n) != c.want {
			t.Errorf("%s: count %d (%v), want %d", c.name, n, err, c.want)
		}
		ask.MaxRows = 2 // entries rank best: a limit before the scope would leave nobody with nothing
		if got, cut := search(t, s, ask); len(got) != min(2, c.want) || cut != (c.want > 2) {
			t.Errorf("%s: %d hits of 2, cut %v", c.name, len(got), cut)
		}
	}
}

// TestHitsBesideWrites: what is gone by the time its page is read does not
// come, and the pages go on.
func TestHitsBesideWrites(t *testing.T) {
	clock := storetest.NewClock()
	s := mustSearch(t, func(o *sqlite.Options) { o.Clock = clock.Now })
	var notes []*nostr.Event
	for i := range 10 {
		ev := alice.Note(int64(i), "fox")
		if i < 2 {
			ev = alice.Note(int64(i), "fox", nostr.Tag{"expiration", fmt.Sprint(storetest.Start.Unix() + 5)})
		}
		put(t, s, ev, store.Stored)
		notes = append(notes, ev)
	}
	hits, err := s.Search(t.Context(), store.Ask{Filter: nostr.Filter{Search: "fox"}})
	if err != nil {
		t.Fatal(err)
	}
	clock.Add(5e9)
	put(t, s, alice.Delete(20, notes[9].ID, notes[8].ID, notes[5].ID), store.Stored)
	put(t, s, alice.Note(30, "fox of tomorrow"), store.Stored)
	n := 0
	for more := true; more; {
		page, err := hits.Next(t.Context(), 2, 0)
		if err != nil {
			t.Fatal(err)
		}
		n += len(page.Rows)
		more = page.More
	}
	if n != 5 {
		t.Errorf("%d hits, want 5", n)
	}
}

func TestSearchErrors(t *testing.T) {
	s := mustSearch(t)
	if _, err := s.Search(t.Context(), store.Ask{}); !errors.Is(err, store.ErrFilter) {
		t.Errorf("no words: %v", err)
	}
	words := strings.Repeat("w ", 64)
	if _, err := s.Search(t.Context(), store.Ask{Filter: nostr.Filter{Search: words}}); err != nil {
		t.Errorf("64 words: %v", err)
	}
	if _, err := s.Search(t.Context(), store.Ask{Filter: nostr.Filter{Search: words + "w"}}); !errors.Is(err, store.ErrFilter) {
		t.Errorf("65 words: %v", err)
	}
	if _, err := s.Count(t.Context(), []store.Ask{{Filter: nostr.Filter{Search: words + "w"}}}); !errors.Is(err, store.ErrFilter) {
		t.Errorf("count of 65 words: %v", err)
	}
}

// TestOrderTellsNothingOfEntries: bm25 weighs a word by how many have it. Were
// contract entries among them, the order of notes that anybody may write would
// tell which words stand in contracts that nobody but their parties knows of.
func TestOrderTellsNothingOfEntries(t *testing.T) {
	table := storetest.MustTable(t, gate.Options{})
	known := nostr.Filter{Kinds: []int{30090}, Tags: nostr.TagMap{"d": {"known"}}, Search: "apple pear"}
	orders := map[string]bool{}
	for _, secret := range []string{"", "apple", "pear"} {
		s := mustSearch(t)
		for i, text := range []string{"apple apple pear", "apple pear pear"} {
			put(t, s, alice.Note(int64(i), text), store.Stored)
			put(t, s, []storetest.Key{alice, bob}[i].Entry(carol, int64(i), "known", text), store.Stored)
		}
		for i := range int64(40) {
			put(t, s, alice.Note(i+2, fmt.Sprint("filler", i)), store.Stored)
		}
		for i := range int64(3) {
			if secret != "" {
				put(t, s, bob.Entry(carol, i, fmt.Sprint("secret", i), secret), store.Stored)
			}
		}
		order := ""
		for _, f := range []nostr.Filter{{Kinds: []int{1}, Search: "apple pear"}, known} {
			scope, err := table.ScopeFor(gate.Reader{}, f)
			if err != nil {
				t.Fatal(err)
			}
			texts, _ := search(t, s, store.Ask{Scope: scope, Filter: f})
			if len(texts) != 2 {
				t.Fatalf("found %q", texts)
			}
			order += fmt.Sprintf("%q", texts)
		}
		orders[order] = true
	}
	if len(orders) != 1 {
		t.Errorf("the order depends on entries that the reader may not know of: %v", slices.Collect(maps.Keys(orders)))
	}
}
