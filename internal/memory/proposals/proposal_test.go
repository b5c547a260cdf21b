package proposals

import (
	"errors"
	"strings"
	"testing"

	"engramd/internal/client/memory"
	"engramd/nips/nipae"
)

var (
	someHash = strings.Repeat("ab", 32)
	someID   = strings.Repeat("cd", 32)
	// someToken is what a token is made of.
	someToken = "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY1zA2"
)

// TestProposalText: the text of a proposal is front matter with the new text
// behind it, whatever that begins with.
func TestProposalText(t *testing.T) {
	inner := "---\ntype: semantic\npropose: delete\n---\n# Milk\nbuy\n"
	for _, c := range []struct {
		name string
		p    Proposal
		text string
	}{
		{"write", Proposal{Act: Write, Slug: "mem/notes", Base: "none", Text: "buy milk"}, "---\npropose: write\nslug: mem/notes\nbase: none\n---\nbuy milk"},
		{"front matter", Proposal{Act: Write, Slug: "mem/notes", Base: someHash, Text: inner}, "---\npropose: write\nslug: mem/notes\nbase: " + someHash + "\n---\n" + inner},
		{"core", Proposal{Act: Edit, Slug: "core", Base: someHash, Text: "I am Sami", Why: "his name: Sami"}, "---\npropose: edit\nslug: core\nbase: " + someHash + "\nwhy: \"his name: Sami\"\n---\nI am Sami"},
		{"archive", Proposal{Act: Archive, Slug: "mem/a/b", Base: someHash, Vouch: true}, "---\npropose: archive\nslug: mem/a/b\nbase: " + someHash + "\nvouch: true\n---\n"},
		{"delete", Proposal{Act: Delete, Slug: "mem/a", Base: someHash}, "---\npropose: delete\nslug: mem/a\nbase: " + someHash + "\n---\n"},
		{"restore", Proposal{Act: Restore, Slug: "mem/a", Base: "none", Version: someID[:8]}, "---\npropose: restore\nslug: mem/a\nbase: none\nversion: " + someID[:8] + "\n---\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, err := c.p.Render()
			if err != nil || text != c.text {
				t.Fatalf("%q, %v, want %q", text, err, c.text)
			}
			if got, err := Parse(text); err != nil || !same(got, c.p) {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

// same compares proposals without their origin.
func same(a, b Proposal) bool {
	return a.Act == b.Act && a.Slug == b.Slug && a.Base == b.Base && a.Version == b.Version && a.Why == b.Why && a.Vouch == b.Vouch && a.Text == b.Text
}

// TestProposalTextThatIsNone: what is wrong is refused, by Parse and by Render.
func TestProposalTextThatIsNone(t *testing.T) {
	head := func(lines ...string) string { return "---\n" + strings.Join(lines, "\n") + "\n---\n" }
	for name, text := range map[string]string{
		"nothing":            "",
		"no front matter":    "propose: write\nslug: mem/a\n",
		"no act":             head("slug: mem/a", "base: none") + "x",
		"unknown act":        head("propose: burn", "slug: mem/a", "base: none") + "x",
		"no slug":            head("propose: write", "base: none") + "x",
		"short slug":         head("propose: write", "slug: notes") + "x",
		"slug in capitals":   head("propose: write", "slug: mem/Notes") + "x",
		"reserved":           head("propose: write", "slug: mem/sys/x") + "x",
		"a proposal":         head("propose: write", "slug: mem/proposals/"+strings.Repeat("0", 32)) + "x",
		"an answer":          head("propose: write", "slug: mem/proposals-answers/x") + "x",
		"base":               head("propose: write", "slug: mem/a", "base: 12ab") + "x",
		"base in capitals":   head("propose: write", "slug: mem/a", "base: "+strings.ToUpper(someHash)) + "x",
		"list":               head("propose: [write]", "slug: mem/a") + "x",
		"twice":              head("propose: archive", "propose: write", "slug: mem/a") + "x",
		"two slugs":          head("propose: write", "slug: mem/a", "slug: mem/b") + "x",
		"vouch":              head("propose: edit", "slug: mem/a", "base: "+someHash, "vouch: perhaps") + "x",
		"edit without base":  head("propose: edit", "slug: mem/a") + "x",
		"edit without text":  head("propose: edit", "slug: mem/a", "base: "+someHash),
		"archive with text":  head("propose: archive", "slug: mem/a", "base: "+someHash) + "x",
		"archive, no base":   head("propose: archive", "slug: mem/a"),
		"delete core":        head("propose: delete", "slug: core", "base: "+someHash),
		"archive core":       head("propose: archive", "slug: core", "base: "+someHash),
		"delete, none":       head("propose: delete", "slug: mem/a", "base: none"),
		"restore what":       head("propose: restore", "slug: mem/a", "base: none"),
		"restore little":     head("propose: restore", "slug: mem/a", "base: none", "version: abcdef0"),
		"version of a write": head("propose: write", "slug: mem/a", "version: "+someID) + "x",
		"long reason":        head("propose: write", "slug: mem/a", "why: "+strings.Repeat("w", MaxWhy+1)) + "x",
		"too long":           head("propose: write", "slug: mem/a") + strings.Repeat("x", MaxText),
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Parse(text)
			if !errors.Is(err, ErrForm) {
				t.Fatalf("%+v, %v", p, err)
			}
			if name == "twice" || name == "two slugs" || name == "list" || name == "vouch" {
				return // only a text can be that
			}
			if rendered, err := p.Render(); !errors.Is(err, ErrForm) {
				t.Errorf("%q, %v", rendered, err)
			}
		})
	}
}

// TestProposalBase: a text that is written for no other replaces none; a reason is
// one line that shows all that it holds.
func TestProposalBase(t *testing.T) {
	p, err := Parse("---\npropose: write\nslug: mem/a\nwhy: \"one\\ntwo\\u202e\"\n---\nx")
	if err != nil || p.Base != memory.BaseNone || p.Why != "one two" {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := (Proposal{Act: Write, Slug: "mem/a", Text: "x"}).Render(); !errors.Is(err, ErrForm) {
		t.Error("a base is left out:", err)
	}
}

func TestAnswerText(t *testing.T) {
	for _, c := range []struct {
		a    Answer
		text string
	}{
		{Answer{Proposal: someID, Accepted: true, Event: someHash, Hash: someHash}, "---\nanswer: accepted\nproposal: " + someID + "\nevent: " + someHash + "\nhash: " + someHash + "\n---\n"},
		{Answer{Proposal: someID, Accepted: true, Event: someHash}, "---\nanswer: accepted\nproposal: " + someID + "\nevent: " + someHash + "\n---\n"},
		{Answer{Proposal: someID, Reason: "---\nit is not true\n---\n"}, "---\nanswer: rejected\nproposal: " + someID + "\n---\n---\nit is not true\n---\n"},
	} {
		text, err := c.a.Render()
		if err != nil || text != c.text {
			t.Errorf("%q, %v, want %q", text, err, c.text)
		}
		if got, err := ParseAnswer(text); err != nil || got != c.a {
			t.Errorf("%+v, %v", got, err)
		}
	}
	for _, text := range []string{"", "accepted", "---\nanswer: maybe\nproposal: " + someID + "\n---\n", "---\nanswer: rejected\n---\nno",
		"---\nanswer: accepted\nproposal: " + someID + "\n---\n", "---\nanswer: rejected\nproposal: " + someID + "\nevent: " + someID + "\n---\n",
		"---\nanswer: rejected\nanswer: accepted\nproposal: " + someID + "\n---\n", "---\nanswer: rejected\nproposal: " + someID + "\n---\n" + strings.Repeat("x", MaxWhy+1)} {
		if a, err := ParseAnswer(text); !errors.Is(err, ErrForm) {
			t.Errorf("%.80q: %+v, %v", text, a, err)
		}
	}
}

// FuzzParse: no text stops the parser, and what it takes is written and read
// again as the same.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"", "---\npropose: write\nslug: mem/a\n---\nx", "---\npropose: edit\nslug: core\nbase: " + someHash + "\nwhy: \"a\\nb\"\nvouch: true\n---\n---\na: b\n---\n",
		"---\npropose: restore\nslug: mem/a\nbase: none\nversion: 12345678\n---\n", "---\npropose: delete\nslug: mem/a\nbase: " + someHash + "\n---"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse(text)
		if err != nil {
			if !errors.Is(err, ErrForm) {
				t.Fatal(err)
			}
			return
		}
		if _, err := nipae.ParseSlug(string(p.Slug)); err != nil || len(p.Why) > MaxWhy || len(p.Text) > MaxText {
			t.Fatalf("%+v", p)
		}
		again, err := p.Render()
		if err != nil {
			if len(text)+512 > MaxText { // it grew by what it left out
				return
			}
			t.Fatal(err)
		}
		if back, err := Parse(again); err != nil || !same(back, p) {
			t.Fatalf("%+v became %+v, %v", p, back, err)
		}
	})
}

// FuzzParseAnswer: as FuzzParse.
func FuzzParseAnswer(f *testing.F) {
	f.Add("---\nanswer: accepted\nproposal: " + someID + "\nevent: " + someID + "\n---\n")
	f.Add("---\nanswer: rejected\nproposal: " + someID + "\n---\nno")
	f.Fuzz(func(t *testing.T, text string) {
		a, err := ParseAnswer(text)
		if err != nil {
			if !errors.Is(err, ErrForm) {
				t.Fatal(err)
			}
			return
		}
		again, err := a.Render()
		if err != nil {
			t.Fatal(err)
		}
		if back, err := ParseAnswer(again); err != nil || back != a {
			t.Fatalf("%+v became %+v, %v", a, back, err)
		}
	})
}
