package recall

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"engramd/nips/frontmatter"
)

// TestWith: an index with documents more finds them, marked, and the one that it was
// made from stays as it was, whatever becomes of either.
func TestWith(t *testing.T) {
	of := func(slug, text string) Document {
		return Of(slug, frontmatter.Parse(text), time.Unix(1_700_000_000, 0))
	}
	x := New()
	texts := map[string]string{}
	for i := range 50 {
		slug := fmt.Sprintf("mem/%d", i)
		texts[slug] = fmt.Sprintf("---\nwho: [Ana]\ntype: episodic\nsession: s\n---\nThe boat number %d is painted.", i)
		if err := x.Put(of(slug, texts[slug])); err != nil {
			t.Fatal(err)
		}
	}
	before := string(x.Encode())
	unsent := of("mem/7", "The wombat sleeps.")
	unsent.Unsent = true
	more := of("mem/new", "---\nwho: [Bea]\ntype: episodic\nsession: s\n---\nThe boat of Bea sinks.")
	more.Unsent = true
	y := x.With([]Document{unsent, more})
	read := func(slug string) (string, bool) {
		if slug == "mem/7" {
			return "The wombat sleeps.", true
		}
		text, ok := texts[slug]
		return text, ok
	}
	found := y.Recall(Query{Text: "wombat"}, Recipe(), read)
	if len(found) != 1 || !found[0].Unsent || strings.Join(found[0].Notes(), "") != NotSent {
		t.Errorf("%+v", found)
	}
	if n, _ := y.Len(); n != 51 {
		t.Errorf("%d documents", n)
	}
	if after := string(x.Encode()); after != before {
		t.Error("the index changed")
	}
	if got := x.Recall(Query{Text: "wombat"}, Recipe(), read); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	// Both go on apart.
	for i := range 50 {
		x.Remove(fmt.Sprintf("mem/%d", i))
	}
	if err := x.Put(of("mem/x", "A wombat and a boat.")); err != nil {
		t.Fatal(err)
	}
	if got := y.Recall(Query{Text: "boat number 3"}, Recipe(), read); len(got) == 0 || got[0].Slug != "mem/3" || got[0].Unsent {
		t.Errorf("%+v", got)
	}
	if got := y.Recall(Query{Text: "wombat"}, Recipe(), read); len(got) != 1 {
		t.Errorf("%+v", got)
	}
}
