package proposals

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/e2e/secretcases"
	"engramd/internal/memory/write"
	"engramd/internal/secrets"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

const observed = "---\ntype: semantic\ncreated: 2026-01-02T03:04:05Z\nsource: \"tool:1\"\ntrust: observed\n---\n"

// TestAcceptFromOwner: a text of the owner's is told, what corrects one keeps its
// trust unless the owner vouches for it, and what comes back is as it was.
func TestAcceptFromOwner(t *testing.T) {
	r := newRig(t)
	r.accept(r.propose(r.author, Proposal{Act: Write, Slug: "mem/new", Text: "---\ntags: [a]\nsource: forged\ncreated: 2001-01-01\n---\nbuy milk"}))
	r.is("mem/new", frontmatter.Told, "owner", "buy milk")
	if d := frontmatter.Parse(r.get("mem/new")); !strings.Contains(d.Fields().Source, "owner:npub1") || d.Fields().Created.String() != "2027-01-15T08:00:00Z" || len(d.Fields().Tags) != 1 {
		t.Errorf("%q", d.Text())
	}
	r.accept(r.propose(r.author, Proposal{Act: Write, Slug: "mem/doubt", Text: "---\ntrust: external\n---\nsomebody's words"}))
	r.is("mem/doubt", frontmatter.External, "owner", "somebody's words")

	base := r.set("mem/kept", observed+"blue boats")
	r.accept(r.propose(r.author, Proposal{Act: Edit, Slug: "mem/kept", Base: base, Text: strings.Replace(observed, "observed", "told", 1) + "green boats"}))
	r.is("mem/kept", frontmatter.Observed, "owner", "green boats")
	base = r.set("mem/kept", strings.Replace(observed, "observed", "external", 1)+"red boats")
	done := r.accept(r.propose(r.author, Proposal{Act: Edit, Slug: "mem/kept", Base: base, Text: "white boats"}))
	r.is("mem/kept", frontmatter.External, "owner", "white boats")
	if d := frontmatter.Parse(r.get("mem/kept")); d.Fields().Created.String() != "2026-01-02T03:04:05Z" || done.Trust != frontmatter.External {
		t.Errorf("%q, %v", d.Text(), done.Trust)
	}
	done = r.accept(r.propose(r.author, Proposal{Act: Edit, Slug: "mem/kept", Base: done.Entry.Hash, Text: "black boats", Vouch: true}))
	r.is("mem/kept", frontmatter.Told, "owner", "black boats")
	r.accept(r.propose(r.author, Proposal{Act: Edit, Slug: "mem/kept", Base: done.Entry.Hash, Text: "grey boats"}))
	r.is("mem/kept", frontmatter.Told, "owner", "grey boats")
	base = client.Hash(r.get("mem/kept"))
	r.accept(r.propose(r.author, Proposal{Act: Write, Slug: "mem/kept", Base: base, Text: "my boats"}))
	r.is("mem/kept", frontmatter.Told, "owner", "my boats")

	base = r.set("core", "I am Sami")
	r.accept(r.propose(r.author, Proposal{Act: Edit, Slug: "core", Base: base, Text: "I am Sami. I answer briefly."}))
	if got := r.get("core"); got != "I am Sami. I answer briefly." {
		t.Errorf("core is %q", got)
	}
}

// TestAcceptRest: archived and restored texts keep every byte but what is said, and
// their trust unless the owner vouches; what is deleted is a tombstone.
func TestAcceptRest(t *testing.T) {
	r := newRig(t)
	text := observed + "blue boats"
	base := r.set("mem/a", text)
	r.accept(r.propose(r.author, Proposal{Act: Archive, Slug: "mem/a", Base: base}))
	if got := r.get("mem/a"); got != strings.Replace(text, "\n---\nblue", "\nstate: archived\n---\nblue", 1) {
		t.Errorf("%q", got)
	}
	base = r.set("mem/b", text)
	r.accept(r.propose(r.author, Proposal{Act: Archive, Slug: "mem/b", Base: base, Vouch: true}))
	r.is("mem/b", frontmatter.Told, "owner", "blue boats")
	if frontmatter.Parse(r.get("mem/b")).Fields().State != frontmatter.Archived {
		t.Error(r.get("mem/b"))
	}

	first, _, err := r.memory.Set(t.Context(), "mem/c", strings.Replace(text, "observed", "external", 1), memory.SetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	base = r.set("mem/c", "other words")
	r.accept(r.propose(r.author, Proposal{Act: Restore, Slug: "mem/c", Base: base, Version: first.ID}))
	if got := r.get("mem/c"); got != first.Text {
		t.Errorf("%q", got)
	}
	base = r.set("mem/c", "other words")
	r.accept(r.propose(r.author, Proposal{Act: Restore, Slug: "mem/c", Base: base, Version: first.ID[:8], Vouch: true}))
	r.is("mem/c", frontmatter.Told, "owner", "blue boats")

	base = client.Hash(r.get("mem/c"))
	done := r.accept(r.propose(r.author, Proposal{Act: Delete, Slug: "mem/c", Base: base}))
	if _, _, err := r.memory.Get(t.Context(), "mem/c"); !errors.Is(err, client.ErrTombstone) || !done.Entry.Tombstone {
		t.Errorf("%+v, %v", done, err)
	}
	r.author.Clock = time.Now // it is about what was just removed
	r.accept(r.propose(r.author, Proposal{Act: Restore, Slug: "mem/c", Base: memory.BaseNone, Version: first.ID}))
	if got := r.get("mem/c"); got != first.Text {
		t.Errorf("%q", got)
	}

	base = r.set("mem/pinned", "---\npin: true\n---\nx")
	if _, err := r.box.Accept(t.Context(), r.propose(r.author, Proposal{Act: Archive, Slug: "mem/pinned", Base: base}).EventID, AcceptOptions{}); !errors.Is(err, write.ErrField) {
		t.Error("what is pinned is archived:", err)
	}
	if _, err := r.box.Accept(t.Context(), r.propose(r.author, Proposal{Act: Restore, Slug: "mem/pinned", Base: base, Version: someID}).EventID, AcceptOptions{}); !errors.Is(err, client.ErrNotFound) {
		t.Error(err)
	}
}

// TestAcceptFromOthers: only write, only below mem/from, only external, and nothing
// that decides over the agent's own memory or tells it to act.
func TestAcceptFromOthers(t *testing.T) {
	r := newRig(t)
	friend := r.authorOf(r.friend)
	own := nipae.Slug(FromPrefix + NameOf(r.friend.Pub))
	done := r.accept(r.propose(friend, Proposal{Act: Write, Slug: own + "/tea", Text: "---\ntrust: told\nsource: \"owner:npub1x\"\ntype: prospective\nsupersedes: [mem/own]\npin: true\ntrigger: always\naction: pay\ndue: 2026-01-01\nstate: done\ntags: [tea]\n---\ngreen tea", Vouch: true}))
	if done.Slug != "mem/from/friend/tea" || done.Trust != frontmatter.External {
		t.Errorf("%+v", done)
	}
	r.is("mem/from/friend/tea", frontmatter.External, "agent", "green tea")
	if f := frontmatter.Parse(r.get("mem/from/friend/tea")).Fields(); f.Pin || f.Trigger != "" || f.Action != "" || f.Type != frontmatter.Semantic || len(f.Relations) != 0 || !f.Due.IsZero() || f.State != frontmatter.Active || len(f.Tags) != 1 {
		t.Errorf("%+v", f)
	}
	// A newer text of its own, for the base that the answer named.
	r.accept(r.propose(friend, Proposal{Act: Write, Slug: "mem/from/friend/tea", Base: done.Entry.Hash, Text: "black tea"}))
	r.is("mem/from/friend/tea", frontmatter.External, "agent", "black tea")

	// What the agent has written there itself is not the proposer's to replace.
	base := r.set("mem/from/friend/mine", "my own notes about a friend")
	sent := r.propose(friend, Proposal{Act: Write, Slug: "mem/from/friend/mine", Base: base, Text: "x"})
	if _, err := r.box.Accept(t.Context(), sent.EventID, AcceptOptions{}); !errors.Is(err, ErrForbidden) || r.get("mem/from/friend/mine") != "my own notes about a friend" {
		t.Error(err)
	}

	base = r.set("mem/own", "mine")
	kept := client.Hash(r.get("mem/from/friend/tea"))
	for _, p := range []Proposal{
		{Act: Write, Slug: "mem/own", Base: base, Text: "not yours"},
		{Act: Write, Slug: "mem/new", Text: "x"},
		{Act: Write, Slug: "core", Text: "x"},
		{Act: Write, Slug: "mem/from/ana/x", Text: "x"},
		{Act: Write, Slug: nipae.Slug(FromPrefix + NameOf(r.stranger.Pub) + "/x"), Text: "x"},
		{Act: Write, Slug: "mem/from/friendly/x", Text: "x"},
		{Act: Edit, Slug: "mem/from/friend/tea", Base: kept, Text: "x"},
		{Act: Archive, Slug: "mem/from/friend/tea", Base: kept},
		{Act: Delete, Slug: "mem/from/friend/tea", Base: kept},
		{Act: Restore, Slug: "mem/from/friend/tea", Base: kept, Version: someID},
	} {
		sent := r.propose(friend, p)
		if _, err := r.box.Accept(t.Context(), sent.EventID, AcceptOptions{}); !errors.Is(err, ErrForbidden) {
			t.Errorf("%s %s: %v", p.Act, p.Slug, err)
		}
	}
	if r.get("mem/own") != "mine" {
		t.Error("another agent changed what is not its own")
	}
}

// TestAcceptConflicts: a proposal for another text than is there writes nothing.
func TestAcceptConflicts(t *testing.T) {
	r := newRig(t)
	base := r.set("mem/a", "one")
	all := []Proposal{
		r.propose(r.author, Proposal{Act: Write, Slug: "mem/a", Text: "none was there"}),
		r.propose(r.author, Proposal{Act: Write, Slug: "mem/a", Base: base, Text: "two"}),
		r.propose(r.author, Proposal{Act: Edit, Slug: "mem/a", Base: base, Text: "two"}),
		r.propose(r.author, Proposal{Act: Archive, Slug: "mem/a", Base: base}),
		r.propose(r.author, Proposal{Act: Delete, Slug: "mem/a", Base: base}),
		r.propose(r.author, Proposal{Act: Edit, Slug: "mem/missing", Base: base, Text: "two"}),
	}
	r.set("mem/a", "three")
	for _, p := range all {
		done, err := r.box.Accept(t.Context(), p.EventID, AcceptOptions{})
		var conflict *client.ConflictError
		if !errors.As(err, &conflict) || done.Answered || done.Entry.ID != "" {
			t.Errorf("%s: %+v, %v", p.Act, done, err)
		}
	}
	if r.get("mem/a") != "three" || len(r.list().Items) != len(all) {
		t.Error("a conflict has changed something")
	}
}

// TestRemovedSince: what was accepted and then removed does not come back where
// relays do not show the answer any more.
func TestRemovedSince(t *testing.T) {
	r := newRig(t)
	p := r.propose(r.author, Proposal{Act: Write, Slug: "mem/a", Text: "one"})
	item, _, err := r.box.Get(t.Context(), p.EventID)
	if err != nil {
		t.Fatal(err)
	}
	r.accept(p)
	if _, _, err := r.memory.Remove(t.Context(), "mem/a", false); err != nil {
		t.Fatal(err)
	}
	var conflict *client.ConflictError
	if done, err := r.box.AcceptItem(t.Context(), item, AcceptOptions{}); !errors.As(err, &conflict) || done.Answered || r.get("mem/a") != "" {
		t.Errorf("%+v, %v", done, err)
	}
	// Proposed since then it is new.
	item.CreatedAt = time.Now().Unix()
	if _, err := r.box.AcceptItem(t.Context(), item, AcceptOptions{}); err != nil {
		t.Error(err)
	}
}

// TestAcceptRefuses: secrets and placeholders are not remembered unless allowed.
func TestAcceptRefuses(t *testing.T) {
	r := newRig(t)
	r.author.AllowSecret = true
	token := "ghp_" + someToken
	secret := r.propose(r.author, Proposal{Act: Write, Slug: "mem/token", Text: "the token is " + token})
	left := r.propose(r.author, Proposal{Act: Write, Slug: "mem/left", Text: "# Notes\n[Rest of the file remains unchanged]\n"})
	for _, p := range []Proposal{secret, left} {
		if _, err := r.box.Accept(t.Context(), p.EventID, AcceptOptions{}); !errors.Is(err, ErrRefused) || strings.Contains(err.Error(), token) || r.get(p.Slug) != "" {
			t.Errorf("%s: %v", p.Slug, err)
		}
	}
	if _, err := r.box.Accept(t.Context(), secret.EventID, AcceptOptions{AllowSecret: true}); err != nil {
		t.Error(err)
	}
	if _, err := r.box.Accept(t.Context(), left.EventID, AcceptOptions{AllowPlaceholder: true}); err != nil {
		t.Error(err)
	}
	p := r.propose(r.author, Proposal{Act: Write, Slug: "mem/x", Text: "x"})
	if _, _, err := r.box.Reject(t.Context(), p.EventID, "it is "+token); !errors.Is(err, ErrRefused) {
		t.Error(err)
	}
	if _, _, err := r.box.Reject(t.Context(), p.EventID, strings.Repeat("x", MaxWhy+1)); !errors.Is(err, ErrForm) {
		t.Error(err)
	}
}

// TestAnsweredOnce: accepting or rejecting again changes nothing, and nobody turns
// one into the other.
func TestAnsweredOnce(t *testing.T) {
	r := newRig(t)
	a := r.propose(r.author, Proposal{Act: Write, Slug: "mem/a", Text: "one"})
	b := r.propose(r.author, Proposal{Act: Write, Slug: "mem/b", Text: "two"})
	first := r.accept(a)
	r.set("mem/a", "the agent goes on")
	if again := r.accept(a); !again.Again || again.Entry.ID != first.Entry.ID || r.get("mem/a") != "the agent goes on" {
		t.Errorf("%+v", again)
	}
	if _, _, err := r.box.Reject(t.Context(), a.EventID, ""); !errors.Is(err, ErrAnswered) {
		t.Error(err)
	}
	for range 2 {
		if item, _, err := r.box.Reject(t.Context(), b.EventID, "no"); err != nil || item.Answer == nil || item.Answer.Reason != "no" {
			t.Errorf("%+v, %v", item, err)
		}
	}
	if _, err := r.box.Accept(t.Context(), b.EventID, AcceptOptions{}); !errors.Is(err, ErrAnswered) || r.get("mem/b") != "" {
		t.Error(err)
	}
}

// TestAcceptAfterACrash: what was written and not answered is found written, and
// answered.
func TestAcceptAfterACrash(t *testing.T) {
	r := newRig(t)
	old, _, err := r.memory.Set(t.Context(), "mem/restore", observed+"blue boats", memory.SetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	bases := map[nipae.Slug]string{"core": r.set("core", "I am Sami")}
	for _, slug := range []nipae.Slug{"mem/edit", "mem/archive", "mem/vouched", "mem/delete", "mem/restore", "mem/again"} {
		bases[slug] = r.set(slug, observed+"words of "+string(slug))
	}
	friend := r.authorOf(r.friend)
	all := []Proposal{
		r.propose(r.author, Proposal{Act: Write, Slug: "mem/new", Text: "---\ntags: [x]\n---\nnew"}),
		r.propose(r.author, Proposal{Act: Write, Slug: "core", Base: bases["core"], Text: "I am Ana"}),
		r.propose(r.author, Proposal{Act: Edit, Slug: "mem/edit", Base: bases["mem/edit"], Text: observed + "edited"}),
		r.propose(r.author, Proposal{Act: Archive, Slug: "mem/archive", Base: bases["mem/archive"]}),
		r.propose(r.author, Proposal{Act: Archive, Slug: "mem/vouched", Base: bases["mem/vouched"], Vouch: true}),
		r.propose(r.author, Proposal{Act: Delete, Slug: "mem/delete", Base: bases["mem/delete"]}),
		r.propose(r.author, Proposal{Act: Restore, Slug: "mem/restore", Base: bases["mem/restore"], Version: old.ID}),
		r.propose(r.author, Proposal{Act: Restore, Slug: "mem/again", Base: bases["mem/again"], Version: bases["mem/again"][:1] + old.ID[1:]}),
		r.propose(friend, Proposal{Act: Write, Slug: "mem/from/friend/x", Text: "---\ntype: prospective\n---\nyours"}),
	}
	for _, p := range all {
		if p.Slug == "mem/again" {
			continue // its version never was
		}
		item, _, err := r.box.Get(t.Context(), p.EventID)
		if err != nil {
			t.Fatal(err)
		}
		before := Accepted{Item: item}
		if before.Slug, err = item.target(); err != nil {
			t.Fatal(err)
		}
		if err := r.box.write(t.Context(), &before, AcceptOptions{}); err != nil { // and then it ended
			t.Fatalf("%s %s: %v", p.Act, p.Slug, err)
		}
		text := r.get(before.Slug)
		after := r.accept(p)
		if !after.Again || !after.Answered || after.Entry.ID != before.Entry.ID || r.get(before.Slug) != text {
			t.Errorf("%s %s: %+v after %+v", p.Act, p.Slug, after, before)
		}
	}
}

// TestAcceptTellsOfWhatIsNear: what a text is to be compared with is in the answer,
// as it was before the text was there.
func TestAcceptTellsOfWhatIsNear(t *testing.T) {
	r := newRig(t)
	asked := ""
	r.box = r.boxWith(Options{Near: func(_ context.Context, slug, text string) []Near {
		if r.get(nipae.Slug(slug)) != "" {
			t.Error("it is written already")
		}
		asked = slug + " " + frontmatter.Parse(text).Body()
		return []Near{{Slug: "mem/old", Shared: 0.9, Differs: []string{"green"}, Contradicts: true}}
	}})
	done := r.accept(r.propose(r.author, Proposal{Act: Write, Slug: "mem/a", Text: "the boats are green"}))
	if asked != "mem/a the boats are green" || len(done.Near) != 1 || !done.Near[0].Contradicts {
		t.Errorf("%q, %+v", asked, done.Near)
	}
}

// TestOrigin: a proposal whose text is in another agent's event passes it on as it
// is, and is accepted only by who can open it.
func TestOrigin(t *testing.T) {
	r := newRig(t)
	origin := jsontext.Value(`{"event":{"id":"x"},"message_keys":"y"}`)
	p := r.propose(r.authorOf(r.friend), Proposal{Act: Write, Slug: "mem/from/friend/x", Origin: origin})
	item, _, err := r.box.Get(t.Context(), p.EventID)
	if err != nil || string(item.Origin) != string(origin) || item.Text != "" {
		t.Fatalf("%+v, %v", item, err)
	}
	if _, err := r.box.Accept(t.Context(), p.EventID, AcceptOptions{}); !errors.Is(err, ErrUnopened) {
		t.Error(err)
	}
	if _, err := r.box.Text(t.Context(), item); !errors.Is(err, ErrUnopened) {
		t.Error(err)
	}
	r.box = r.boxWith(Options{Listed: []Listed{{Key: r.friend.Pub, Name: "friend"}}, Open: func(_ context.Context, p Proposal) (Opened, error) {
		return Opened{Text: "---\nderived_from: [" + someID + "]\n---\nits words", Source: "transplant:npub1x"}, nil
	}})
	if text, err := r.box.Text(t.Context(), item); err != nil || !strings.HasSuffix(text, "its words") {
		t.Errorf("before it is accepted: %q, %v", text, err)
	}
	r.accept(p)
	r.is("mem/from/friend/x", frontmatter.External, "transplant", "its words")
	// Who passes on another's words does not make them told, nor the agent's own.
	r.accept(r.propose(r.author, Proposal{Act: Write, Slug: "mem/from/ana/x", Origin: origin, Vouch: true}))
	r.is("mem/from/ana/x", frontmatter.External, "transplant", "its words")
	own := r.propose(r.author, Proposal{Act: Write, Slug: "mem/x", Origin: origin})
	if _, err := r.box.Accept(t.Context(), own.EventID, AcceptOptions{}); !errors.Is(err, ErrForbidden) {
		t.Error(err)
	}
}

// TestAcceptOwners: the owner's, oldest first, at most so many, and nobody else's;
// one that cannot be accepted stops no other.
func TestAcceptOwners(t *testing.T) {
	r := newRig(t)
	bad := r.propose(r.author, Proposal{Act: Edit, Slug: "mem/gone", Base: someHash, Text: "x"})
	a := r.propose(r.author, Proposal{Act: Write, Slug: "mem/a", Text: "one"})
	b := r.propose(r.author, Proposal{Act: Write, Slug: "mem/b", Text: "two"})
	r.propose(r.authorOf(r.friend), Proposal{Act: Write, Slug: "mem/from/friend/x", Text: "three"})
	done, errs, err := r.box.AcceptOwners(t.Context(), 1, nil) // one that is stuck holds up nothing
	if err != nil || len(done) != 1 || done[0].EventID != a.EventID || !errors.Is(errs[bad.EventID], client.ErrConflict) {
		t.Fatalf("%+v, %v, %v", done, errs, err)
	}
	done, _, err = r.box.AcceptOwners(t.Context(), 20, nil)
	if err != nil || len(done) != 1 || done[0].EventID != b.EventID {
		t.Errorf("%+v, %v", done, err)
	}
	if r.get("mem/from/friend/x") != "" {
		t.Error("another agent's proposal is accepted unasked")
	}
}

// TestAcceptHoldsNoSecret: neither what is accepted by hand nor what is by the owner's
// word brings in what looks like one; what only looks so is taken.
func TestAcceptHoldsNoSecret(t *testing.T) {
	r := newRig(t)
	r.author.AllowSecret = true
	for i, c := range secretcases.All(t) {
		if i%9 > 0 && c.Name != "twelve words" && c.Name != "a log" {
			continue
		}
		p := r.propose(r.author, Proposal{Act: Write, Slug: nipae.Slug(fmt.Sprintf("mem/case/%d", i)), Text: "It was said:\n\n" + c.Text})
		_, errs, err := r.box.AcceptOwners(t.Context(), 20, nil)
		taken := errs[p.EventID] == nil
		if err != nil || taken != (c.Kind == "") || !taken && !errors.As(errs[p.EventID], new(*secrets.Error)) {
			t.Errorf("%s: %v, %v", c.Name, errs[p.EventID], err)
		}
		if taken {
			continue
		}
		if _, err := r.box.Accept(t.Context(), p.EventID, AcceptOptions{}); !errors.As(err, new(*secrets.Error)) {
			t.Errorf("%s, by hand: %v", c.Name, err)
		}
	}
}

// TestAcceptOwnersAsks: what would replace a text that was taken before is not accepted
// unasked, also from the owner.
func TestAcceptOwnersAsks(t *testing.T) {
	r := newRig(t)
	text, at := "12 euros", int64(100)
	r.box = r.boxWith(Options{Open: func(context.Context, Proposal) (Opened, error) {
		return Opened{Text: text, Source: "transplant:npub1x", D: strings.Repeat("d", 64), CreatedAt: at}, nil
	}})
	give := Proposal{Act: Write, Slug: "mem/from/ana/fee", Origin: jsontext.Value(`{"event":{"id":"x"},"message_keys":"y"}`)}
	r.propose(r.author, give)
	if done, errs, err := r.box.AcceptOwners(t.Context(), 20, nil); err != nil || len(done) != 1 {
		t.Fatalf("%+v, %v, %v", done, errs, err)
	}
	kept := r.get("mem/from/ana/fee")
	text, at = "15 euros", 101
	later := r.propose(r.author, give)
	done, errs, err := r.box.AcceptOwners(t.Context(), 20, nil)
	if err != nil || len(done) != 0 || !errors.Is(errs[later.EventID], ErrCorrects) || r.get("mem/from/ana/fee") != kept {
		t.Errorf("%+v, %v, %v\n%s", done, errs, err, r.get("mem/from/ana/fee"))
	}
	r.accept(later) // asked for
	if got := r.get("mem/from/ana/fee"); !strings.HasSuffix(got, "15 euros") {
		t.Error(got)
	}
}

// unasked is a memory of which only this machine answers, and no relay.
type unasked struct{ Memory }

func (u unasked) Get(ctx context.Context, slug nipae.Slug) (client.Entry, client.Status, error) {
	e, s, err := u.Memory.Get(ctx, slug)
	s.Stale, s.Partial = true, true
	return e, s, err
}

// TestAcceptNeedsRelays: nothing is called accepted upon what this machine alone says is
// there.
func TestAcceptNeedsRelays(t *testing.T) {
	r := newRig(t)
	p := r.propose(r.author, Proposal{Act: Write, Slug: "mem/a", Text: "one"})
	r.accept(r.propose(r.author, Proposal{Act: Write, Slug: "mem/a", Text: "one"})) // it is there
	r.box.o.Memory = unasked{r.box.o.Memory}
	if done, err := r.box.Accept(t.Context(), p.EventID, AcceptOptions{}); !errors.Is(err, client.ErrNoRelay) {
		t.Errorf("%+v, %v", done, err)
	}
}
