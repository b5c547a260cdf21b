package contracts

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/storetest"
	"engramd/nips/niptemp"
)

// TestLacks: an entry that is skipped without being parsed does not have every
// word.
func TestLacks(t *testing.T) {
	for _, c := range []struct {
		data  string
		words []string
		want  bool
	}{
		{`{"content":"{\"content\":\"Government FILINGS\"}"}`, []string{"filings", "government"}, false},
		{`{"content":"{\"content\":\"Government FILINGS\"}"}`, []string{"filings", "cedar"}, true},
		{`{"content":"{\"content\":\"line\\nfilings\"}"}`, []string{"filings"}, false},
		{`{"content":"\u0066ilings"}`, []string{"filings"}, false},                    // a letter by its number
		{`{"content":"{\"content\":\"\\u0066ilings\"}"}`, []string{"filings"}, false}, // twice encoded
		{"{\"content\":\"\u212aelvin\"}", []string{"kelvin"}, false},                  // a letter whose lower case is ASCII
		{`{"content":"x"}`, []string{"é"}, true},
		{``, []string{"x"}, true},
	} {
		if got := (&finder{words: c.words}).lacks([]byte(c.data)); got != c.want {
			t.Errorf("%s, %v: %t", c.data, c.words, got)
		}
	}
}

// TestHas: a text has the words that splitting it gives, whatever their case.
func TestHas(t *testing.T) {
	for _, c := range []struct {
		text, query string
		want        bool
	}{
		{"Government FILINGS, twice", "filings government", true},
		{"Government FILINGS", "filing", false},
		{"filings", "filings filings", true},
		{"ОТЧЁТ о поставке", "отчёт", true},
		{"ОТЧЁТ о поставке", "отчёт поставка", false},
		{"273\u212a", "273k", true},
		{"\u0130stanbul", "istanbul", true},
		{strings.Repeat("x", 5000) + " word", "word", true},
		{strings.Repeat("x", 5000), "xxx", false},
		{"", "x", false},
		{"a\u0301b", "A\u0301B", true},
	} {
		f, err := newFinder(c.query)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.has(c.text); got != c.want {
			t.Errorf("%.20q has %q: %t", c.text, c.query, got)
		}
		if f.has(c.text) && f.lacks([]byte(c.text)) {
			t.Errorf("%.20q lacks %q", c.text, c.query)
		}
	}
}

// FuzzHas: words are found as splitting finds them, and an entry that is
// skipped without being parsed does not have all of them.
func FuzzHas(f *testing.F) {
	for _, s := range [][2]string{{"Government FILINGS", "filings"}, {"273\u212a \u0130", "k i"}, {"ОТЧЁТ", "отчёт"}, {"a\xffb", "b"}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, text, query string) {
		find, err := newFinder(query)
		if err != nil || !utf8.ValidString(text) || !utf8.ValidString(query) {
			return
		}
		want, words := true, wordsOf(text)
		for _, w := range find.words {
			want = want && slices.Contains(words, w)
		}
		if got := find.has(text); got != want {
			t.Errorf("%q has %q: %t", text, query, got)
		}
		if want && find.lacks([]byte(text)) {
			t.Errorf("%q lacks %q", text, query)
		}
	})
}

// heavyThread returns a contract with n entries of size bytes that a search
// must parse.
func heavyThread(tb testing.TB, w *world, posts Caller, k storetest.Key, n, size int) (id string) {
	tb.Helper()
	id = w.create(posts, will.Pub).ContractID
	text := strings.Repeat("данные ", size/13)
	pending := make([]store.Pending, 0, n)
	for range n {
		w.clock.Add(second)
		p, err := w.store.Begin(tb.Context(), w.entryOf(k, id, will.Pub, "note", text), store.PutOptions{})
		if err != nil {
			tb.Fatal(err)
		}
		pending = append(pending, p)
	}
	for _, p := range pending {
		if r := p.Wait(); !r.Outcome.OK() {
			tb.Fatal(r)
		}
	}
	return id
}

// TestSearchGoesOn: one search reads a part of a long thread, and those that
// continue find each entry once.
func TestSearchGoesOn(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine asks much")
	}
	w := newWorld(t)
	posts := w.provision("anna", anna)
	id := heavyThread(t, w, posts, anna, 120, 57<<10) // 6.9 MB
	w.clock.Add(second)
	w.say(posts, id, "note", PosterOnly, "данные of my own")
	var all []string
	calls := 0
	for r := (SearchRequest{Query: "ДАННЫЕ", Limit: 500}); ; calls++ {
		found := must[SearchPage](t)(w.Search(t.Context(), posts, id, r))
		if found.Total != len(found.Entries) || found.Total*57<<10 > searchBytes+1<<20 {
			t.Fatalf("call %d finds %d, shows %d", calls, found.Total, len(found.Entries))
		}
		for _, e := range found.Entries {
			all = append(all, e.EntryID)
		}
		if found.Next == "" {
			break
		}
		r.After = found.Next
	}
	slices.Sort(all)
	if n := len(slices.Compact(all)); n != 121 || len(all) != 121 || calls != 1 {
		t.Errorf("%d entries, %d of them different, in %d further calls", len(all), n, calls)
	}
	for _, after := range []string{"x", "1-", "-00", "1-0", "1-AB", "01-ab", "1-ab-", "99999999999999999999-ab", strings.Repeat("1", 1000)} {
		wantCode(t, "after "+after[:min(len(after), 10)], errOf(w.Search(t.Context(), posts, id, SearchRequest{Query: "x", After: after})), Invalid)
	}
}

// TestPagesAreBounded: a page of large entries ends early, with events or
// without, and the next continues.
func TestPagesAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine asks much")
	}
	w := newWorld(t)
	id := heavyThread(t, w, w.provision("anna", anna), anna, 40, 57<<10)
	for _, events := range []bool{false, true} {
		seen, pages := map[string]bool{}, 0
		for offset := 0; ; pages++ {
			page := must[EntryPage](t)(w.Entries(t.Context(), Caller{}, id, EntryQuery{Limit: 500, Offset: offset, Events: events}))
			size := 0
			for _, e := range page.Entries {
				seen[e.EntryID] = true
				size += len(e.Content) + len(e.Event)
			}
			if size > 3*pageBytes || page.Total != 40 {
				t.Fatalf("a page of %d bytes, of %d entries", size, page.Total)
			}
			if offset += len(page.Entries); offset >= page.Total || len(page.Entries) == 0 {
				break
			}
		}
		if len(seen) != 40 || pages < 3 {
			t.Errorf("%d entries in %d further pages", len(seen), pages)
		}
	}
}

// TestListsAreBounded: a page of contracts with long descriptions ends early,
// and the next continues.
func TestListsAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine asks much")
	}
	w := newWorld(t)
	posts := w.provision("anna", anna)
	text := strings.Repeat("x", 60<<10)
	const n = 100
	for i := range n {
		w.clock.Add(second)
		w.mustPut(w.stateOf(anna, fmt.Sprint("contract-", i), will.Pub, niptemp.Open, "", text))
	}
	seen, pages := map[string]bool{}, 0
	for offset := 0; offset < n; pages++ {
		page := must[ContractPage](t)(w.List(t.Context(), posts, ContractQuery{Limit: 500, Offset: offset}))
		if len(page.Contracts) == 0 || len(page.Contracts)*60<<10 > listBytes+1<<20 || page.Total != n {
			t.Fatalf("a page of %d contracts, of %d", len(page.Contracts), page.Total)
		}
		for _, c := range page.Contracts {
			seen[c.ContractID] = c.Description == text
		}
		offset += len(page.Contracts)
	}
	if len(seen) != n || pages != 2 {
		t.Errorf("%d contracts in %d pages", len(seen), pages)
	}
}
