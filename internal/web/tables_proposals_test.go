package web_test

import (
	"strings"
	"testing"

	"engramd/internal/client/memory"
	"engramd/internal/memory/proposals"
	"engramd/nips/nipae"
)

// formCase is what somebody wants to propose, and the text that says so.
type formCase struct {
	Form form   `json:"form"`
	Text string `json:"text,omitempty"` // "": it cannot be proposed
}

// form is a proposal without what its event says; Base "" is none.
type form struct {
	Propose string `json:"propose"`
	Slug    string `json:"slug"`
	Base    string `json:"base"`
	Version string `json:"version"`
	Why     string `json:"why"`
	Vouch   bool   `json:"vouch"`
	Text    string `json:"text"`
}

func formOf(p proposals.Proposal) *form {
	f := form{string(p.Act), string(p.Slug), p.Base, p.Version, p.Why, p.Vouch, p.Text}
	if f.Base == memory.BaseNone {
		f.Base = ""
	}
	return &f
}

// proposalCase is a text, and what it proposes.
type proposalCase struct {
	Text string `json:"text"`
	Form *form  `json:"form"`
}

// answerCase is a text, and what it answers.
type answerCase struct {
	Text   string  `json:"text"`
	Answer *answer `json:"answer"`
}

type answer struct {
	Accepted bool   `json:"accepted"`
	Proposal string `json:"proposal"`
	Event    string `json:"event"`
	Hash     string `json:"hash"`
	Reason   string `json:"reason"`
}

// TestGoldenTableOfProposals writes and checks web-proposals.json.
func TestGoldenTableOfProposals(t *testing.T) {
	r := seeded(4)
	hash, id := strings.Repeat("ab12", 16), strings.Repeat("9f", 32)
	var forms, texts, answers []any
	var made []string
	acts := []string{"write", "edit", "archive", "delete", "restore", "", "WRITE", "forget"}
	slugs := []string{"mem/a", "mem/people/ana-1_x", "core", "mem/from/x/y", "mem/sys/log/0", "mem/proposals/x", "mem/proposals-answers/x", "mem/proposal", "a", ""}
	bases := []string{"", hash, hash, hash[1:], strings.ToUpper(hash), strings.Repeat("1", 64)}
	versions := []string{"", "", id, id[:8], id[:7], strings.Repeat("1", 12), strings.Repeat("0", 9) + "e1", "xyz", id + "0"}
	whys := []string{"", "", "plain words", "true", "null", "it's \"quoted\" \\ back", "two\nlines\tand\x01more", "ends in colon:", "- item", "# no", "\u202eevil\u2028", "é\u00a0ß 😀", " spaces  around ", "12", "a.b/c_d-e f", "Y", "\ufeff", "a  b", "[x]", "{x}",
		strings.Repeat("w", 1024), strings.Repeat("w", 1025), strings.Repeat("\\", 1024), strings.Repeat("\"", 1000), strings.Repeat("é", 513), "\u0085", "\x7f"}
	whole := []string{"", "", "text\n", "---\ntype: insight\n---\nbody", "---\nslug: mem/b\n---\n", "a\r\nb", "\n---\n", "\x00\u2028", "😀"}
	for _, act := range acts {
		for range 40 {
			f := form{act, pick(r, slugs[:3+r.IntN(8)]), pick(r, bases), pick(r, versions[:2+7*r.IntN(2)]), pick(r, whys), r.IntN(3) == 0, pick(r, whole)}
			if r.IntN(2) == 0 { // most of what is drawn at random cannot be proposed
				f.Slug = pick(r, slugs[:2])
				f.Base = hash
				if f.Version = ""; act == "restore" {
					f.Version = id[:8+r.IntN(56)]
				}
				if f.Text = pick(r, whole[2:]); act != "write" && act != "edit" {
					f.Text = ""
				}
			}
			base := f.Base
			if base == "" {
				base = memory.BaseNone
			}
			text, err := proposals.Proposal{Act: proposals.Act(f.Propose), Slug: nipae.Slug(f.Slug), Base: base, Version: f.Version, Why: f.Why, Vouch: f.Vouch, Text: f.Text}.Render()
			if err == nil {
				made = append(made, text)
			}
			forms = append(forms, formCase{f, text})
		}
	}
	if len(made) < 60 {
		t.Errorf("only %d forms can be proposed", len(made))
	}
	read := func(text string) {
		c := proposalCase{Text: text}
		if p, err := proposals.Parse(text); err == nil {
			c.Form = formOf(p)
		}
		texts = append(texts, c)
	}
	for i, text := range made {
		if i%3 > 0 {
			read(text)
			continue
		}
		read(text[:r.IntN(len(text))])
		read(strings.Replace(text, "\n", pick(r, []string{"\r\n", "\nvouch: false\n", "\nvouch: yes\n", "\nslug: mem/a\n", "\nother: x\n", "\nother: [x]\nother: y\n", "\nbase: none\n", "\n\n", "\n# c\n", "\nversion: 12345678\n", "\nwhy: [a]\n", "\nvouch: \"true\"\n"}), 1))
	}
	for _, text := range []string{"", "text", "---\npropose: write\nslug: mem/a\n---\nt", "---\npropose: write\nslug: mem/a\n---\n", "---\npropose: [write]\nslug: mem/a\n---\nt", "---\npropose: write\nslug: mem/a\nbase:\n---\nt", "---\nslug: mem/a\n---\nt",
		"---\npropose: write\nslug: mem/a\nbase: None\n---\nt", "---\npropose: write\nslug: mem/a\nwhy: |\n  x\n---\nt", "---\npropose: write\nslug: mem/a\nvouch:\n---\nt", "---\npropose: edit\nslug: mem/a\nbase: " + hash + "\n---\n" + strings.Repeat("x", 2000),
		"---\npropose: restore\nslug: mem/a\nversion: " + id + "\n---\n", "---\npropose: restore\nslug: mem/a\nversion: " + id + "0\n---\n", "---\npropose: write\nslug: mem/a\nbase: " + hash + "0\n---\nt"} {
		read(text)
	}
	for _, word := range []string{"accepted", "rejected", "maybe", ""} {
		for _, proposal := range []string{id, id[1:], ""} {
			for _, rest := range []string{"event: " + id, "event: " + id + "\nhash: " + hash, "hash: " + hash, "x: y", "event: [" + id + "]", "event: \"" + id + "\"\nevent: x", "event: " + strings.ToUpper(id)} {
				text := "---\nanswer: " + word + "\nproposal: " + proposal + "\n" + rest + "\n---\n" + pick(r, []string{"", "a reason\nof two lines", strings.Repeat("r", 1024), strings.Repeat("r", 1025), strings.Repeat("é", 512), "\u202e"})
				c := answerCase{Text: text}
				if a, err := proposals.ParseAnswer(text); err == nil {
					c.Answer = &answer{a.Accepted, a.Proposal, a.Event, a.Hash, a.Reason}
				}
				answers = append(answers, c)
			}
		}
	}
	(&table{name: "web-proposals.json", about: "What somebody wants to propose and the text for it (none: it cannot be proposed; base \"\" is none), texts and what internal/proposals reads in them, and answers.",
		sections: []section{{"forms", forms}, {"texts", texts}, {"answers", answers}}}).hold(t, 450)
}
