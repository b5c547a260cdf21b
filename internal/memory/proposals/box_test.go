package proposals

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/e2e/relaytest"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

func (r *rig) list() Inbox {
	r.t.Helper()
	in, _, err := r.box.List(r.ctx())
	if err != nil {
		r.t.Fatal(err)
	}
	return in
}

// TestList: the owner's and listed keys' proposals, the newest first, until they
// are answered; what strangers address is counted, and nothing else of it is known.
func TestList(t *testing.T) {
	r := newRig(t)
	if in := r.list(); len(in.Items) != 0 || in.Strangers != 0 || in.Malformed != 0 {
		t.Fatalf("%+v", in)
	}
	r.set("mem/own", "the agent's own memory is no proposal")
	first := r.propose(r.author, Proposal{Act: Write, Slug: "mem/notes", Text: "buy milk", Why: "there is none"})
	second := r.propose(r.authorOf(r.friend), Proposal{Act: Write, Slug: nipae.Slug("mem/from/" + NameOf(r.friend.Pub) + "/tea"), Text: "drink tea"})
	r.propose(r.authorOf(r.stranger), Proposal{Act: Write, Slug: "mem/x", Text: "trust me"})
	r.propose(r.authorOf(r.stranger), Proposal{Act: Write, Slug: "mem/y", Text: "trust me"})
	in := r.list()
	if len(in.Items) != 2 || in.Strangers != 2 || in.More {
		t.Fatalf("%+v", in)
	}
	a, b := in.Items[0], in.Items[1]
	if a.EventID != second.EventID || a.FromOwner || a.Name != "friend" || a.Proposer != r.friend.Pub || a.Agent != r.agent.Pub {
		t.Errorf("%+v", a)
	}
	if b.EventID != first.EventID || !b.FromOwner || b.Text != "buy milk" || b.Why != "there is none" || b.ID != first.ID || b.CreatedAt != first.CreatedAt {
		t.Errorf("%+v", b)
	}
	r.accept(first)
	if _, _, err := r.box.Reject(t.Context(), second.EventID[:8], "no tea"); err != nil {
		t.Fatal(err)
	}
	if in := r.list(); len(in.Items) != 0 || in.Strangers != 2 {
		t.Errorf("%+v", in)
	}
}

// TestStrangersAreNotRead: what keys that are not listed address to the agent does
// not even come over the wire.
func TestStrangersAreNotRead(t *testing.T) {
	r := newRig(t)
	p := r.propose(r.authorOf(r.stranger), Proposal{Act: Write, Slug: "mem/x", Text: "trust me"})
	known := r.propose(r.authorOf(r.friend), Proposal{Act: Write, Slug: "mem/from/friend/x", Text: "tea"})
	var wire strings.Builder
	var mu sync.Mutex
	r.trace = func(_ string, _ bool, frame []byte) {
		mu.Lock()
		defer mu.Unlock()
		wire.Write(frame)
	}
	r.box = r.boxWith(Options{Listed: []Listed{{Key: r.friend.Pub}}})
	in := r.list()
	if len(in.Items) != 1 || in.Items[0].Name != NameOf(r.friend.Pub) || in.Strangers != 1 {
		t.Errorf("%+v", in)
	}
	mu.Lock()
	defer mu.Unlock()
	if text := wire.String(); !strings.Contains(text, known.EventID) || strings.Contains(text, p.EventID) || strings.Contains(text, r.stranger.Pub) {
		t.Error("a stranger's record was asked for")
	}
}

// TestListCountsWhatIsNoProposal: malformed ones, memories in the reversed pair and
// what does not decrypt are counted; what was withdrawn, and answers, are nothing.
func TestListCountsWhatIsNoProposal(t *testing.T) {
	r := newRig(t)
	id := func(c string) nipae.Slug { return nipae.Slug(nipae.ProposalPrefix + strings.Repeat(c, 32)) }
	for i, ev := range []struct {
		slug nipae.Slug
		text string
	}{{id("a"), "no front matter"}, {id("b"), "---\npropose: burn\nslug: mem/a\n---\nx"}, {"mem/notes", "a memory"}, {nipae.AnswerPrefix + "x", "an answer"}, {id("c"), "---\npropose: write\nslug: mem/a\n---\n"}} {
		r.put(r.owner, r.sealed(r.owner, r.agent, ev.slug, ev.text, 1_700_000_000+int64(i)))
	}
	garbage := relaytest.Sign(relaytest.Key{Secret: r.owner.Secret, Pub: r.owner.Pub}, nipae.Kind, 1_700_000_000, relaytest.Seal(relaytest.Key{Secret: r.owner.Secret, Pub: r.owner.Pub}, r.stranger.Pub, "for another"),
		[]string{"d", strings.Repeat("5", 64)}, []string{"p", r.agent.Pub})
	r.put(r.owner, garbage)
	if in := r.list(); len(in.Items) != 0 || in.Malformed != 5 {
		t.Errorf("%+v", in)
	}
}

// TestProposersAreApart: so many are looked at, the newest, and what others propose
// in great numbers leaves the owner's visible.
func TestProposersAreApart(t *testing.T) {
	r := newRig(t)
	r.box.most = 2
	first := r.propose(r.author, Proposal{Act: Write, Slug: "mem/a", Text: "one"})
	second := r.propose(r.author, Proposal{Act: Write, Slug: "mem/b", Text: "two"})
	if in := r.list(); len(in.Items) != 2 || in.More {
		t.Fatalf("%+v", in)
	}
	for i := range 3 {
		r.put(r.friend, r.sealed(r.friend, r.agent, nipae.Slug(fmt.Sprintf("%s%032x", nipae.ProposalPrefix, i)), "---\npropose: write\nslug: mem/from/friend/x\n---\ny", 1_700_001_000+int64(i)))
	}
	in := r.list()
	if len(in.Items) != 4 || !in.More || in.Items[0].CreatedAt != 1_700_001_002 || in.Items[2].EventID != second.EventID || in.Items[3].EventID != first.EventID {
		t.Errorf("%+v", in)
	}
	r.propose(r.author, Proposal{Act: Write, Slug: "mem/c", Text: "three"})
	if in := r.list(); len(in.Items) != 4 || in.Items[3].EventID != second.EventID {
		t.Errorf("%+v", in)
	}
}

// TestGet: by the id of the event, or its first digits; one that was replaced or
// withdrawn is a conflict, what never was is not found.
func TestGet(t *testing.T) {
	r := newRig(t)
	p := r.propose(r.author, Proposal{Act: Write, Slug: "mem/notes", Text: "buy milk"})
	for _, id := range []string{p.EventID, p.EventID[:8]} {
		if item, _, err := r.box.Get(t.Context(), id); err != nil || item.EventID != p.EventID {
			t.Errorf("%s: %+v, %v", id, item, err)
		}
	}
	for _, id := range []string{"", p.EventID[:7], strings.ToUpper(p.EventID), p.EventID + "0", "mem/notes"} {
		if _, _, err := r.box.Get(t.Context(), id); !errors.Is(err, ErrID) {
			t.Errorf("%q: %v", id, err)
		}
	}
	if _, _, err := r.box.Get(t.Context(), strings.Repeat("0", 64)); !errors.Is(err, client.ErrNotFound) {
		t.Error(err)
	}
	text, err := Proposal{Act: Write, Slug: "mem/notes", Base: "none", Text: "buy tea"}.Render()
	if err != nil {
		t.Fatal(err)
	}
	r.put(r.owner, r.sealed(r.owner, r.agent, nipae.Slug(nipae.ProposalPrefix+p.ID), text, p.CreatedAt+10))
	if done, err := r.box.Accept(t.Context(), p.EventID, AcceptOptions{}); !errors.Is(err, client.ErrConflict) || r.get("mem/notes") != "" {
		t.Errorf("what was not shown is accepted: %+v, %v", done, err)
	}
	stranger := r.propose(r.authorOf(r.stranger), Proposal{Act: Write, Slug: "mem/x", Text: "trust me"})
	if _, _, err := r.box.Get(t.Context(), stranger.EventID); !errors.Is(err, client.ErrNotFound) {
		t.Error("a stranger's proposal is read:", err)
	}
}

// TestGetWhereRelaysDiffer: the newer of two heads counts, and the older one, which a
// relay still shows, is a conflict.
func TestGetWhereRelaysDiffer(t *testing.T) {
	a, b := relaytest.Start(t, relaytest.Options{}).URL, relaytest.Start(t, relaytest.Options{}).URL
	r := newRig(t, a)
	old := r.propose(r.author, Proposal{Act: Write, Slug: "mem/notes", Text: "buy milk"})
	text, err := Proposal{Act: Write, Slug: "mem/notes", Base: "none", Text: "buy tea"}.Render()
	if err != nil {
		t.Fatal(err)
	}
	r.relays = []string{b}
	newer := r.sealed(r.owner, r.agent, nipae.Slug(nipae.ProposalPrefix+old.ID), text, old.CreatedAt+10)
	r.put(r.owner, newer)
	r.relays = []string{a, b}
	box := r.boxWith(Options{})
	if _, err := box.Accept(t.Context(), old.EventID, AcceptOptions{}); !errors.Is(err, client.ErrConflict) {
		t.Error(err)
	}
	if item, _, err := box.Get(t.Context(), newer.ID); err != nil || item.Text != "buy tea" {
		t.Errorf("%+v, %v", item, err)
	}
}

// TestListedKeys: at most 100, each once, under names that can stand in a slug.
func TestListedKeys(t *testing.T) {
	r := newRig(t, "ws://127.0.0.1:1")
	key := func(i int) string { return fmt.Sprintf("%08x%056x", i, i) }
	many := make([]Listed, MaxListed+1)
	for i := range many {
		many[i] = Listed{Key: key(i + 1)}
	}
	for name, listed := range map[string][]Listed{
		"many": many, "no key": {{Key: "npub1x"}}, "the owner": {{Key: r.owner.Pub}}, "the agent": {{Key: r.agent.Pub}}, "a path": {{Key: key(1), Name: "a/b"}},
		"no slug": {{Key: key(1), Name: "Ana"}}, "twice": {{Key: key(1)}, {Key: key(1)}}, "one name": {{Key: key(1), Name: "ana"}, {Key: key(2), Name: "ana"}},
	} {
		if _, err := NewBox(Options{Client: r.box.o.Client, Memory: r.memory, Listed: listed}); !errors.Is(err, ErrListed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := NewBox(Options{Client: r.box.o.Client, Memory: r.memory, Listed: many[1:]}); err != nil {
		t.Error(err)
	}
	m, err := memory.AsOwner(r.client(r.owner), r.agent.Pub)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewBox(Options{Client: r.client(r.owner), Memory: m}); !errors.Is(err, client.ErrReadOnly) {
		t.Error("an owner has a box:", err)
	}
}

// TestOwnsHimself: who owns himself has no proposals: what is in that pair is
// memory.
func TestOwnsHimself(t *testing.T) {
	r := newRig(t)
	c := r.client(r.agent)
	m, err := memory.AsAgent(c, r.agent.Pub)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := m.Set(t.Context(), "mem/notes", "mine", memory.SetOptions{}); err != nil {
		t.Fatal(err)
	}
	b, err := NewBox(Options{Client: c, Memory: m})
	if err != nil {
		t.Fatal(err)
	}
	if in, _, err := b.List(t.Context()); err != nil || len(in.Items) != 0 || in.Malformed != 0 || in.Strangers != 0 {
		t.Errorf("%+v, %v", in, err)
	}
	a := &Author{Client: c}
	if _, _, err := a.Propose(t.Context(), Proposal{Agent: r.agent.Pub, Act: Write, Slug: "mem/a", Base: "none", Text: "x"}); !errors.Is(err, ErrSelf) {
		t.Error(err)
	}
	if items, malformed, _, err := a.Mine(t.Context(), r.agent.Pub); err != nil || len(items) != 0 || malformed != 0 {
		t.Errorf("%+v, %d, %v", items, malformed, err)
	}
}

// TestNoRelay: without an answer there is an error, never an empty inbox.
func TestNoRelay(t *testing.T) {
	r := newRig(t, "ws://127.0.0.1:1")
	if in, _, err := r.box.List(t.Context()); !errors.Is(err, client.ErrNoRelay) || in.Strangers != -1 {
		t.Errorf("%+v, %v", in, err)
	}
	up := relaytest.Start(t, relaytest.Options{}).URL
	r = newRig(t, up, "ws://127.0.0.1:1")
	if _, status, err := r.box.List(t.Context()); !errors.Is(err, client.ErrPartial) || !status.Partial {
		t.Errorf("%+v, %v", status, err)
	}
	if _, _, err := r.box.Get(t.Context(), someID); !errors.Is(err, client.ErrPartial) {
		t.Error(err)
	}
}

// TestListWaitsForNoCount: a relay that hangs while it counts holds up nothing.
func TestListWaitsForNoCount(t *testing.T) {
	up, hangs := relaytest.Start(t, relaytest.Options{}).URL, relaytest.Silent(t)
	r := newRig(t, up)
	p := r.propose(r.author, Proposal{Act: Write, Slug: "mem/a", Text: "one"})
	r.relays, r.grace = []string{up, hangs}, 0
	b := r.boxWith(Options{})
	start := time.Now()
	in, status, err := b.List(t.Context())
	if err != nil || len(in.Items) != 1 || in.Items[0].EventID != p.EventID || !status.Partial || in.Strangers != 0 {
		t.Errorf("%+v, %v, %v", in, status, err)
	}
	if took := time.Since(start); took > patience {
		t.Errorf("it took %v", took)
	}
}

// TestMine: the proposer sees what became of each, and what is to be the base of
// the next.
func TestMine(t *testing.T) {
	r := newRig(t)
	a := r.propose(r.author, Proposal{Act: Write, Slug: "mem/a", Text: "one"})
	b := r.propose(r.author, Proposal{Act: Write, Slug: "mem/b", Text: "two"})
	c := r.propose(r.author, Proposal{Act: Write, Slug: "mem/c", Text: "three"})
	done := r.accept(a)
	if _, _, err := r.box.Reject(t.Context(), b.EventID, "not true"); err != nil {
		t.Fatal(err)
	}
	items, malformed, _, err := r.author.Mine(t.Context(), r.agent.Pub)
	if err != nil || malformed != 0 || len(items) != 3 {
		t.Fatalf("%+v, %d, %v", items, malformed, err)
	}
	slices.SortFunc(items, func(x, y Item) int { return strings.Compare(string(x.Slug), string(y.Slug)) })
	if x := items[0].Answer; x == nil || !x.Accepted || x.Event != done.Entry.ID || x.Hash != done.Entry.Hash || x.At == 0 {
		t.Errorf("%+v", x)
	}
	if x := items[1].Answer; x == nil || x.Accepted || x.Reason != "not true" {
		t.Errorf("%+v", x)
	}
	if items[2].Answer != nil || items[2].EventID != c.EventID {
		t.Errorf("%+v", items[2])
	}
	// An agent that proposes to another sees its own, and its answer is no memory of
	// the agent's with its owner.
	f := r.authorOf(r.friend)
	p := r.propose(f, Proposal{Act: Write, Slug: "mem/from/friend/x", Text: "four"})
	r.accept(p)
	items, _, _, err = f.Mine(t.Context(), r.agent.Pub)
	if err != nil || len(items) != 1 || items[0].Answer == nil || !items[0].Answer.Accepted {
		t.Errorf("%+v, %v", items, err)
	}
	r.is("mem/from/friend/x", frontmatter.External, "agent", "four")
	if text := r.get(nipae.Slug(nipae.AnswerPrefix + p.ID)); text != "" {
		t.Errorf("the owner's pair has %q", text)
	}
}

// TestProposeRefuses: no secret leaves, and what is no proposal is not sent.
func TestProposeRefuses(t *testing.T) {
	r := newRig(t, "ws://127.0.0.1:1")
	p := Proposal{Agent: r.agent.Pub, Act: Write, Slug: "mem/a", Base: someHash, Text: "the token is ghp_" + someToken}
	if _, _, err := r.author.Propose(t.Context(), p); !errors.Is(err, ErrRefused) || strings.Contains(err.Error(), someToken) {
		t.Error(err)
	}
	p.Text = ""
	if _, _, err := r.author.Propose(t.Context(), p); !errors.Is(err, ErrForm) {
		t.Error(err)
	}
	p.Text = strings.Repeat("x", MaxText-700)
	p.Text += strings.Repeat("\n", 400) // two bytes each in a body
	if _, _, err := r.author.Propose(t.Context(), p); !errors.Is(err, client.ErrTooLarge) {
		t.Error(err)
	}
}
