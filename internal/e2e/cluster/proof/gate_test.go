package proof

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/cluster/nodes"
	"engramd/internal/e2e/relaytest"
)

type event = nostr.Event

// gateCase is the subject of the table: an engram, a sealed and a plain entry
// of a contract with the same word, and the readers.
type gateCase struct {
	written []*event
	asks    map[string]relaytest.Filter
	past    map[string]string // paths of /history
	readers map[string][]relaytest.Key
}

func newGateCase() gateCase {
	agent, owner, worker := relaytest.Agent(), relaytest.Owner(), relaytest.NewKey(4)
	at, contract := time.Now().Unix()-60, relaytest.NewKey(8_000).Pub
	engram := relaytest.Memory(agent, owner.Pub, "mem/a", "the secret", at)
	d := engram.Tags.GetD()
	return gateCase{
		written: []*event{
			relaytest.Memory(agent, owner.Pub, "mem/a", "an older secret", at-1), engram,
			relaytest.State(agent, worker.Pub, contract, "open", "", at), relaytest.State(worker, agent.Pub, contract, "accepted", "open", at+1),
			relaytest.SealedEntry(worker, agent.Pub, contract, "note", "between us", at+2), relaytest.Entry(agent, worker.Pub, contract, "message", "a cedar", at+2),
		},
		asks: map[string]relaytest.Filter{
			"engrams":               {"kinds": []int{relaytest.KindEngram}},
			"engrams of an agent":   {"kinds": []int{relaytest.KindEngram}, "authors": []string{agent.Pub}},
			"engrams for an owner":  {"kinds": []int{relaytest.KindEngram}, "#p": []string{owner.Pub}},
			"an engram by its id":   {"ids": []string{engram.ID}},
			"entries":               {"kinds": []int{relaytest.KindEntry}},
			"entries of a contract": {"kinds": []int{relaytest.KindEntry}, "#d": []string{contract}},
			"entries to a worker":   {"kinds": []int{relaytest.KindEntry}, "#p": []string{worker.Pub}},
			"everything of a key":   {"authors": []string{agent.Pub}},
		},
		past: map[string]string{
			"versions of an engram": fmt.Sprintf("/history?kind=%d&author=%s&d=%s", relaytest.KindEngram, agent.Pub, d),
			"versions of an entry":  fmt.Sprintf("/history?kind=%d&author=%s&d=%s", relaytest.KindEntry, worker.Pub, contract),
		},
		readers: map[string][]relaytest.Key{"nobody": nil, "stranger": {relaytest.Stranger()}, "owner": {owner}, "worker": {worker}, "agent": {agent}},
	}
}

// table holds a reader's answers by surface and question.
type table map[string]string

// TestGateOnEveryNode: events written at one node are shown, counted and hidden
// at the others exactly as there, on every surface and for every reader.
func TestGateOnEveryNode(t *testing.T) {
	t.Parallel()
	c, g := nodes.Start(t, nodes.Options{}), newGateCase()
	live := make([]map[string]*gateReader, c.Nodes())
	for i := range live {
		live[i] = map[string]*gateReader{}
		for name, keys := range g.readers {
			r := &gateReader{t: t, c: c, node: i, Client: c.Dial(i), keys: keys, answers: table{}}
			for _, k := range keys {
				if err := r.AuthWithName(k); err != nil {
					t.Fatal(err)
				}
			}
			r.listen(g)
			live[i][name] = r
		}
	}
	writer := c.Dial(0)
	mustStore(t, writer, g.written...)
	marker := relaytest.Note(relaytest.NewKey(4242), time.Now().Unix(), "that is all")
	mustStore(t, writer, marker)
	for name := range g.readers {
		var want table
		for i := range live {
			r := live[i][name]
			r.hear(marker)
			r.ask(g)
			if i == 0 {
				want = r.answers
				wantSense(t, name, want)
				continue
			}
			for _, what := range slices.Sorted(maps.Keys(want)) {
				if r.answers[what] != want[what] {
					t.Errorf("%s, %s: node %d answers %s, node 0 %s", name, what, i, r.answers[what], want[what])
				}
			}
		}
		t.Logf("%s: %d answers at each node", name, len(want))
	}
	wantSame(t, c)
}

// wantSense checks that the table tells readers apart.
func wantSense(t *testing.T, name string, got table) {
	t.Helper()
	party := name == "owner" || name == "agent"
	mine := map[bool]string{true: "engrams for an owner", false: "engrams of an agent"}[name == "owner"]
	for _, what := range []string{"REQ " + mine, "live " + mine, "/query " + mine, "/history versions of an engram"} {
		if shown := strings.Contains(got[what], "[id "); shown != party {
			t.Errorf("%s, %s: %s", name, what, got[what])
		}
	}
	if !party && strings.HasPrefix(got["COUNT engrams of an agent"], "1") {
		t.Errorf("%s counts what they may not see", name)
	}
}

func idsOf(events []*event) string {
	out := ""
	for _, ev := range events {
		out += "[id " + ev.ID[:16] + "]"
	}
	return out
}

// httpAsk makes a request with a reader's key, or without one.
func httpAsk(t *testing.T, n *nodes.Node, keys []relaytest.Key, method, path string, body []byte) string {
	t.Helper()
	header := http.Header{}
	for _, k := range keys {
		header.Set("Authorization", relaytest.HTTPAuthWith(k, method, "http://"+nodes.Name+path, body, time.Now().Unix(), nostr.Tag{"nonce", fmt.Sprint(time.Now().UnixNano())}))
	}
	resp, err := n.Child().Do(method, path, body, header)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d %s", resp.Status, idsIn(resp.Body))
}
