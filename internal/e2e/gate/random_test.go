package gate

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
	"engramd/internal/relay/gate/gatetest"
	"engramd/internal/relay/gate/oracle"
)

// gateSeedVar names the seed of a failure, to run it alone.
const gateSeedVar = "ENGRAMD_TEST_GATE_SEED"

// TestGateRandom asks random questions, of up to three filters each, as random
// readers about random events, some of them superseded, under random options,
// on every surface. Each run has new seeds, which are in the names of the
// subtests. make soak runs more of them.
func TestGateRandom(t *testing.T) {
	fresh := uint64(rig.Now()) &^ 3
	seeds := []uint64{fresh + 1, fresh + 2, fresh + 3} // the last is of a private relay
	if rig.Soak() {
		seeds = append(seeds, 1, 2, 3, 4, 5, 6)
	}
	if text := os.Getenv(gateSeedVar); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", gateSeedVar, err)
		}
		seeds = []uint64{seed}
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) { randomGateRun(seed).run(t) })
	}
}

func randomGateRun(seed uint64) *gateRun {
	g := gatetest.New(seed, 6)
	g.Reuse = true
	run := &gateRun{
		build: rig.Watched,
		options: oracle.Options{
			Wildcard:  []string{"reject", "exclude", "exclude"}[g.Rand.IntN(3)],
			IDs:       []string{"", "exempt", "party"}[g.Rand.IntN(3)],
			Contracts: []string{"contract", "contract", "parties", "public"}[g.Rand.IntN(4)],
			Rules:     gatetest.RuleSets[g.Rand.IntN(len(gatetest.RuleSets))],

			AuthRequired: seed%4 == 3,
		},
		events: g.Events(150),
	}
	if g.Rand.IntN(2) == 0 {
		run.options.Replicas = []string{g.Person().Pub}
	}
	disputes := []gatetest.Dispute{g.Dispute(), g.Dispute(), g.Dispute()}
	for _, d := range disputes {
		run.events = append(run.events, d.Events...)
	}
	for i := range 8 {
		reader := gateReader{name: fmt.Sprintf("reader %d", i)}
		for range g.Rand.IntN(4) {
			reader.keys = append(reader.keys, relaytest.Key(g.Person()))
		}
		run.readers = append(run.readers, reader)
		run.asks = append(run.asks, append(randomGateAsks(g, reader, run.events), randomGateCases(disputes)...))
	}
	return run
}

// randomGateCases asks for disputed contracts, one at a time and together, and
// for superseded versions in them.
func randomGateCases(disputes []gatetest.Dispute) (asks []gateAsk) {
	var all []string
	for _, d := range disputes {
		all = append(all, d.Contract)
		for _, kinds := range [][]int{{30090}, {30091}, {30090, 30091}} {
			asks = append(asks, gateAsk{name: "a case", filters: []nostr.Filter{{Kinds: kinds, Tags: nostr.TagMap{"d": {d.Contract}}}}})
		}
		for _, author := range []string{d.Poster, d.Worker, d.Decider} {
			for _, kind := range []int{30090, 30091} {
				asks = append(asks, gateAsk{name: "the past of a case", past: &gatePast{kind: kind, author: author, d: &d.Contract}})
			}
		}
	}
	asks = append(asks, gateAsk{name: "everybody's past", past: &gatePast{everybody: true}}, gateAsk{name: "some of it", past: &gatePast{everybody: true, kinds: []int{30090, 30174}, limit: 3}})
	return append(asks, gateAsk{name: "all cases", filters: []nostr.Filter{{Kinds: []int{30090, 30091}, Tags: nostr.TagMap{"d": all}}}})
}

func randomGateAsks(g *gatetest.Gen, r gateReader, events []*nostr.Event) []gateAsk {
	var asks []gateAsk
	for n := range 120 {
		ask := gateAsk{name: fmt.Sprintf("question %d", n)}
		for range [...]int{1, 1, 1, 2, 3}[g.Rand.IntN(5)] {
			ask.filters = append(ask.filters, g.Filter(r.pubs(), events))
		}
		if len(ask.filters) == 1 && g.Rand.IntN(5) == 0 {
			ask.filters[0].Limit = 1 + g.Rand.IntN(4)
		}
		asks = append(asks, ask)
	}
	for n := range 40 {
		asks = append(asks, gateAsk{name: fmt.Sprintf("version %d", n), past: randomGatePast(g, events)})
	}
	return asks
}

// randomGatePast asks for the versions at one of the addresses, or beside it.
func randomGatePast(g *gatetest.Gen, events []*nostr.Event) *gatePast {
	about := events[g.Rand.IntN(len(events))]
	for range 4 { // many kinds keep no versions
		if about.Kind < 30000 {
			about = events[g.Rand.IntN(len(events))]
		}
	}
	past := &gatePast{kind: about.Kind, author: about.PubKey}
	if g.Rand.IntN(10) == 0 {
		past.author = g.Person().Pub
	}
	if d := about.Tags.GetD(); g.Rand.IntN(3) == 0 {
		past.d = &d
	}
	if g.Rand.IntN(5) == 0 {
		past.until = &about.CreatedAt
	}
	if g.Rand.IntN(5) == 0 {
		past.limit = 1 + g.Rand.IntN(3)
	}
	return past
}
