package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client/clienttest"
	"engramd/internal/e2e/relaytest"
	memorystate "engramd/internal/memory/state"
	"engramd/internal/protocol/wire"
)

// killer is a relay that can kill who asks it something, before it answers.
type killer struct {
	liar
	mu    sync.Mutex
	at    func(f wire.Frame, took bool) bool // where to kill; nil: nowhere
	cmd   *exec.Cmd
	took  bool // it took an event of who is to be killed
	ended bool // who asks is killed
	lost  []*nostr.Event
}

func newKiller(t *testing.T) (*killer, *machine) {
	t.Helper()
	k, agent := &killer{}, relaytest.NewKey(691)
	m := &machine{hookRig: newMachineOf(t, agent, clienttest.Start(t, &clienttest.Fake{Serve: k.serve})), key: agent}
	m.sets(m.ago(firstAgo), "mem/notes", firstText("mem/notes"))
	return k, m
}

func (k *killer) serve(c *clienttest.Conn) {
	for f, ok := c.Read(); ok; f, ok = c.Read() {
		if !k.shoots(f) {
			k.says(c, f)
		}
	}
}

// shoots kills who asks, if it is time.
func (k *killer) shoots(f wire.Frame) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.at == nil || k.ended {
		return k.ended
	}
	if k.ended = k.at(f, k.took); k.ended {
		_ = k.cmd.Process.Kill()
	}
	if f.Label == wire.LabelEvent {
		k.took = true
		if k.ended {
			k.Put(f.Event) // it is stored, and nobody hears of it
		}
	}
	return k.ended
}

// kills runs engramctl until the relay kills it.
func (k *killer) kills(m *machine, at func(f wire.Frame, took bool) bool, args ...string) {
	m.t.Helper()
	k.mu.Lock()
	k.at, k.took = at, false
	k.cmd = exec.Command("engramctl", args...)
	k.cmd.Env, k.cmd.Dir = append(relaytest.CleanEnv(), m.env...), m.folder
	stdin, err := k.cmd.StdinPipe() // open until it ends
	if err == nil {
		err = k.cmd.Start()
	}
	k.mu.Unlock()
	if err != nil {
		m.t.Fatal(err)
	}
	err = k.cmd.Wait()
	stdin.Close()
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.ended || err == nil {
		m.t.Fatalf("%v was not killed: %v", args, err)
	}
	k.at, k.ended = nil, false
}

// The points. A write is read back once the state has noted who took it, and before the
// copy has it.
func untold(f wire.Frame, _ bool) bool   { return f.Label == wire.LabelEvent }
func noted(f wire.Frame, took bool) bool { return f.Label == wire.LabelReq && took }
func settling(f wire.Frame, _ bool) bool {
	return f.Label == wire.LabelReq && slices.Contains(f.Filters[0].Kinds, 5)
}
func comparing(f wire.Frame, took bool) bool { return f.Label == wire.LabelReq && !settling(f, took) }

var setsNotes = []string{"mem", "set", "notes", newestText("mem/notes")}

// TestKilledKeepsWhatWasTaken kills engramctl between the steps of a write, of a comparison
// and of what follows. Once it has run again, the relay may lose everything: this machine
// has the newest text, and sends it again as it was signed.
func TestKilledKeepsWhatWasTaken(t *testing.T) {
	for name, c := range map[string]struct {
		before func(k *killer, m *machine)
		again  []string // what runs, before the relay loses everything
	}{
		"a relay took it, and nobody heard": {func(k *killer, m *machine) { k.kills(m, untold, setsNotes...) }, []string{"recall", newestWord}},
		"the same, beside a copy": {func(k *killer, m *machine) {
			m.ok("recall", firstWord)
			k.kills(m, untold, setsNotes...)
		}, []string{"recall", newestWord}},
		"the state has noted it": {func(k *killer, m *machine) { k.kills(m, noted, setsNotes...) }, nil},
		"the state has noted it, and the copy has it not": {func(k *killer, m *machine) {
			m.ok("recall", firstWord)
			k.kills(m, noted, setsNotes...)
		}, nil},
		"the copy has it, and the state too": {func(k *killer, m *machine) {
			k.kills(m, noted, setsNotes...)
			m.keepsThis()
			m.ok("recall", newestWord)
			copyTree(m.t, filepath.Join(m.dir, "kept", "state"), filepath.Join(m.dir, "state"))
		}, nil},
		"the copy compares with a relay that has nothing": {func(k *killer, m *machine) {
			m.sets(m.ago(newestAgo), "mem/notes", newestText("mem/notes"))
			m.ok("recall", newestWord)
			k.loses()
			k.kills(m, comparing, "mcp")
		}, nil},
		"what no relay shows is about to move into the state": {func(k *killer, m *machine) {
			m.sets(m.ago(newestAgo), "mem/notes", newestText("mem/notes"))
			m.ok("recall", newestWord)
			k.loses()
			k.kills(m, settling, "mcp")
		}, nil},
		"it has moved, and the copy is deleted": {func(k *killer, m *machine) {
			m.sets(m.ago(newestAgo), "mem/notes", newestText("mem/notes"))
			m.ok("recall", newestWord)
			k.loses()
			k.kills(m, settling, "mcp")
			m.settles()
			if err := os.RemoveAll(filepath.Join(m.dir, "cache")); err != nil {
				m.t.Fatal(err)
			}
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k, m := newKiller(t)
			c.before(k, m)
			if c.again != nil {
				m.ok(c.again...)
			}
			k.sentAgain(m)
		})
	}
}

// ok runs engramctl, which must succeed.
func (m *machine) ok(args ...string) string {
	m.t.Helper()
	got := m.run(nil, args...)
	if got.code != 0 {
		m.t.Fatalf("%v: %+v", args, got)
	}
	return got.stdout
}

// settles has a server run until the state has what no relay shows.
func (m *machine) settles() {
	m.t.Helper()
	m.serves(func(*sdk.ClientSession) {
		for deadline := time.Now().Add(relaytest.Patience); time.Now().Before(deadline); {
			kept := 0
			m.state(func(s *memorystate.State) {
				all, _ := s.Heads.Kept(m.t.Context())
				kept = len(all)
			})
			if kept > 0 {
				return
			}
		}
		m.t.Error("the state never has it")
	})
}

// loses has the relay lose everything.
func (k *killer) loses() {
	for _, ev := range k.All() {
		k.lost = append(k.lost, ev)
	}
	k.Hoard = clienttest.Hoard{}
}

// sentAgain has the relay lose everything, and looks for the newest text.
func (k *killer) sentAgain(m *machine) {
	m.t.Helper()
	k.loses()
	if got := m.ok("mem", "get", "notes"); got != newestText("mem/notes") {
		m.t.Errorf("it has %q", got)
	}
	m.ok("mem", "set", "notes", "anew")
	at := slices.IndexFunc(k.All(), func(ev *nostr.Event) bool { return ev.Tags.GetD() == m.address("mem/notes") })
	again := k.All()[at]
	if !slices.ContainsFunc(k.lost, func(ev *nostr.Event) bool { return equalEvents(ev, again) }) || !strings.Contains(*m.opens(again), newestWord) {
		m.t.Errorf("it sent %v", again)
	}
}
