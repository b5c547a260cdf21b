package mcp

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

// TestNotesKeepTheOrderOfArrival: twenty notes that are sent without waiting, all of
// one second, sort by created and slug as they were sent.
func TestNotesKeepTheOrderOfArrival(t *testing.T) {
	const notes = 20
	f := newFake()
	now := time.Date(2026, 11, 22, 6, 2, 7, 0, time.UTC)
	var in strings.Builder
	in.WriteString(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
`)
	for i := range notes {
		fmt.Fprintf(&in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"memory_note","arguments":{"text":"note %02d"}}}`+"\n", i+1, i)
	}
	var out bytes.Buffer
	if err := newServer(options{Memory: f, Clock: func() time.Time { return now }}).Run(t.Context(), strings.NewReader(in.String()), &out); err != nil {
		t.Fatal(err)
	}
	var slugs []nipae.Slug
	for slug := range f.texts {
		slugs = append(slugs, slug)
	}
	created := func(s nipae.Slug) time.Time { return frontmatter.Parse(f.texts[s]).Fields().Created.Time }
	slices.SortFunc(slugs, func(a, b nipae.Slug) int { return cmp.Or(created(a).Compare(created(b)), cmp.Compare(a, b)) })
	for i, slug := range slugs {
		if !strings.HasSuffix(f.texts[slug], fmt.Sprintf("note %02d", i)) {
			t.Errorf("%s, in place %d, is %q", slug, i, f.texts[slug])
		}
	}
	if len(slugs) != notes {
		t.Errorf("%d notes: %s", len(slugs), out.String())
	}
}

// TestEditOfWhatWasTold: a text that was taken from what is told is refused where it
// does not stand, and replaced where it does.
func TestEditOfWhatWasTold(t *testing.T) {
	f := newFake()
	p := connect(t, newServer(options{Memory: f}))
	ask[writeOut](p, "memory_write", args{"slug": "mem/pages", "text": "Ana writes <template> first, and ‹quotes› in French."})
	got, words := p.refused("memory_edit", args{"slug": "mem/pages", "old_str": "Ana writes ‹template> first", "new_str": "x"})
	if got.Code != CodeMatch || !strings.Contains(words, "memory_read gives the text itself") {
		t.Errorf("%s", words)
	}
	if _, words = p.refused("memory_edit", args{"slug": "mem/pages", "old_str": "Bo writes", "new_str": "x"}); strings.Contains(words, "‹") {
		t.Errorf("of another text: %s", words)
	}
	ask[writeOut](p, "memory_edit", args{"slug": "mem/pages", "old_str": "‹quotes›", "new_str": "«quotes»"})
	if text := f.texts["mem/pages"]; !strings.HasSuffix(text, "<template> first, and «quotes» in French.") {
		t.Errorf("%s", text)
	}
}
