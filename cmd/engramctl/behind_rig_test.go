package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/e2e/relaytest"
	"engramd/nips/nipae"
)

// What a relay shows of memories whose newest version is known.
const (
	asItWas      = "as it was"
	olderShown   = "older"
	noneShown    = "none" // of these memories; it shows others
	allGone      = "all gone"
	oneOfTwo     = "one of two relays"
	blockedThere = "blocked" // its operator rolled it back
	deletedThere = "deleted elsewhere"
	expiredThere = "expired"
	prunedThere  = "pruned by retention"
	noHistory    = "relay without history"
)

var conditions = []string{asItWas, olderShown, noneShown, allGone, oneOfTwo, blockedThere, deletedThere, expiredThere, prunedThere, noHistory}

// How a machine knows of the newest versions.
const (
	wroteIt    = "this machine wrote it"
	anotherDid = "another did"
	copyKnows  = "only the copy knows"
	stateKnows = "only the state knows"
	stateIDs   = "only the state knows, the ids alone" // the copy was deleted that had the events
	newMachine = "new machine"
)

var knowledges = []string{wroteIt, anotherDid, copyKnows, stateKnows, stateIDs, newMachine}

// The texts of a memory: the first version and the newest. Each has a word of its own.
const (
	firstWord  = "ochre"
	newestWord = "vermilion"
)

func firstText(slug string) string  { return "The gate of " + slug + " is " + firstWord + "." }
func newestText(slug string) string { return "The gate of " + slug + " is " + newestWord + "." }

// When the versions are of, before now: the first ones, and the newest. A relay takes
// the word of a clock that is off by ten minutes, and a version is missed once it is half
// a minute old.
const (
	firstAgo  = 7 * time.Minute
	newestAgo = 4 * time.Minute
)

// machine is an agent's machine, as it was before the relays were looked at again.
type machine struct {
	*hookRig
	knows  string
	key    relaytest.Key
	mortal bool // its memories expire
	newest map[string]*nostr.Event
	then   string // a time after the first versions and before the newest
}

// lostTable is a relay with the memory of agents, each of which has a machine that knows
// of it in another way.
type lostTable struct {
	t          *testing.T
	dir, host  string
	relay      *relaytest.Child // nil: it does not run
	near       string           // the URL of a relay that always shows the newest
	machines   []*machine
	expires    time.Time
	seeding    sync.WaitGroup
	rollbackTo map[string]string // snapshots of the first versions, by the agent
}

// newLostTable gives memories to the relay: those of slugs, and the core.
func newLostTable(t *testing.T, slugs ...string) *lostTable {
	t.Helper()
	l := &lostTable{t: t, dir: t.TempDir(), host: relaytest.OwnAddress(), rollbackTo: map[string]string{}}
	l.start()
	for _, knows := range knowledges {
		l.machine(knows, false)
		if knows == anotherDid || knows == copyKnows || knows == newMachine {
			l.machine(knows, true)
		}
	}
	slugs = append([]string{"core"}, slugs...)
	l.each(func(m *machine) {
		m.writer().sets(m.ago(firstAgo+time.Minute), "mem/elsewhere", "The gull of elsewhere.")
	})
	l.keeps("none")
	l.each(func(m *machine) {
		for _, slug := range slugs {
			m.writer().sets(m.ago(firstAgo), slug, firstText(slug))
		}
	})
	for _, m := range l.machines {
		m.then = m.ago(firstAgo - 2*time.Second).UTC().Format(time.RFC3339)
		l.rollbackTo[m.key.Pub] = l.snapshot(m.key.Pub)
	}
	l.keeps("older")
	l.each(func(m *machine) {
		if !m.mortal {
			m.newestVersions(slugs)
		}
	})
	l.keeps("mortal")
	l.each(func(m *machine) {
		if m.mortal {
			m.newestVersions(slugs)
		}
	})
	l.expires = time.Now().Add(mortalFor)
	l.keeps("current")
	copyTree(t, l.data("current"), l.data("near"))
	near := relaytest.Start(t, relaytest.Options{Data: l.data("near")})
	l.near = near.URL
	return l
}

// mortalFor is how long memories that expire are there: time to look at them once.
const mortalFor = 15 * time.Second

// machine makes one that has nothing yet.
func (l *lostTable) machine(knows string, mortal bool) {
	key := relaytest.NewKey(uint64(700 + len(l.machines)))
	l.machines = append(l.machines, &machine{hookRig: newMachineOf(l.t, key, l.relay.URL), knows: knows, key: key, mortal: mortal, newest: map[string]*nostr.Event{}})
}

// newMachineOf is a machine of an agent.
func newMachineOf(t *testing.T, key relaytest.Key, relays ...string) *hookRig {
	t.Helper()
	r := newHookRig(t, relays...)
	r.write("agent.key", key.Secret+"\n")
	r.write("editor", "sed -i s/gate/door/ \"$1\"\n")
	r.env = append(r.env, "EDITOR=sh "+filepath.Join(r.dir, "editor"))
	return r
}

// each does something on every machine, side by side.
func (l *lostTable) each(do func(*machine)) {
	for _, m := range l.machines {
		l.seeding.Go(func() { do(m) })
	}
	l.seeding.Wait()
}

// writer is the machine that writes what a machine is to know.
func (m *machine) writer() *machine {
	if m.knows != anotherDid && m.knows != newMachine {
		return m
	}
	other := *m
	other.hookRig = newMachineOf(m.t, m.key, m.relays()...)
	return &other
}

// relays are those that are configured.
func (m *machine) relays() []string {
	for _, v := range slices.Backward(m.env) {
		if urls, ok := strings.CutPrefix(v, "ENGRAM_RELAYS="); ok {
			return strings.Split(urls, ",")
		}
	}
	return nil
}

func (m *machine) ago(d time.Duration) time.Time { return time.Now().Add(-d) }

// sets writes a memory as of a time, as engramctl does.
func (m *machine) sets(at time.Time, slug, text string) *nostr.Event {
	m.t.Helper()
	var wrote *nostr.Event
	env := cliutil.New(&cliutil.System{Env: m.env, Dir: m.folder, Slack: slack, Stdout: &transcript{}, Stderr: &transcript{}})
	env.Flags.Timeout = relaytest.Patience
	s, err := env.Session(m.t.Context(), func(o *session.Options) { o.Client.Clock = func() time.Time { return at } })
	if err == nil {
		defer s.Close()
		var status client.Status
		_, status, err = s.Memory.Set(m.t.Context(), nipae.Slug(slug), text, memory.SetOptions{})
		wrote = status.Wrote
	}
	if err != nil {
		m.t.Errorf("%s: %v", slug, err)
	}
	return wrote
}

// newestVersions writes the newest versions, and has the machine know them as it is to.
func (m *machine) newestVersions(slugs []string) {
	at := m.ago(newestAgo)
	for _, slug := range slugs {
		if m.mortal {
			text := newestText(slug)
			m.newest[slug] = relaytest.Engram(m.key, relaytest.Owner().Pub, slug, &text, at.Unix(),
				nostr.Tag{"expiration", strconv.FormatInt(time.Now().Add(mortalFor).Unix(), 10)})
			publish(m.t, m.relays()[0], m.newest[slug])
			continue
		}
		m.newest[slug] = m.writer().sets(at, slug, newestText(slug))
	}
	if m.knows == anotherDid && !m.mortal {
		m.sets(at, "mem/own", "What this machine wrote.")
	}
	if m.knows != stateKnows && m.knows != newMachine {
		if got := m.run(nil, "recall", newestWord); !m.mortal && (got.code != 0 || !strings.Contains(got.stdout, newestWord)) {
			m.t.Errorf("%s: %+v", m.knows, got)
		}
	}
	for _, name := range map[string][]string{copyKnows: {"state"}, stateKnows: {"cache"}, stateIDs: {"cache"}, newMachine: {"state", "cache"}}[m.knows] {
		if err := os.RemoveAll(filepath.Join(m.dir, name)); err != nil {
			m.t.Error(err)
		}
	}
	m.keepsThis()
}

// keepsThis has again go back to what the machine knows by now.
func (m *machine) keepsThis() {
	m.t.Helper()
	for _, name := range []string{"state", "cache"} {
		if from := filepath.Join(m.dir, name); len(filesBelow(m.t, from)) > 0 {
			copyTree(m.t, from, filepath.Join(m.dir, "kept", name))
		}
	}
}

// again makes a machine what it was before it looked at the relays.
func (m *machine) again() {
	m.t.Helper()
	for _, name := range []string{"state", "cache"} {
		to, kept := filepath.Join(m.dir, name), filepath.Join(m.dir, "kept", name)
		if err := os.RemoveAll(to); err != nil {
			m.t.Fatal(err)
		}
		if len(filesBelow(m.t, kept)) > 0 {
			copyTree(m.t, kept, to)
		}
	}
}

func (l *lostTable) data(name string) string { return filepath.Join(l.dir, name) }

// start starts the relay with the data that are there.
func (l *lostTable) start(args ...string) {
	l.t.Helper()
	l.relay = relaytest.Start(l.t, relaytest.Options{Data: l.data("data"), Listen: l.host, Args: args, Env: []string{"ENGRAMD_RESTORE_ALLOW=true"}})
	l.host = strings.TrimPrefix(l.relay.URL, "ws://")
}

func (l *lostTable) stop() {
	l.t.Helper()
	if code, _ := l.relay.Stop(); code != 0 {
		l.t.Fatalf("engramd ended with %d", code)
	}
}

// keeps copies the relay's data.
func (l *lostTable) keeps(name string) {
	l.t.Helper()
	l.stop()
	copyTree(l.t, l.data("data"), l.data(name))
	l.start()
}

// with starts the relay with other data; "" for none.
func (l *lostTable) with(name string, args ...string) {
	l.t.Helper()
	l.stop()
	if name == "" {
		if err := os.RemoveAll(l.data("data")); err != nil {
			l.t.Fatal(err)
		}
	} else {
		copyTree(l.t, l.data(name), l.data("data"))
	}
	l.start(args...)
}

// snapshot has the relay's operator make a snapshot, and returns its id.
func (l *lostTable) snapshot(agent string) string {
	l.t.Helper()
	r := l.relay.Run(nil, "snapshot", "--agent", agent, "--json", "--data", l.relay.Data)
	var made struct{ ID string }
	if err := json.Unmarshal(r.Stdout, &made); err != nil || made.ID == "" {
		l.t.Fatalf("%s%s: %v", r.Stdout, r.Stderr, err)
	}
	return made.ID
}

// is puts the relay into a condition.
func (l *lostTable) is(condition string) {
	l.t.Helper()
	for _, m := range l.machines {
		m.env = append(m.env, "ENGRAM_RELAYS="+l.relay.URL)
		if condition == oneOfTwo {
			m.env = append(m.env, "ENGRAM_RELAYS="+l.relay.URL+","+l.near)
		}
	}
	switch condition {
	case asItWas:
		l.with("current")
	case olderShown, oneOfTwo:
		l.with("older")
	case noHistory:
		l.with("older", "--history-versions", "0")
	case noneShown:
		l.with("none")
	case allGone:
		l.with("")
	case prunedThere:
		l.with("current")
		publish(l.t, l.relay.URL, relaytest.Memory(relaytest.Stranger(), relaytest.Owner().Pub, "mem/last", "the newest", time.Now().Unix()))
		l.stop()
		l.start("--retention-rules", "30174 max 1")
		l.empties()
	case expiredThere:
		l.with("current")
		time.Sleep(time.Until(l.expires.Add(time.Second))) // the relay's clock is the system's
	case blockedThere:
		l.with("current")
		for _, m := range l.machines {
			r := l.relay.Run(nil, "snapshot", "restore", "--agent", m.key.Pub, l.rollbackTo[m.key.Pub], "--rollback", "--data", l.relay.Data)
			if r.Code != 0 {
				l.t.Fatalf("%s%s", r.Stdout, r.Stderr)
			}
		}
	case deletedThere:
		l.with("current")
		l.each(func(m *machine) {
			if !m.mortal {
				m.deletes()
			}
		})
	}
}

// deletes has another machine of the agent remove memories, and its key the core.
func (m *machine) deletes() {
	other := newMachineOf(m.t, m.key, m.relays()[0])
	for slug := range m.newest {
		if slug == "core" {
			publish(m.t, m.relays()[0], relaytest.Deletion(m.key, time.Now().Unix()-100, nostr.Tag{"a", relaytest.Coordinate(relaytest.KindEngram, m.key.Pub, m.address(slug))}))
		} else if got := other.run(nil, "mem", "rm", slug); got.code != 0 {
			m.t.Errorf("rm %s: %+v", slug, got)
		}
	}
}

func (m *machine) address(slug string) string {
	return relaytest.Address(m.key, relaytest.Owner().Pub, slug)
}

// empties waits until the relay shows no memory of the machines.
func (l *lostTable) empties() {
	l.t.Helper()
	c, err := relaytest.Dial(l.relay.URL)
	if err != nil {
		l.t.Fatal(err)
	}
	defer c.Close()
	for _, m := range l.machines {
		if err := c.Auth(m.key); err != nil {
			l.t.Fatal(err)
		}
		for left := int64(1); left > 0; {
			var closed string
			left, closed, err = c.Count(relaytest.Filter{"kinds": []int{relaytest.KindEngram}, "authors": []string{m.key.Pub}})
			if err != nil || closed != "" {
				l.t.Fatal(closed, err)
			}
		}
	}
}
