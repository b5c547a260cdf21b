package e2e

import (
	"encoding/json"
	"fmt"

	"strings"
	"testing"

	"engramd/internal/e2e/relaytest"

	"github.com/nbd-wtf/go-nostr"
)

// gateTrial is a contract on a relay where who names a contract reads nothing of it.
type gateTrial struct {
	*peer // that publishes
	relay *relaytest.Child
	terms []nostr.Tag
	at    int64
}

func newGateTrial(t *testing.T) *gateTrial {
	relay := start(t, "ENGRAMD_GATE_CONTRACTS=parties", "ENGRAMD_CONTRACTS_ANY_ID=true")
	return &gateTrial{peer: dial(t, relay), relay: relay, at: now() - 50, terms: []nostr.Tag{{"arbitrator", gateJudge.Pub}, {"decider", gateSecond.Pub}}}
}

// next is a second later than the last.
func (g *gateTrial) next() int64 { g.at++; return g.at }

func (g *gateTrial) state(k relaytest.Key, previous, status string, about []relaytest.Key, terms ...nostr.Tag) *nostr.Event {
	tags := []nostr.Tag{{"d", gateCase}}
	for _, other := range about {
		tags = append(tags, nostr.Tag{"p", other.Pub})
	}
	content := fmt.Sprintf(`{"contract_id":%q,"status":%q,"previous_status":%q}`, gateCase, status, previous)
	return relaytest.Sign(k, relaytest.KindState, g.next(), content, append(tags, terms...)...)
}

// agree makes the contract one that has an arbitrator.
func (g *gateTrial) agree() {
	g.store(g.state(gateAgent, "", "open", []relaytest.Key{gateWorker}, g.terms...), g.state(gateWorker, "open", "accepted", []relaytest.Key{gateAgent}, g.terms...))
}

// ofCase is what an arbitrator asks.
var ofCase = relaytest.Filter{"kinds": []int{relaytest.KindEntry, relaytest.KindState}, "#d": []string{gateCase}}

// TestGateCaseLive: what is said in a case comes to its arbitrator as it happens, and nothing else; before both agreed on
// him he is refused like anybody, and so is who decides without reading.
func TestGateCaseLive(t *testing.T) {
	g := newGateTrial(t)
	judge, second, stranger := dial(t, g.relay, gateJudge), dial(t, g.relay, gateSecond), dial(t, g.relay, gateStranger)
	open := g.state(gateAgent, "", "open", []relaytest.Key{gateWorker}, g.terms...)
	g.store(open)
	judge.closed("restricted", ofCase)
	accepted := g.state(gateWorker, "open", "accepted", []relaytest.Key{gateAgent}, g.terms...)
	g.store(accepted)
	second.closed("restricted", ofCase)
	stranger.closed("restricted", ofCase)
	judge.closed("restricted", relaytest.Filter{"kinds": []int{relaytest.KindEntry}, "#d": []string{gateCase, "contract-0"}})
	answer := judge.subscribe(ofCase)
	if len(answer.Events) != 2 || !answer.EOSE {
		t.Fatalf("stored: %d events, CLOSED %q", len(answer.Events), answer.Closed)
	}
	said := relaytest.Entry(gateAgent, gateWorker.Pub, gateCase, "message", "in the open", g.next())
	disputed := g.state(gateWorker, "accepted", "disputed", []relaytest.Key{gateAgent})
	g.store(said,
		relaytest.SealedEntry(gateWorker, gateAgent.Pub, gateCase, "note", "between us", g.next()),
		relaytest.Entry(gateStranger, gateAgent.Pub, gateCase, "message", "from outside", g.next()),
		relaytest.Entry(gateAgent, gateStranger.Pub, "contract-0", "message", "elsewhere", g.next()), disputed)
	g.refused(g.state(gateSecond, "disputed", "expired", []relaytest.Key{gateAgent, gateWorker}), "invalid")
	decided := g.state(gateJudge, "disputed", "completed", []relaytest.Key{gateAgent, gateWorker})
	g.store(decided)
	for _, want := range []*nostr.Event{said, disputed, decided} {
		if got := judge.live(answer.Sub); got.ID != want.ID {
			t.Fatalf("live: kind %d by %.8s, want kind %d by %.8s", got.Kind, got.PubKey, want.Kind, want.PubKey)
		}
	}
}

// TestGateCaseAfterVanishing: who has asked the relay to forget him is gone for the arbitrator too, who is told of gaps;
// what the other says stays, and what was agreed and decided holds.
func TestGateCaseAfterVanishing(t *testing.T) {
	g := newGateTrial(t)
	g.agree()
	g.store(relaytest.Entry(gateAgent, gateWorker.Pub, gateCase, "message", "soon forgotten", g.next()),
		relaytest.Entry(gateWorker, gateAgent.Pub, gateCase, "message", "this stays", g.next()),
		g.state(gateWorker, "accepted", "disputed", []relaytest.Key{gateAgent}))
	vanish := func(k relaytest.Key) {
		t.Helper()
		g.store(relaytest.Sign(k, relaytest.KindVanish, g.next(), "", nostr.Tag{"relay", "ALL_RELAYS"}))
	}
	vanish(gateAgent)
	judge, http := dial(t, g.relay, gateJudge), newCaller(t, g.relay)
	reads := func(path string) string {
		t.Helper()
		resp, err := http.signed(&gateJudge, "GET", path, nil)
		if err != nil || resp.Status != 200 {
			t.Fatalf("%s: %d %s, %v", path, resp.Status, resp.Body, err)
		}
		return string(resp.Body)
	}
	wantGaps := func(entries, gaps int) {
		t.Helper()
		for _, ev := range judge.query(ofCase).Events {
			if ev.PubKey == gateAgent.Pub {
				t.Errorf("kind %d of who is gone", ev.Kind)
			}
		}
		var order struct {
			Gaps []struct{ Role, Status string }
		}
		if err := json.Unmarshal([]byte(reads(contractsPath+"/"+gateCase+"/order")), &order); err != nil || len(order.Gaps) != gaps {
			t.Errorf("the order has %+v, %v, want %d gaps", order, err, gaps)
		}
		memory := reads(contractsPath + "/" + gateCase + "/memory")
		if strings.Count(memory, `"entry_id"`) != entries || strings.Contains(memory, "soon forgotten") || !strings.Contains(memory, "this stays") {
			t.Errorf("he reads %s", memory)
		}
	}
	wantGaps(1, 2) // the open, and what was said
	for _, kind := range []int{relaytest.KindEntry, relaytest.KindState} {
		if past := reads(fmt.Sprintf("/history?kind=%d&author=%s&d=%s", kind, gateAgent.Pub, gateCase)); past != "[]\n" && past != "[]" {
			t.Errorf("history of who is gone: %s", past)
		}
	}
	g.store(g.state(gateJudge, "disputed", "cancelled", []relaytest.Key{gateAgent, gateWorker}))
	vanish(gateJudge)
	wantGaps(1, 3)
	g.refused(relaytest.Entry(gateWorker, gateAgent.Pub, gateCase, "message", "after the end", g.next()), "blocked")
}
