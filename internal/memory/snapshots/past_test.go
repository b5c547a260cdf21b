package snapshots

import (
	"slices"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/e2e/relaytest"
	"engramd/internal/snapshot/bundle"
)

func second(at int64) time.Time { return time.Unix(at, 0).UTC() }

func ids(events []*nostr.Event) (out []string) {
	for _, ev := range events {
		out = append(out, ev.ID)
	}
	slices.Sort(out)
	return out
}

// TestRewound: of each address that is there the newest version of then; what
// is newer is neither head nor history, and where nothing of then is kept it is
// counted.
func TestRewound(t *testing.T) {
	agent, owner := relaytest.Agent(), relaytest.Owner()
	memory := func(slug string, at int64) *nostr.Event { return relaytest.Memory(agent, owner.Pub, slug, "x", at) }
	aOld, aThen, aNow := memory("mem/a", 10), memory("mem/a", 20), memory("mem/a", 30)
	b, later, gone := memory("mem/b", 15), memory("mem/new", 40), memory("mem/gone", 5)
	deletion := relaytest.Deletion(agent, 50, nostr.Tag{"e", gone.ID})
	list := map[string]*nostr.Event{}
	for _, ev := range []*nostr.Event{aNow, b, later, deletion} {
		list[ev.ID] = ev
	}
	past := []*nostr.Event{aThen, aOld, gone}
	for _, tt := range []struct {
		name     string
		noPast   bool
		at       int64
		heads    []*nostr.Event
		history  int
		unknown  int
		isPartly bool
	}{
		{"then", false, 25, []*nostr.Event{aThen, b}, 1, 1, false},
		{"in the beginning", false, 12, []*nostr.Event{aOld}, 0, 2, false},
		{"after the last change", false, 60, []*nostr.Event{aNow, b, later}, 2, 0, false},
		{"no history anywhere", true, 25, []*nostr.Event{b}, 0, 2, true},
		{"no history, and nothing changed since", true, 60, []*nostr.Event{aNow, b, later}, 0, 0, false},
	} {
		status := client.RelayStatus{URL: "ws://r", Complete: true}
		versions := past
		if tt.noPast {
			status.Err, versions = client.ErrNoHistory, nil
		}
		tk := &taking{agent: agent.Pub, c: newClient(t), at: second(tt.at), order: []string{"ws://r"}, relays: map[string]client.RelayStatus{"ws://r": status}}
		c, err := tk.captured(list, versions, second(100))
		if err != nil {
			t.Fatal(err)
		}
		got, want := ids(c.events[bundle.Heads]), ids(tt.heads)
		if !slices.Equal(got, want) || len(c.events[bundle.History]) != tt.history || c.Unknown != tt.unknown || c.Status.Partial != tt.isPartly || !c.AsOf.Equal(second(tt.at)) {
			t.Errorf("%s: heads %.8s, want %.8s; %d versions, %d unknown, partial %v", tt.name, got, want, len(c.events[bundle.History]), c.Unknown, c.Status.Partial)
		}
		if n := len(c.events[bundle.Deletions]); (n == 1) != (tt.at >= 50) || c.LeftOut != 0 {
			t.Errorf("%s: %d deletions, %d left out", tt.name, n, c.LeftOut)
		}
	}
	tk := &taking{agent: agent.Pub, c: newClient(t), at: second(25), whole: true, order: []string{"ws://r"},
		relays: map[string]client.RelayStatus{"ws://r": {URL: "ws://r", Err: client.ErrNoHistory, Complete: true}}}
	if _, err := tk.captured(list, nil, second(100)); err == nil {
		t.Error("a whole one without history, where something changed since")
	}
}

// TestRefusals names every text that would be refused.
func TestRefusals(t *testing.T) {
	agent, owner := relaytest.Agent(), relaytest.Owner()
	keys, err := bundle.KeysOf(agent.Secret, agent.Pub)
	if err != nil {
		t.Fatal(err)
	}
	then := []*nostr.Event{relaytest.Memory(agent, owner.Pub, "mem/a", "bad one", 10), relaytest.Memory(agent, owner.Pub, "mem/b", "fine", 10),
		relaytest.Memory(agent, owner.Pub, "mem/c", "bad two", 10)}
	b := bundled(t, bundle.Transaction, bundle.ByCLI, then...)
	plan, err := NewPlan(t.Context(), b, captured(), keys)
	if err != nil {
		t.Fatal(err)
	}
	why, err := plan.Refusals(t.Context(), b, captured(), keys, func(_, text string) error {
		if text == "fine" {
			return nil
		}
		return bundle.ErrChanged
	})
	if err != nil || len(why) != 2 || why[0].Error()[:5] != "mem/a" || why[1].Error()[:5] != "mem/c" {
		t.Errorf("%v, %v", why, err)
	}
}
