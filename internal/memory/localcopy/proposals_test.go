package localcopy

import (
	"context"
	"strings"
	"testing"

	"engramd/nips/nipae"
)

// TestProposalIsFound: a proposal lies at an address of its own kind, an answer
// at that of any slug; both are kept and listed, and in no index.
func TestProposalIsFound(t *testing.T) {
	a := newAuthor(t, "proposer", "agent")
	m := open(t, a.Pair, Options{NoDisk: true})
	id := strings.Repeat("0f", 16)
	proposal, answer := nipae.ProposalPrefix+id, nipae.AnswerPrefix+id
	ev := a.write(proposal, "propose: write", 100)
	if want, err := nipae.ProposalAddress(a.Agent, a.Owner, id); err != nil || ev.Tags.GetD() != want {
		t.Fatalf("it is sealed for %s, %v", ev.Tags.GetD(), err)
	}
	if c := put(t, m, near, ev, a.write(answer, "rejected", 110)); c.New != 2 || c.Rejected != 0 || c.Heads != 2 {
		t.Errorf("%+v", c)
	}
	err := m.Read(context.Background(), func(v *View) error {
		for slug, want := range map[string]string{proposal: "propose: write", answer: "rejected"} {
			if h, ok := v.Head(slug); !ok || h.Slug != slug || h.Unreadable != "" {
				t.Errorf("%s: %+v, %v", slug, h, ok)
			}
			if text, ok := v.Text(slug); !ok || text != want {
				t.Errorf("%s: %q, %v", slug, text, ok)
			}
		}
		if n, _ := v.Index().Len(); n != 0 {
			t.Errorf("%d are in the index", n)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if c := put(t, m, near, a.remove(proposal, 120)); c.Heads != 1 {
		t.Errorf("taken back: %+v", c)
	}
}

// TestReversedPairIsNoMemory: of what an owner writes to his agent, proposals and
// answers alone are kept, also if a copy from before that was known has more.
func TestReversedPairIsNoMemory(t *testing.T) {
	a, dir := newAuthor(t, "owner", "agent"), t.TempDir()
	slug := nipae.ProposalPrefix + strings.Repeat("0f", 16)
	stray, core, proposal, lost := a.write("mem/stray", "x", 100), a.write("core", "x", 100), a.write(slug, "propose: write", 100), a.garbled("mem/b", 100)
	before := open(t, a.Pair, Options{Dir: dir})
	put(t, before, near, stray, core, proposal)
	a.Reversed = true
	m := open(t, a.Pair, Options{Dir: dir})
	if c := put(t, m, near, stray, core, proposal, lost, a.remove("mem/stray", 110)); c.New != 2 || c.Rejected != 3 || c.Heads != 2 {
		t.Errorf("%+v", c)
	}
	err := m.Read(context.Background(), func(v *View) error {
		for h := range v.Heads("") {
			if h.Slug != slug {
				t.Errorf("%+v", h)
			}
		}
		if n, _ := v.Index().Len(); n != 0 {
			t.Errorf("%d are in the index", n)
		}
		if _, ok := v.Head("mem/stray"); ok {
			t.Error("what is no proposal is found")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
