package replica

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
)

// ring is three relays, each of which follows the next over a connection that
// can be cut, and a record of what was published to them.
type ring struct {
	t       *testing.T
	rnd     *rand.Rand
	nodes   [3]*node
	second  int64 // created_at of the last event
	events  []*nostr.Event
	keys    map[string]relaytest.Key
	moves   map[string]int // of contracts
	doomed  int            // keys that vanished
	refused int
}

// node is one relay and the connection by which others reach it.
type node struct {
	*relaytest.Child
	wire   *wire
	listen string
	config string
}

func newRing(t *testing.T, seed uint64) *ring {
	g := &ring{t: t, rnd: rand.New(rand.NewPCG(seed, 62)), second: rig.Now() - 100_000, keys: map[string]relaytest.Key{}, moves: map[string]int{}}
	key := keyFile(t, follower)
	for i := range g.nodes {
		g.nodes[i] = &node{wire: newWire(t), listen: relaytest.OwnAddress()}
	}
	for i, n := range g.nodes {
		next := g.nodes[(i+1)%len(g.nodes)]
		n.config = fmt.Sprintf("public_url = [%q]\n", n.wire.url()) + lets(following(next.wire.url(), key, ""))
		n.Child = relaytest.Start(t, relaytest.Options{Build: rig.Watched, Config: n.config, Listen: n.listen})
		n.listen = strings.TrimPrefix(n.URL, "ws://") // also when it starts again
		n.wire.leadTo(n.listen)
	}
	return g
}

// again starts a relay that was killed.
func (g *ring) again(n *node) {
	g.t.Helper()
	n.Kill()
	n.Child = relaytest.Start(g.t, relaytest.Options{Build: rig.Watched, Config: n.config, Listen: n.listen, Data: n.Data})
}

// publish sends an event to a relay, which may refuse it but must not fail.
func (g *ring) publish(n *node, ev *nostr.Event) {
	g.t.Helper()
	p := rig.Dial(g.t, n.Child)
	ok := p.MustPublish(ev)
	p.Close()
	if strings.HasPrefix(ok.Message, "error:") {
		g.t.Fatalf("kind %d: %s", ev.Kind, ok.Message)
	}
	if !ok.True {
		g.refused++
		return
	}
	g.events = append(g.events, ev)
}

// who returns a random one of the writers.
func (g *ring) who(keys ...relaytest.Key) relaytest.Key {
	k := keys[g.rnd.IntN(len(keys))]
	g.keys[k.Pub] = k
	return k
}

// at returns a time for an event: later than all before, and sometimes a little
// earlier.
func (g *ring) at() int64 {
	g.second++
	if g.rnd.IntN(4) == 0 {
		return g.second - int64(g.rnd.IntN(4))
	}
	return g.second
}

// act does something random at a random relay.
func (g *ring) act() {
	n := g.nodes[g.rnd.IntN(len(g.nodes))]
	switch g.rnd.IntN(16) {
	case 0, 1, 2, 3:
		g.publish(n, relaytest.Memory(g.who(agent, worker), owner.Pub, fmt.Sprint("mem/", g.rnd.IntN(3)), fmt.Sprint("text ", len(g.events)), g.at()))
	case 4, 5:
		g.publish(n, relaytest.Entry(g.who(agent), worker.Pub, "talk", "message", fmt.Sprint("words ", len(g.events)), g.at()))
	case 6:
		g.publish(n, relaytest.SealedEntry(g.who(worker), agent.Pub, "talk", "note", fmt.Sprint("sealed ", len(g.events)), g.at()))
	case 7:
		g.publish(n, relaytest.Note(g.who(stranger, agent), g.at(), fmt.Sprint("note ", len(g.events))))
	case 8:
		g.publish(n, relaytest.Sign(g.who(stranger), 0, g.at(), fmt.Sprintf(`{"name":"%d"}`, len(g.events))))
	case 9, 10:
		g.deleteOne(n)
	case 11:
		g.move()
	case 12:
		g.vanish(n)
	case 13:
		n.wire.cut()
	case 14:
		n.wire.mend()
	case 15:
		if g.rnd.IntN(3) == 0 {
			g.again(n)
		}
	}
}

// deleteOne has an author delete an event by id or address.
func (g *ring) deleteOne(n *node) {
	if len(g.events) == 0 {
		return
	}
	of := g.events[g.rnd.IntN(len(g.events))]
	k, known := g.keys[of.PubKey]
	if !known || of.Kind == relaytest.KindState || of.Kind == relaytest.KindDelete || of.Kind == 62 {
		return
	}
	tag := nostr.Tag{"e", of.ID}
	if d := of.Tags.GetD(); d != "" && g.rnd.IntN(3) == 0 {
		tag = nostr.Tag{"a", relaytest.Coordinate(of.Kind, of.PubKey, d)}
	}
	g.publish(n, relaytest.Deletion(k, g.at(), tag, nostr.Tag{"k", fmt.Sprint(of.Kind)}))
}

// move moves a contract at the relay where its moves are made: of moves that
// two relays accept at once, each keeps its own.
func (g *ring) move() {
	home := g.rnd.IntN(len(g.nodes))
	contract := fmt.Sprint("contract-", home)
	steps := []struct {
		by, to   relaytest.Key
		from, is string
	}{{agent, worker, "", "open"}, {worker, agent, "open", "accepted"}, {worker, agent, "accepted", "submitted"}, {agent, worker, "submitted", "completed"}}
	n := g.moves[contract]
	if n >= len(steps) {
		return
	}
	g.moves[contract]++
	g.second++
	s := steps[n]
	g.publish(g.nodes[home], relaytest.State(g.who(s.by), s.to.Pub, contract, s.is, s.from, g.second))
}

// vanish has a new key write something and ask all relays to vanish.
func (g *ring) vanish(n *node) {
	k := relaytest.NewKey(uint64(1000 + g.doomed))
	g.doomed++
	other := g.nodes[g.rnd.IntN(len(g.nodes))]
	g.publish(n, relaytest.Memory(k, owner.Pub, "mem/gone", "gone", g.at()))
	g.publish(other, relaytest.Note(k, g.at(), "gone too"))
	g.second++
	g.publish(n, relaytest.Sign(k, 62, g.second, "", nostr.Tag{"relay", "ALL_RELAYS"}))
}

// TestRing: three relays that follow each other in a ring get random writes,
// deletions, requests to vanish, contracts, cuts and kills. Afterwards all give
// the same answers to every reader.
func TestRing(t *testing.T) {
	seed, acts := rig.Seed(t), 70
	if rig.Soak() {
		acts = 1500
	}
	g := newRing(t, seed)
	for range acts {
		g.act()
	}
	for _, n := range g.nodes {
		n.wire.mend()
	}
	t.Logf("seed %d: %d events stored, %d refused", seed, len(g.events), g.refused)
	g.wantEqual()
	if all := g.answers(g.nodes[0], []relaytest.Key{owner, agent}); strings.Count(strings.Join(all, " "), "COUNT 0") > len(all)/2 || len(all) < 10 {
		t.Errorf("there is next to nothing to compare: %v", all)
	}
	for i, n := range g.nodes {
		if got := n.Run(nil, "check", "--data", n.Data); got.Code != 0 || strings.Contains(string(got.Stdout), "does not follow") {
			t.Errorf("check of relay %d: %d %s%s", i, got.Code, got.Stdout, got.Stderr)
		}
	}
}

// readers are the keys whose answers are compared: an agent, its owner, a
// party, a stranger and nobody.
func readers() map[string][]relaytest.Key {
	return map[string][]relaytest.Key{"agent": {agent}, "owner": {owner}, "party": {worker}, "stranger": {stranger}, "nobody": nil}
}

// wantEqual waits until all relays give the same answers. Requests to delete
// are compared as their authors see them: one by id alone is open only where
// the event that it names was seen.
func (g *ring) wantEqual() {
	g.t.Helper()
	for name, keys := range readers() {
		await(g.t, name+" sees the same everywhere", func() string {
			first := g.answers(g.nodes[0], keys)
			for i, n := range g.nodes[1:] {
				if other := g.answers(n, keys); !slices.Equal(first, other) {
					return fmt.Sprintf("relays 0 and %d: %s", i+1, difference(first, other))
				}
			}
			return ""
		})
	}
}

func difference(a, b []string) string {
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i] != b[i] {
			return fmt.Sprintf("%.600s\n%.600s", a[min(i, len(a)-1)], b[min(i, len(b)-1)])
		}
	}
	return "none"
}

// answers returns a relay's answers to a reader, one line for each question.
func (g *ring) answers(n *node, keys []relaytest.Key) (lines []string) {
	p := rig.Dial(g.t, n.Child, keys...)
	defer p.Close()
	caller := rig.NewCaller(g.t, n.Child)
	filters := []relaytest.Filter{
		{"kinds": []int{0, 1, 62}}, {"kinds": []int{30090, 30091}, "#d": []string{"talk", "contract-0", "contract-1", "contract-2"}},
	}
	var ids []string
	for _, ev := range g.events {
		if ev.Kind != relaytest.KindDelete {
			ids = append(ids, ev.ID)
		}
	}
	for some := range slices.Chunk(ids, 500) {
		filters = append(filters, relaytest.Filter{"ids": some})
	}
	for _, k := range keys {
		filters = append(filters, relaytest.Filter{"authors": []string{k.Pub}}, relaytest.Filter{"#p": []string{k.Pub}, "kinds": []int{30174, 30090, 30091}})
	}
	for _, f := range filters {
		got := p.MustQuery(f).IDs()
		slices.Sort(got)
		lines = append(lines, fmt.Sprintf("%.80v COUNT %d %.8s", f, p.MustCount(f), got))
	}
	for _, k := range keys {
		for _, author := range []relaytest.Key{agent, worker, stranger} {
			for _, kind := range []int{30174, 30090, 30091} {
				path := fmt.Sprintf("/history?kind=%d&author=%s", kind, author.Pub)
				got := g.history(caller, k, path)
				lines = append(lines, fmt.Sprintf("%.26s of %.8s: %.8s", path, author.Pub, got))
			}
		}
	}
	return lines
}
