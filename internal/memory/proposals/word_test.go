package proposals

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"engramd/internal/client"
	"engramd/nips/nipae"
)

// TestSays: what counts of a proposal is a removal, or a short text that was made for the
// text that is there and changes a word of it; nothing else does.
func TestSays(t *testing.T) {
	const head = "---\ntype: semantic\n---\nBen runs the infrastructure team."
	external := "---\ntrust: external\n---\nBen runs it."
	for name, c := range map[string]struct {
		p    Proposal
		head string
		want string
		none bool
	}{
		"an edit":                  {p: Proposal{Act: Edit, Text: "---\ntype: semantic\n---\nAna does."}, want: "Ana does."},
		"a text":                   {p: Proposal{Act: Write, Text: "Ana does."}, want: "Ana does."},
		"a removal":                {p: Proposal{Act: Delete}},
		"an archiving":             {p: Proposal{Act: Archive}},
		"one that archives":        {p: Proposal{Act: Edit, Text: "---\nstate: archived\n---\nBen did."}},
		"the longest":              {p: Proposal{Act: Edit, Text: strings.Repeat("é", MaxWord)}, want: strings.Repeat("é", MaxWord)},
		"too long":                 {p: Proposal{Act: Edit, Text: strings.Repeat("é", MaxWord+1)}, none: true},
		"for another text":         {p: Proposal{Act: Edit, Base: client.Hash("Ben runs it."), Text: "Ana does."}, none: true},
		"a removal of another":     {p: Proposal{Act: Delete, Base: client.Hash("Ben runs it.")}, none: true},
		"for none":                 {p: Proposal{Act: Write, Base: "none", Text: "Ana does."}, none: true},
		"the same words":           {p: Proposal{Act: Edit, Text: "Ben runs the infrastructure team."}, none: true},
		"a secret":                 {p: Proposal{Act: Edit, Text: "The key is AKIAIOSFODNN7EXAMPLQ."}, none: true},
		"an old version":           {p: Proposal{Act: Restore, Version: "12345678"}, none: true},
		"another agent's words":    {p: Proposal{Act: Write, Origin: jsontext.Value("{}")}, none: true},
		"what it calls external":   {p: Proposal{Act: Edit, Text: "---\ntrust: external\n---\nAna does."}, none: true},
		"somebody else's, mended":  {p: Proposal{Act: Edit, Text: "Ana does."}, head: external, want: "> Ana does."},
		"somebody else's, vouched": {p: Proposal{Act: Edit, Vouch: true, Text: "Ana does."}, head: external, want: "Ana does."},
		"the core":                 {p: Proposal{Act: Edit, Slug: "core", Text: "I am Sami."}, head: "I am Tom.", want: "I am Sami."},
	} {
		t.Run(name, func(t *testing.T) {
			if c.head == "" {
				c.head = head
			}
			if c.p.Slug == "" {
				c.p.Slug = "mem/people/ben"
			}
			if c.p.Base == "" {
				c.p.Base = client.Hash(c.head)
			}
			c.p.EventID = "id"
			w := c.p.Says(c.head)
			ok := w.ID != ""
			if w.External {
				w.Text = "> " + w.Text
			}
			if ok == c.none || w.Text != c.want {
				t.Errorf("%+v, %v", w, ok)
			}
		})
	}
}

// TestNewest: of several proposals for one slug the newest counts, and of one second the
// lower id.
func TestNewest(t *testing.T) {
	all := []Proposal{{EventID: "b", Slug: "mem/a", CreatedAt: 2}, {EventID: "a", Slug: "mem/a", CreatedAt: 2}, {EventID: "0", Slug: "mem/a", CreatedAt: 1}, {EventID: "c", Slug: "mem/b", CreatedAt: 1}}
	got := Newest(all)
	if len(got) != 2 || got["mem/a"].EventID != "a" || got[nipae.Slug("mem/b")].EventID != "c" {
		t.Errorf("%+v", got)
	}
}
