package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"engramd/internal/e2e/relaytest"

	"github.com/nbd-wtf/go-nostr"
)

// role is somebody in the demo.
type role struct {
	name string
	key  relaytest.Key
}

// The cast. Agent and owner are those of the NIP-AE vectors.
func theAgent() role    { return role{"agent", relaytest.Agent()} }
func theOwner() role    { return role{"owner", relaytest.Owner()} }
func theStranger() role { return role{"stranger", relaytest.Stranger()} }
func theSecond() role   { return role{"second agent", relaytest.NewKey(3)} }
func theWorker() role   { return role{"worker", relaytest.NewKey(4)} }
func thePoster() role   { return role{"poster", relaytest.NewKey(5)} }
func otherOwner() role  { return role{"other owner", relaytest.NewKey(6)} }
func otherAgent() role  { return role{"other agent", relaytest.NewKey(7)} }

func cast() []role {
	return []role{theAgent(), theOwner(), theStranger(), theSecond(), theWorker(), thePoster(), otherOwner(), otherAgent()}
}

// The size of the generated set.
const (
	secondMemories = 1500 // of the owner's second agent
	otherMemories  = 1000 // of an agent and an owner that nobody here knows
	rewritten      = 300  // of the second agent's memories have a second version
	notes          = 400
	contract       = "1b4e28ba-2fa1-41d2-883f-0016d3cca427"
	contractPosts  = 40 // versions of the poster's entry: the relay keeps all, REQ shows the last
)

// generated is what the demo knows of the set that it has loaded.
type generated struct {
	base    int64 // created_at of the first event
	vectors []relaytest.Vector
	events  []*nostr.Event
	heads   int // engrams that are heads, of all agents
}

// generate signs the set. It is the same at every run but for the time.
func generate(vectors []relaytest.Vector) generated {
	g := generated{base: time.Now().Unix() - 1_000_000, vectors: vectors}
	for _, v := range vectors {
		g.events = append(g.events, v.Event)
	}
	g.heads = 3 // the four vectors are three records: the fourth event is mem/example's tombstone
	second, owner := theSecond().key, theOwner().key.Pub
	for i := range int64(secondMemories) {
		g.add(relaytest.Memory(second, owner, fmt.Sprintf("mem/log/%d", i), fmt.Sprintf("observation %d of [[core]]", i), g.base+i))
		g.heads++
	}
	for i := range int64(rewritten) {
		g.add(relaytest.Memory(second, owner, fmt.Sprintf("mem/log/%d", i), fmt.Sprintf("observation %d, corrected", i), g.base+secondMemories+i))
	}
	for i := range int64(otherMemories) {
		g.add(relaytest.Memory(otherAgent().key, otherOwner().key.Pub, fmt.Sprintf("mem/private/%d", i), "nobody's business", g.base+i))
		g.heads++
	}
	for i := range int64(notes) {
		g.add(relaytest.Note(theStranger().key, g.base+i, fmt.Sprintf("public note %d about the weather in Brno", i), nostr.Tag{"t", "demo"}))
	}
	g.contractEvents()
	return g
}

func (g *generated) add(ev *nostr.Event) { g.events = append(g.events, ev) }

func (g *generated) contractEvents() {
	poster, worker := thePoster().key, theWorker().key
	g.add(relaytest.State(poster, worker.Pub, contract, "open", "", g.base))
	g.add(relaytest.State(worker, poster.Pub, contract, "accepted", "open", g.base+10))
	for i := range int64(contractPosts) {
		g.add(relaytest.Entry(poster, worker.Pub, contract, "message", fmt.Sprintf("message %d: please mind the apostrophes", i), g.base+20+i))
	}
	g.add(relaytest.Entry(worker, poster.Pub, contract, "deliverable", "the translation, first version", g.base+100))
	g.add(relaytest.SealedEntry(theAgent().key, worker.Pub, contract, "note", "between the agent and the worker", g.base+110))
}

// jsonl writes the set as `engramd import` reads it.
func (g *generated) jsonl() ([]byte, error) {
	var out bytes.Buffer
	for _, ev := range g.events {
		line, err := json.Marshal(ev)
		if err != nil {
			return nil, err
		}
		out.Write(line)
		out.WriteByte('\n')
	}
	return out.Bytes(), nil
}
