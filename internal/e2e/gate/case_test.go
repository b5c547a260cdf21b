package gate

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
)

// gateTrial is a contract on a relay where naming a contract does not open it.
type gateTrial struct {
	*rig.Peer // the peer that publishes
	relay     *relaytest.Child
	terms     []nostr.Tag
	at        int64
}

func newGateTrial(t *testing.T) *gateTrial {
	relay := rig.Start(t, "ENGRAMD_GATE_CONTRACTS=parties", "ENGRAMD_CONTRACTS_ANY_ID=true")
	return &gateTrial{Peer: rig.Dial(t, relay), relay: relay, at: rig.Now() - 50, terms: []nostr.Tag{{"arbitrator", rig.GateJudge.Pub}, {"decider", rig.GateSecond.Pub}}}
}

// next returns a time one second after the last.
func (g *gateTrial) next() int64 { g.at++; return g.at }

func (g *gateTrial) state(k relaytest.Key, previous, status string, about []relaytest.Key, terms ...nostr.Tag) *nostr.Event {
	tags := []nostr.Tag{{"d", gateCase}}
	for _, other := range about {
		tags = append(tags, nostr.Tag{"p", other.Pub})
	}
	content := fmt.Sprintf(`{"contract_id":%q,"status":%q,"previous_status":%q}`, gateCase, status, previous)
	return relaytest.Sign(k, relaytest.KindState, g.next(), content, append(tags, terms...)...)
}

// agree has both parties agree on an arbitrator.
func (g *gateTrial) agree() {
	g.Store(g.state(rig.GateAgent, "", "open", []relaytest.Key{rig.GateWorker}, g.terms...), g.state(rig.GateWorker, "open", "accepted", []relaytest.Key{rig.GateAgent}, g.terms...))
}

// ofCase is the arbitrator's filter.
var ofCase = relaytest.Filter{"kinds": []int{relaytest.KindEntry, relaytest.KindState}, "#d": []string{gateCase}}

// TestGateCaseLive: the entries of a case reach its arbitrator live, and
// nothing else does; before both parties agreed, the arbitrator is refused like
// any stranger, and so is a key that decides without reading.
func TestGateCaseLive(t *testing.T) {
	g := newGateTrial(t)
	judge, second, stranger := rig.Dial(t, g.relay, rig.GateJudge), rig.Dial(t, g.relay, rig.GateSecond), rig.Dial(t, g.relay, rig.GateStranger)
	open := g.state(rig.GateAgent, "", "open", []relaytest.Key{rig.GateWorker}, g.terms...)
	g.Store(open)
	judge.Closed("restricted", ofCase)
	accepted := g.state(rig.GateWorker, "open", "accepted", []relaytest.Key{rig.GateAgent}, g.terms...)
	g.Store(accepted)
	second.Closed("restricted", ofCase)
	stranger.Closed("restricted", ofCase)
	judge.Closed("restricted", relaytest.Filter{"kinds": []int{relaytest.KindEntry}, "#d": []string{gateCase, "contract-0"}})
	answer := judge.MustSubscribe(ofCase)
	if len(answer.Events) != 2 || !answer.EOSE {
		t.Fatalf("stored: %d events, CLOSED %q", len(answer.Events), answer.Closed)
	}
	said := relaytest.Entry(rig.GateAgent, rig.GateWorker.Pub, gateCase, "message", "in the open", g.next())
	disputed := g.state(rig.GateWorker, "accepted", "disputed", []relaytest.Key{rig.GateAgent})
	g.Store(said,
		relaytest.SealedEntry(rig.GateWorker, rig.GateAgent.Pub, gateCase, "note", "between us", g.next()),
		relaytest.Entry(rig.GateStranger, rig.GateAgent.Pub, gateCase, "message", "from outside", g.next()),
		relaytest.Entry(rig.GateAgent, rig.GateStranger.Pub, "contract-0", "message", "elsewhere", g.next()), disputed)
	g.Refused(g.state(rig.GateSecond, "disputed", "expired", []relaytest.Key{rig.GateAgent, rig.GateWorker}), "invalid")
	decided := g.state(rig.GateJudge, "disputed", "completed", []relaytest.Key{rig.GateAgent, rig.GateWorker})
	g.Store(decided)
	for _, want := range []*nostr.Event{said, disputed, decided} {
		if got := judge.MustLive(answer.Sub); got.ID != want.ID {
			t.Fatalf("live: kind %d by %.8s, want kind %d by %.8s", got.Kind, got.PubKey, want.Kind, want.PubKey)
		}
	}
}

// TestGateCaseAfterVanishing: entries of a party that asked the relay to vanish
// are gone for the arbitrator too, who sees gaps; the other party's entries
// stay, and what was agreed and decided holds.
func TestGateCaseAfterVanishing(t *testing.T) {
	g := newGateTrial(t)
	g.agree()
	g.Store(relaytest.Entry(rig.GateAgent, rig.GateWorker.Pub, gateCase, "message", "soon forgotten", g.next()),
		relaytest.Entry(rig.GateWorker, rig.GateAgent.Pub, gateCase, "message", "this stays", g.next()),
		g.state(rig.GateWorker, "accepted", "disputed", []relaytest.Key{rig.GateAgent}))
	vanish := func(k relaytest.Key) {
		t.Helper()
		g.Store(relaytest.Sign(k, relaytest.KindVanish, g.next(), "", nostr.Tag{"relay", "ALL_RELAYS"}))
	}
	vanish(rig.GateAgent)
	judge, http := rig.Dial(t, g.relay, rig.GateJudge), rig.NewCaller(t, g.relay)
	reads := func(path string) string {
		t.Helper()
		resp, err := http.Signed(&rig.GateJudge, "GET", path, nil)
		if err != nil || resp.Status != 200 {
			t.Fatalf("%s: %d %s, %v", path, resp.Status, resp.Body, err)
		}
		return string(resp.Body)
	}
	wantGaps := func(entries, gaps int) {
		t.Helper()
		for _, ev := range judge.MustQuery(ofCase).Events {
			if ev.PubKey == rig.GateAgent.Pub {
				t.Errorf("kind %d of who is gone", ev.Kind)
			}
		}
		var order struct {
			Gaps []struct{ Role, Status string }
		}
		if err := json.Unmarshal([]byte(reads(rig.ContractsPath+"/"+gateCase+"/order")), &order); err != nil || len(order.Gaps) != gaps {
			t.Errorf("the order has %+v, %v, want %d gaps", order, err, gaps)
		}
		memory := reads(rig.ContractsPath + "/" + gateCase + "/memory")
		if strings.Count(memory, `"entry_id"`) != entries || strings.Contains(memory, "soon forgotten") || !strings.Contains(memory, "this stays") {
			t.Errorf("he reads %s", memory)
		}
	}
	wantGaps(1, 2) // the open, and the entry
	for _, kind := range []int{relaytest.KindEntry, relaytest.KindState} {
		if past := reads(fmt.Sprintf("/history?kind=%d&author=%s&d=%s", kind, rig.GateAgent.Pub, gateCase)); past != "[]\n" && past != "[]" {
			t.Errorf("history of who is gone: %s", past)
		}
	}
	g.Store(g.state(rig.GateJudge, "disputed", "cancelled", []relaytest.Key{rig.GateAgent, rig.GateWorker}))
	vanish(rig.GateJudge)
	wantGaps(1, 3)
	g.Refused(relaytest.Entry(rig.GateWorker, rig.GateAgent.Pub, gateCase, "message", "after the end", g.next()), "blocked")
}
