package mcp

import (
	"testing"
	"unicode/utf8"

	recallanswer "engramd/internal/memory/recall/answer"
)

func TestSearchTool(t *testing.T) {
	m := newFake()
	m.texts["core"] = "I am Sami."
	for i := range 30 {
		m.texts[slugf("mem/tea/%02d", i)] = "about oolong"
	}
	m.texts["mem/other"] = "Oolong, and oolong again"
	p := connect(t, newServer(options{Memory: m}))
	out := ask[searchOut](p, "memory_search", args{"query": "OOLONG"})
	if len(out.Hits) != recallanswer.DefaultHits || out.Total != 31 || out.Searched != 32 || out.Hits[0].Slug != "mem/other" {
		t.Errorf("%+v", out)
	}
	out = ask[searchOut](p, "memory_search", args{"query": "tea", "prefix": "mem/tea/0", "limit": 3})
	if len(out.Hits) != 3 || out.Total != 10 || out.Searched != 10 || len(out.Hits[0].Snippets) != 0 {
		t.Errorf("in slugs with a prefix: %+v", out)
	}
	// A prefix is read as slugs are: an empty answer would mean "nothing there".
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
