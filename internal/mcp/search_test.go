package mcp

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"engramd/internal/client"
	"engramd/nips/nipae"
)

func TestParseQuery(t *testing.T) {
	for query, want := range map[string][]string{
		"tea":                         {"TEA"},
		" tea  Coffee\ttea ":          {"TEA", "COFFEE"},
		`"green tea" cup`:             {"GREEN TEA", "CUP"},
		`say "an open  phrase`:        {"SAY", "AN OPEN PHRASE"},
		`""`:                          nil,
		"ΣΊΣΥΦΟΣ σίσυφος":             {"ΣΊΣΥΦΟΣ"},
		strings.Repeat("a ", 3) + "b": {"A", "B"},
	} {
		if got := parseQuery(query); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", query, got, want)
		}
	}
	var many []string
	for i := range 40 {
		many = append(many, fmt.Sprint("w", i))
	}
	if got := parseQuery(strings.Join(many, " ")); len(got) != maxTerms {
		t.Errorf("%d terms", len(got))
	}
}

func TestRank(t *testing.T) {
	entry := func(slug, text string, at int64) client.Entry {
		return client.Entry{Slug: nipae.Slug(slug), Text: text, CreatedAt: at}
	}
	entries := []client.Entry{
		entry("core", "I am Sami, an atlas reader.", 1),
		entry("mem/projects/atlas", "A map maker. Owner: Ana.", 2),
		entry("mem/people/ana", "Ana works on Atlas and likes tea.", 3),
		entry("mem/teapot", "made of iron", 4),
		entry("mem/old", "tea", 5),
		entry("mem/new", "tea", 6),
		entry("mem/steal", "do not steal", 7),
		entry("mem/straße", "Straße, STRASSE", 8),
	}
	for _, c := range []struct {
		query string
		want  string
	}{
		{"nothing", ""},
		{"ana atlas", "mem/people/ana mem/projects/atlas core"},        // both words, in slug and text, before one
		{"atlas", "mem/projects/atlas mem/people/ana core"},            // the slug says more than the text; newer first
		{"tea", "mem/teapot mem/new mem/old mem/people/ana mem/steal"}, // words before what is inside them
		{`"likes tea"`, "mem/people/ana"},
		{"STRAßE", "mem/straße"},
		{"sami iron", "mem/teapot core"},
	} {
		var got []string
		for _, m := range rank(entries, parseQuery(c.query), func() bool { return false }) {
			got = append(got, string(m.entry.Slug))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%q: %q, want %q", c.query, got, c.want)
		}
	}
	stops := 0
	if rank(entries, []string{"TEA"}, func() bool { stops++; return stops > 2 }) != nil {
		t.Error("it goes on when it should stop")
	}
}

func TestFit(t *testing.T) {
	for _, c := range []struct {
		text, term string
		best       float64
		times      int
		first      int
	}{
		{"A TEA CUP", "TEA", fitsWord, 1, 2},
		{"TEAPOT", "TEA", fitsPrefix, 1, 0},
		{"STEAM", "TEA", fitsInside, 1, 1},
		{"STEAM TEA TEAPOT", "TEA", fitsWord, 3, 1},
		{"MEM/GREEN_TEA", "TEA", fitsWord, 1, 10},
		{"ÉTEA", "TEA", fitsInside, 1, 2},
		{"AAAA", "AA", fitsPrefix, 2, 0},
		{"", "TEA", 0, 0, 0},
		{strings.Repeat("TEA ", 1000), "TEA", fitsWord, maxOccurrences, 0},
	} {
		best, times, first := fit(c.text, c.term)
		if best != c.best || times != c.times || first != c.first {
			t.Errorf("%.20q: %v, %d times, at %d", c.text, best, times, first)
		}
	}
}

func TestSnippets(t *testing.T) {
	text := "intro\n\n" + strings.Repeat("filler words ", 50) + "the ſecret\tİstanbul plan " + strings.Repeat("more words ", 50) + "plan again"
	m, _ := look(client.Entry{Text: text}, parseQuery("plan İstanbul secret"))
	got := snippets(text, m.at)
	if m.terms != 3 || len(got) != 1 {
		t.Fatalf("%d terms in %+v: those beside each other need one snippet", m.terms, got)
	}
	shown := got[0].Text
	if !strings.Contains(shown, "the ſecret İstanbul plan") || !strings.HasPrefix(shown, "…") || !strings.HasSuffix(shown, "…") || len(shown) > 2*aroundSnippet+2*len("…") {
		t.Errorf("snippet %q", shown)
	}
	if !strings.HasPrefix(strings.Join(strings.Fields(text[got[0].Offset:]), " "), strings.Trim(shown, "…")) {
		t.Errorf("offset %d is not where %q begins", got[0].Offset, shown)
	}
	if got := snippets("short", []int{0}); len(got) != 1 || got[0] != (snippetOut{Text: "short"}) {
		t.Errorf("a short text: %+v", got)
	}
	if got := snippets(text, nil); got == nil || len(got) != 0 {
		t.Errorf("no places: %#v", got)
	}
}

func TestSearchTool(t *testing.T) {
	m := newFake()
	m.texts["core"] = "I am Sami."
	for i := range 30 {
		m.texts[slugf("mem/tea/%02d", i)] = "about oolong"
	}
	m.texts["mem/other"] = "Oolong, and oolong again"
	p := connect(t, New(Options{Memory: m}))
	out := ask[searchOut](p, "memory_search", args{"query": "OOLONG"})
	if len(out.Hits) != defaultHits || out.Total != 31 || out.Searched != 32 || out.Hits[0].Slug != "mem/other" {
		t.Errorf("%+v", out)
	}
	out = ask[searchOut](p, "memory_search", args{"query": "tea", "prefix": "mem/tea/0", "limit": 3})
	if len(out.Hits) != 3 || out.Total != 10 || out.Searched != 10 || len(out.Hits[0].Snippets) != 0 {
		t.Errorf("in slugs with a prefix: %+v", out)
	}
	// A prefix is taken as slugs are: an empty answer would read as "nothing
	// there".
	for _, prefix := range []string{"tea/", "[[mem/tea/", "engram://mem/tea/", " tea"} {
		if out := ask[searchOut](p, "memory_search", args{"query": "oolong", "prefix": prefix}); out.Searched != 30 {
			t.Errorf("search with prefix %q: %+v", prefix, out)
		}
		if out := ask[listOut](p, "memory_list", args{"prefix": prefix}); out.Total != 30 {
			t.Errorf("list with prefix %q: %+v", prefix, out)
		}
	}
	for prefix, want := range map[string]int{"": 32, "co": 1, "core": 1, "mem/": 31, "m": 31, "mem/core": 0, "ea/": 0} {
		if out := ask[listOut](p, "memory_list", args{"prefix": prefix}); out.Total != want {
			t.Errorf("list with prefix %q: %d, want %d", prefix, out.Total, want)
		}
	}
	if out := ask[searchOut](p, "memory_search", args{"query": "absent"}); len(out.Hits) != 0 || out.Partial {
		t.Errorf("nothing: %+v", out)
	}
}

func FuzzSearch(f *testing.F) {
	f.Add("the tea İstanbul ſ plan", `tea "stanbul p"`)
	f.Add("\xff\xfe\u202eK K k", "k")
	f.Add(strings.Repeat("é", 200)+"x"+strings.Repeat("\U0001d11e", 100), "x é")
	f.Fuzz(func(t *testing.T, text, query string) {
		terms := parseQuery(query)
		if len(terms) == 0 {
			return
		}
		for _, m := range rank([]client.Entry{{Slug: "mem/x", Text: text}}, terms, func() bool { return false }) {
			for _, s := range snippets(m.entry.Text, m.at) {
				if s.Offset < 0 || s.Offset > len(text) || len(s.Text) > 2*aroundSnippet+4*utf8.UTFMax+2*len("…") {
					t.Fatalf("snippet %+v of %q", s, text)
				}
				if utf8.ValidString(text) && !utf8.ValidString(s.Text) {
					t.Fatalf("snippet %q of %q is cut within a character", s.Text, text)
				}
			}
		}
	})
}

func FuzzPiece(f *testing.F) {
	f.Add("aäß€𝄞", 2, 4)
	f.Fuzz(func(t *testing.T, text string, from, n int) {
		if !utf8.ValidString(text) || from < 0 || from > len(text) || n < minBytes {
			return
		}
		got, end := piece(text, from, n)
		if len(got) > n || !utf8.ValidString(got) || end > len(text) || len(got) == 0 && from < len(text) && end < len(text) {
			t.Fatalf("piece %q to %d of %q from %d, %d bytes", got, end, text, from, n)
		}
	})
}
