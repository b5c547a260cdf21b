package proposals

import (
	"strings"
	"testing"
	"time"

	"engramd/nips/frontmatter"
)

// TestCorrects: only a later event of the same author at the same address takes the
// place of a text, and only of one in which nothing was changed.
func TestCorrects(t *testing.T) {
	d, author, now := strings.Repeat("d", 64), "transplant:npub1ana", time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	item := Item{Proposal: Proposal{Act: Write, Slug: "mem/from/ana/fee", Origin: []byte("{}")}, Name: "ana"}
	keep := func(text string) string {
		t.Helper()
		marked, err := item.marked(Opened{Text: text, Source: author, D: d, CreatedAt: 100})
		if err != nil {
			t.Fatal(err)
		}
		kept, err := item.composed(item.Slug, "", marked, author, now)
		if err != nil {
			t.Fatal(err)
		}
		return kept
	}
	text := "---\ntags: [fees]\norigin: forged\npin: true\nderived_from: [ffff]\n---\n12 euros"
	kept := keep(text)
	edit := func(c ...frontmatter.Change) string {
		t.Helper()
		out, err := frontmatter.Parse(kept).Edit(c...)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	later := Opened{Text: "15 euros", Source: author, D: d, CreatedAt: 101}
	other := func(do func(*Opened)) Opened { o := later; do(&o); return o }
	for name, c := range map[string]struct {
		o    Opened
		kept string
		want bool
	}{
		"later":                       {later, kept, true},
		"later, after an own session": {later, edit(frontmatter.Set("session", frontmatter.String("s1"))), true},
		"of the same time":            {other(func(o *Opened) { o.CreatedAt = 100 }), kept, false},
		"earlier":                     {other(func(o *Opened) { o.CreatedAt = 99 }), kept, false},
		"at another address":          {other(func(o *Opened) { o.D = strings.Repeat("e", 64) }), kept, false},
		"without an address":          {other(func(o *Opened) { o.D = "" }), kept, false},
		"of another author":           {other(func(o *Opened) { o.Source = "transplant:npub1eve" }), kept, false},
		"of other words":              {later, strings.Replace(kept, "12", "11", 1), false},
		"with another tag":            {later, edit(frontmatter.Set("tags", frontmatter.Strings("fees", "mine"))), false},
		"that was archived":           {later, edit(frontmatter.Set("state", frontmatter.String("archived"))), false},
		"that was pinned":             {later, edit(frontmatter.Set("pin", frontmatter.Truth(true))), false},
		"without its origin":          {later, edit(frontmatter.Remove(originKey)), false},
		"with half of it":             {later, edit(frontmatter.Set(originKey, frontmatter.String(d+" 100"))), false},
		"with a list for it":          {later, edit(frontmatter.Set(originKey, frontmatter.Strings(d, "100"))), false},
		"of the agent's own":          {later, "12 euros", false},
		"of nothing":                  {later, "", false},
	} {
		if got := c.o.corrects(c.kept); got != c.want {
			t.Errorf("%s: %v\n%s", name, got, c.kept)
		}
	}
	// Its state goes along; nobody else's proposal has one, or an origin.
	if f := frontmatter.Parse(keep("---\nstate: archived\n---\nold")).Fields(); f.State != frontmatter.Archived {
		t.Errorf("it is %s", f.State)
	}
	item.Origin = nil
	plain, err := item.composed(item.Slug, "", "---\nstate: archived\norigin: "+d+" 100 x\n---\nold", author, now)
	if _, has := frontmatter.Parse(plain).Value(originKey); err != nil || has || frontmatter.Parse(plain).Fields().State != frontmatter.Active {
		t.Errorf("%s, %v", plain, err)
	}
}
