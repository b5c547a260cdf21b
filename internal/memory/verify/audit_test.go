package verify

import (
	"context"
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/e2e/testkeys"
	memorystate "engramd/internal/memory/state"
	"engramd/internal/protocol/writerlog"
	"engramd/nips/nipae"
)

// shows is a memory of which relays show what a test says.
type shows struct {
	agent, owner testkeys.Key
	relays       []memory.Shown
	err          error
	known        func(string) bool
}

func (s *shows) Agent() string { return s.agent.Pub }
func (s *shows) Owner() string { return s.owner.Pub }
func (s *shows) Conversation() nipae.ConversationKey {
	k, err := nipae.DeriveConversationKey(s.agent.Secret, s.owner.Pub)
	if err != nil {
		panic(err)
	}
	return k
}
func (s *shows) Shows(_ context.Context, known func(string) bool) ([]memory.Shown, error) {
	s.known = known
	return s.relays, s.err
}

// written seals texts as a chained log of the agent for an owner, one second
// apart.
func written(t *testing.T, agent, owner testkeys.Key, slugs ...nipae.Slug) (events []*nostr.Event) {
	t.Helper()
	k, err := nipae.DeriveConversationKey(agent.Secret, owner.Pub)
	if err != nil {
		t.Fatal(err)
	}
	var tree writerlog.Tree
	l := writerlog.Link{W: "0a1b2c3d"}
	for i, slug := range slugs {
		body, err := nipae.NewMemory(slug, "a text")
		if err != nil {
			t.Fatal(err)
		}
		l.N, l.T, l.Root = int64(i), 1_700_000_000+int64(i), tree.Root(int64(i))
		if body, err = body.WithMember(writerlog.Member, l.JSON()); err != nil {
			t.Fatal(err)
		}
		ev, err := nipae.Seal(k, body, nipae.Sealing{Secret: agent.Secret, Owner: owner.Pub, CreatedAt: l.T, Rand: rand.Reader})
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, ev)
		id, _ := writerlog.ParseID(ev.ID)
		tree.Append(id)
		l.Prev = ev.ID
	}
	return events
}

// sealedOld is an unchained event that is older than those of written.
func sealedOld(t *testing.T, agent, owner testkeys.Key) []*nostr.Event {
	t.Helper()
	k, err := nipae.DeriveConversationKey(agent.Secret, owner.Pub)
	if err != nil {
		t.Fatal(err)
	}
	body, err := nipae.NewMemory("mem/old", "a text")
	if err != nil {
		t.Fatal(err)
	}
	ev, err := nipae.Seal(k, body, nipae.Sealing{Secret: agent.Secret, Owner: owner.Pub, CreatedAt: 1_600_000_000, Rand: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	return []*nostr.Event{ev}
}

func whole(url string, heads ...*nostr.Event) memory.Shown {
	return memory.Shown{URL: url, Heads: heads, Whole: true, Kept: true, Promise: &client.History{Versions: 100, Days: 365},
		Status: client.RelayStatus{URL: url, Complete: true}}
}

func stateFor(t *testing.T, s *shows) *memorystate.State {
	t.Helper()
	state, err := memorystate.Open(t.Context(), memorystate.Pair{Agent: s.agent.Pub, Owner: s.owner.Pub, Conversation: s.Conversation()},
		memorystate.Options{Dir: t.TempDir(), Machine: func() (string, error) { return "here", nil }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { state.Close() })
	return state
}

var now = time.Unix(1_700_001_000, 0)

// TestRunRemembers: signatures that were checked are not asked for again, and a
// relay that shows less than once is found out by the state, not without.
func TestRunRemembers(t *testing.T) {
	m := &shows{agent: testkeys.New("agent"), owner: testkeys.New("owner")}
	events := written(t, m.agent, m.owner, "mem/a", "mem/b", "mem/c")
	m.relays = []memory.Shown{whole("A", events...), whole("B", events...)}
	state := stateFor(t, m)
	r, err := Run(t.Context(), m, state, now)
	if err != nil || r.Faults() != 0 || r.Events != 3 || len(r.Logs) != 1 || !r.Logs[0].Complete() || m.known(events[0].ID) {
		t.Fatalf("%+v, %v", r, err)
	}
	if r, err = Run(t.Context(), m, state, now); err != nil || !m.known(events[0].ID) || !m.known(events[2].ID) || m.known(r.Logs[0].W) {
		t.Errorf("%+v, %v", r, err)
	}
	m.relays[1].Heads = events[:2]
	for _, s := range []*memorystate.State{state, state, nil} {
		r, err = Run(t.Context(), m, s, now)
		if want := map[bool]int{true: 1, false: 0}[s != nil]; err != nil || r.Counts[writerlog.RolledBack] != want || s == nil && r.Counts[writerlog.Behind] != 1 {
			t.Errorf("state %v: %+v, %v", s != nil, r.Findings, err)
		}
	}
	m.relays[1].Heads = events
	if r, err = Run(t.Context(), m, state, now); err != nil || r.Faults() != 0 {
		t.Errorf("%+v, %v", r.Findings, err)
	}
}

// TestRunReplayed: what a relay replays of another pair, or of another agent, is
// counted and is no part of the log.
func TestRunReplayed(t *testing.T) {
	m := &shows{agent: testkeys.New("agent"), owner: testkeys.New("owner")}
	events := written(t, m.agent, m.owner, "mem/a", "mem/b")
	others := written(t, m.agent, testkeys.New("other"), "mem/a", "mem/b", "mem/c")
	strangers := written(t, testkeys.New("stranger"), m.owner, "mem/d")
	m.relays = []memory.Shown{whole("A", append(append(events, others...), strangers...)...)}
	r, err := Run(t.Context(), m, nil, now)
	if err != nil || r.Faults() != 0 || r.Events != 2 || r.Unreadable != 4 || r.Logs[0].N != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestRunOwn: what this machine wrote and no relay has is known by its state;
// certain to be missed is only what a relay said it has.
func TestRunOwn(t *testing.T) {
	m := &shows{agent: testkeys.New("agent"), owner: testkeys.New("owner")}
	events := written(t, m.agent, m.owner, "mem/a", "mem/b", "mem/c")
	state := stateFor(t, m)
	if err := state.Links.Begin(t.Context(), "", nil, zeros{}); err != nil {
		t.Fatal(err)
	}
	// The log of the state has the name of zeros: only its ids are compared here.
	if err := state.Links.Take(t.Context(), 3, func(i int, _ writerlog.Link) (memorystate.Sealed, error) {
		return memorystate.Sealed{ID: events[i].ID, D: events[i].Tags.GetD(), At: int64(events[i].CreatedAt)}, nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := state.Links.Took(t.Context(), map[string][]string{events[0].ID: nil, events[1].ID: nil}); err != nil {
		t.Fatal(err)
	}
	m.relays = []memory.Shown{whole("A")}
	if r, err := Run(t.Context(), m, state, now); err != nil || r.Counts[writerlog.Unsure] != 3 { // it shows nothing as old: it may be a new one
		t.Errorf("%+v, %v", r.Findings, err)
	}
	m.relays[0].Heads = sealedOld(t, m.agent, m.owner)
	r, err := Run(t.Context(), m, state, now)
	if err != nil || r.Counts[writerlog.Missing] != 2 || r.Counts[writerlog.Unsure] != 1 {
		t.Errorf("%+v, %v", r.Findings, err)
	}
	if r, err = Run(t.Context(), m, state, now.AddDate(1, 1, 0)); err != nil || r.Counts[writerlog.Dropped] != 3 { // older than what is promised
		t.Errorf("%+v, %v", r.Findings, err)
	}
	m.relays[0].Promise = nil
	if r, err = Run(t.Context(), m, state, now); err != nil || r.Counts[writerlog.Dropped] != 3 {
		t.Errorf("%+v, %v", r.Findings, err)
	}
	m.relays[0].Promise, m.relays[0].Kept = &client.History{Versions: 100}, false
	if r, err = Run(t.Context(), m, state, now); err != nil || r.Counts[writerlog.Unsure] != 3 {
		t.Errorf("%+v, %v", r.Findings, err)
	}
	// One that keeps no history that it shows has answered; one that took something
	// and shows nothing any more is found out by that.
	m.relays[0].Promise, m.relays[0].Without = nil, true
	if r, err = Run(t.Context(), m, state, now); err != nil || r.Counts[writerlog.Dropped] != 3 {
		t.Errorf("%+v, %v", r.Findings, err)
	}
	if err := state.Links.Took(t.Context(), map[string][]string{events[0].ID: {"A", "B"}}); err != nil {
		t.Fatal(err)
	}
	m.relays = []memory.Shown{whole("A"), {URL: "C"}}
	if r, err = Run(t.Context(), m, state, now); err != nil || r.Counts[writerlog.Missing] != 1 || r.Counts[writerlog.Unsure] != 2 || r.Findings[0].N != 0 {
		t.Errorf("%+v, %v", r.Findings, err)
	}
	m.err = client.ErrNoRelay
	if r, err = Run(t.Context(), m, state, now); !errors.Is(err, client.ErrNoRelay) || len(r.Relays) != 2 {
		t.Errorf("%+v, %v", r, err)
	}
}

// zeros is a source of what is not random.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }
