package snapshots

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client/memory"
	"engramd/internal/e2e/relaytest"
	"engramd/internal/snapshot"
	"engramd/internal/snapshot/bundle"
	"engramd/nips/nipae"
)

// captured is a capture of these heads.
func captured(heads ...*nostr.Event) *Capture {
	c := &Capture{Agent: relaytest.Agent().Pub}
	c.events[bundle.Heads] = heads
	return c
}

// bundled is a verified bundle of them, by somebody.
func bundled(t *testing.T, consistency, by string, heads ...*nostr.Event) *bundle.Bundle {
	t.Helper()
	w, err := bundle.Write(t.Context(), t.TempDir(), captured(heads...), bundle.Options{Agent: relaytest.Agent().Pub,
		CreatedAt: time.Unix(1_700_000_000, 0), CreatedBy: by, Consistency: consistency, Software: "test"})
	if err != nil {
		t.Fatal(err)
	}
	b, _, err := bundle.Open(t.Context(), w.Path, bundle.VerifyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestPlanLeavesAloneWhatIsNotTold: a bundle that may lack memory, because it
// is an owner's or because a relay was silent, removes nothing that it does not
// tell of.
func TestPlanLeavesAloneWhatIsNotTold(t *testing.T) {
	agent, owner, other := relaytest.Agent(), relaytest.Owner(), relaytest.Stranger()
	then := relaytest.Memory(agent, owner.Pub, "mem/a", "then", 10)
	now := captured(
		relaytest.Memory(agent, owner.Pub, "mem/a", "now", 20),
		relaytest.Memory(agent, owner.Pub, "mem/new", "now", 20),
		relaytest.Memory(agent, other.Pub, "mem/theirs", "now", 20))
	keys, err := bundle.KeysOf(agent.Secret, agent.Pub)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		consistency, by string
		removed, untold int
	}{
		{bundle.Transaction, bundle.ByCLI, 2, 0},
		{bundle.StableListing, bundle.ByAgent, 2, 0},
		{bundle.StableListing, bundle.ByCLI, 1, 1},
		{bundle.PartialListing, bundle.ByAgent, 0, 2},
		{bundle.PartialListing, bundle.ByAutoPreRestore, 0, 2},
		{bundle.PartialListing, bundle.ByCLI, 0, 2},
	} {
		p, err := NewPlan(t.Context(), bundled(t, tt.consistency, tt.by, then), now, keys)
		if err != nil {
			t.Fatal(err)
		}
		count := map[snapshot.Op]int{}
		for _, a := range p.Actions {
			count[a.Op]++
		}
		if count[snapshot.Write] != 1 || count[snapshot.Tombstone] != tt.removed || p.Untold != tt.untold {
			t.Errorf("%s by %s: %v, %d not told of", tt.consistency, tt.by, count, p.Untold)
		}
	}
}

// TestPlanLeavesAloneWhatCannotBeRead: that an engram in the bundle does not
// open does not say that there was nothing.
func TestPlanLeavesAloneWhatCannotBeRead(t *testing.T) {
	agent, owner := relaytest.Agent(), relaytest.Owner()
	is := relaytest.Memory(agent, owner.Pub, "mem/a", "now", 20)
	// Another slug's text at this address: it decrypts, and does not fit.
	wrong := relaytest.Memory(agent, owner.Pub, "mem/b", "then", 10)
	broken := relaytest.Sign(agent, kindEngram, 10, wrong.Content, nostr.Tag{"d", is.Tags.GetD()}, nostr.Tag{"p", owner.Pub})
	keys, err := bundle.KeysOf(agent.Secret, agent.Pub)
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPlan(t.Context(), bundled(t, bundle.Transaction, bundle.ByCLI, broken), captured(is), keys)
	if err != nil || len(p.Actions) != 0 || p.Unread != 1 {
		t.Errorf("broken in the bundle: %+v, %v", p, err)
	}
	p, err = NewPlan(t.Context(), bundled(t, bundle.Transaction, bundle.ByCLI, relaytest.Memory(agent, owner.Pub, "mem/a", "then", 10)), captured(broken), keys)
	if err != nil || len(p.Actions) != 1 || p.Actions[0].Op != snapshot.Write || p.Unread != 1 {
		t.Errorf("broken there: %+v, %v", p, err)
	}
	if _, err := p.Steps(t.Context(), newClient(t), changed{}, captured(broken), keys, nil); !errors.Is(err, bundle.ErrChanged) {
		t.Errorf("a bundle that does not have it any more: %v", err)
	}
}

// changed is a bundle that has nothing any more.
type changed struct{}

func (changed) Events(context.Context, bundle.Class, func([]byte) error) error { return nil }

// TestStepsKeepWhatStays: what a snapshot has with an expiry gets none over a head that has
// none, and the later one over a head that expires; the plan says so, and the text does.
func TestStepsKeepWhatStays(t *testing.T) {
	agent, owner := relaytest.Agent(), relaytest.Owner()
	keys, err := bundle.KeysOf(agent.Secret, agent.Pub)
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(t)
	m, err := memory.AsAgent(c, owner.Pub)
	if err != nil {
		t.Fatal(err)
	}
	const soon, late, over = 4_000_000_000, 4_000_003_600, 1_600_000_000
	made := func(slug nipae.Slug, text string, at, expires int64) *nostr.Event {
		t.Helper()
		body, err := nipae.NewMemory(slug, text)
		if err != nil {
			t.Fatal(err)
		}
		events, err := m.Compose(t.Context(), []memory.Draft{{Body: body, At: at, Expires: expires}})
		if err != nil {
			t.Fatal(err)
		}
		return events[0]
	}
	gone, err := nipae.NewTombstone("mem/gone")
	if err != nil {
		t.Fatal(err)
	}
	tomb, err := m.Compose(t.Context(), []memory.Draft{{Body: gone, At: 20, Expires: late}})
	if err != nil {
		t.Fatal(err)
	}
	b := bundled(t, bundle.Transaction, bundle.ByCLI, made("mem/stays", "then", 10, soon), made("mem/extended", "then", 10, soon), made("mem/missing", "then", 10, soon),
		made("mem/gone", "then", 10, soon), made("mem/lifted", "then", 10, 0), made("mem/over", "then", 10, over), made("mem/over-extended", "then", 10, over))
	now := captured(made("mem/stays", "now", 20, 0), made("mem/extended", "now", 20, late), tomb[0], made("mem/lifted", "now", 20, soon), made("mem/over", "now", 20, 0), made("mem/over-extended", "now", 20, late))
	p, err := NewPlan(t.Context(), b, now, keys)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range p.Actions {
		if stays := a.Slug == "mem/stays" || a.Slug == "mem/over"; a.Op != snapshot.Write || (a.Reason == "without its expiry: what is there has none") != stays {
			t.Errorf("%s: %s %q", a.Slug, a.Op, a.Reason)
		}
	}
	steps, err := p.Steps(t.Context(), c, b, now, keys, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := map[nipae.Slug]int64{}
	for _, s := range steps {
		key, _ := keys(agent.Pub, owner.Pub)
		e, err := nipae.Open(key, agent.Pub, owner.Pub, s.Event)
		if err != nil {
			t.Fatal(err)
		}
		at, _ := nipae.Expiration(s.Event)
		got[e.Slug()] = at
		if text, _ := e.Body.Text(); strings.Contains(text, "_claimed") || strings.Contains(text, "expires: ") != (at > 0) {
			t.Errorf("%s: %q", e.Slug(), text)
		}
	}
	if want := (map[nipae.Slug]int64{"mem/stays": 0, "mem/extended": late, "mem/missing": soon, "mem/gone": late, "mem/lifted": 0, "mem/over-extended": late}); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
