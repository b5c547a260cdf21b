package events_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/gate/oracle"
	"engramd/internal/relay/store"
)

// FuzzFilterQuery asks a fixed store whatever filter the strict parser takes,
// as one of its people or nobody, and compares with the slow matcher. Searches
// must not fail, and must find only what the filter's other conditions and the
// gate allow.
func FuzzFilterQuery(f *testing.F) {
	w := newWorld(f, 20250601, 120)
	f.Add([]byte(`{}`), byte(0))
	f.Add([]byte(`{"kinds":[30174],"#p":["`+w.Keys[0].Pub+`"]}`), byte(1))
	f.Add([]byte(`{"authors":["`+w.Keys[1].Pub+`","`+w.Keys[2].Pub+`"],"until":1700000003,"limit":3}`), byte(2))
	f.Add([]byte(`{"ids":["`+w.heads[0].ID+`"],"kinds":[1,5,30090]}`), byte(3))
	f.Add([]byte(`{"#d":["","x"],"kinds":[30023,30500],"authors":["`+w.heads[0].PubKey+`"]}`), byte(3))
	f.Add([]byte(`{"#t":["nostr","with \u0000 zero"],"since":1}`), byte(1))
	f.Add([]byte(`{"search":"cedar \"number\" OR (a* NEAR","kinds":[1]}`), byte(1))
	f.Fuzz(func(t *testing.T, text []byte, who byte) {
		filter, err := wire.ParseFilter(text, wire.Limits{FilterValues: 200})
		if err != nil {
			return
		}
		var reader []string
		if n := int(who) % (len(w.Keys) + 1); n > 0 {
			reader = append(reader, w.Keys[n-1].Pub)
		}
		scope, err := w.table.ScopeFor(gate.NewReader(reader...), filter)
		if err != nil {
			return
		}
		ask := store.Ask{Scope: scope, Filter: filter}
		want := w.expected(filter, 0, func(ev *nostr.Event) bool { return oracle.May(w.options, reader, filter, ev) })
		if filter.Search != "" {
			w.searched(t, ask, want)
			return
		}
		if got := w.paged(t, ask); !slices.Equal(got, want) {
			t.Errorf("filter %s, reader %v:\n got %v\nwant %v", filter, reader, got, want)
		}
		if n, err := w.store.Count(t.Context(), []store.Ask{ask}); err != nil || int(n) != len(want) {
			t.Errorf("filter %s, reader %v: count %d (%v), want %d", filter, reader, n, err, len(want))
		}
	})
}

// searched checks that the hits are among the events allowed, once each, and
// counted.
func (w *world) searched(t *testing.T, ask store.Ask, allowed []string) {
	t.Helper()
	hits, err := w.store.Search(t.Context(), ask)
	if errors.Is(err, store.ErrNoSearch) || errors.Is(err, store.ErrFilter) {
		return
	}
	if err != nil {
		t.Fatalf("search %q: %v", ask.Filter.Search, err)
	}
	page, err := hits.Next(t.Context(), 500, 1<<30)
	if err != nil || page.More {
		t.Fatalf("search %q: more %v, %v", ask.Filter.Search, page.More, err)
	}
	seen := map[string]bool{}
	for _, row := range page.Rows {
		ev, err := wire.ParseEvent(row.JSON)
		if err != nil || seen[ev.ID] || !slices.Contains(allowed, ev.ID) {
			t.Errorf("search %q finds %s (%v)", ask.Filter.Search, row.JSON, err)
			continue
		}
		seen[ev.ID] = true
	}
	if n, err := w.store.Count(t.Context(), []store.Ask{ask}); err != nil || int(n) != len(page.Rows) {
		t.Errorf("search %q: count %d (%v), want %d", ask.Filter.Search, n, err, len(page.Rows))
	}
}

// FuzzSearchText searches for any text: no character of it may be taken for
// syntax.
func FuzzSearchText(f *testing.F) {
	w := newWorld(f, 7, 60)
	for _, text := range []string{`a`, `"`, `"a`, `a" b "c`, `NEAR(a, b)`, `a AND`, `col:a`, `^a*`, "\x00", `-a + {b c}: "d"`, "é\xff"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if text != "" {
			w.searched(t, store.Ask{Scope: gate.Operator(), Filter: nostr.Filter{Search: text}},
				w.expected(nostr.Filter{}, 0, func(*nostr.Event) bool { return true }))
		}
	})
}
