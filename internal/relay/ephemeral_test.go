package relay

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/gate/gatetest"
	"engramd/internal/relay/gate/oracle"
	"engramd/internal/relay/store/sqlite/storetest"
)

// ephemeralRules gate ephemeral kinds beside the one that is built in.
var ephemeralRules = []string{"20001 author", "20002 p", "20003 author,p ids", "30078 author"}

// ephemeralKinds are all of those, and one that is open.
func ephemeralKinds() (kinds []int) {
	for _, kind := range gate.Kinds() {
		if nostr.IsEphemeralKind(kind) {
			kinds = append(kinds, kind)
		}
	}
	return append(kinds, 20001, 20002, 20003, 20004)
}

// TestEphemeralOfAnotherNode: what another node hands over is shown to those
// whom this node's own table lets read it, as the oracle has them, and it is
// the same delivery as of an event that was taken here.
func TestEphemeralOfAnotherNode(t *testing.T) {
	seed := gatetest.Seed("ephemerals")
	g := gatetest.New(seed, 5)
	for _, o := range []oracle.Options{{Rules: ephemeralRules}, {Rules: ephemeralRules, Wildcard: gate.WildcardExclude}, {Rules: ephemeralRules, AuthRequired: true}} {
		table := storetest.MustTable(t, gate.Options{Rules: o.Rules, Wildcard: o.Wildcard, AuthRequired: o.AuthRequired})
		here, _ := open(t)
		here.SetTable(table)
		there, _ := open(t)
		there.SetTable(table)
		there.cfg.Ephemeral = func(_ *nostr.Event, json []byte) { here.DeliverEphemeral(json) }
		got, own := catch(here), catch(there)
		shown, withheld := 0, 0
		for _, kind := range ephemeralKinds() {
			for range 20 {
				ev := g.EventOf(kind)
				if a := there.Submit(context.Background(), Submission{Event: ev}); !a.OK {
					t.Fatalf("kind %d: %v", kind, a.Message())
				}
				if len(*got) != 1 || !reflect.DeepEqual((*got)[0].Subject, (*own)[0].Subject) || string((*got)[0].JSON) != string((*own)[0].JSON) {
					t.Fatalf("kind %d: handed over %+v, taken %+v", kind, *got, *own)
				}
				d := (*got)[0]
				*got, *own = nil, nil
				for range 20 {
					reader := g.Reader()
					filter := g.Filter(reader, []*nostr.Event{ev})
					filter.Search, filter.Limit, filter.LimitZero = "", 0, false
					granted, err := here.Authorize(WithReader(context.Background(), gate.NewReader(reader...)), gate.SurfaceReq, []nostr.Filter{filter})
					if err != nil {
						continue
					}
					may := filter.Matches(ev) && here.CanRead(granted[0].Scope, &d)
					if want := oracle.Visible(o, reader, filter, ev); may != want {
						t.Errorf("seed %d: kind %d to %.8s by %v: shown %v, want %v", seed, kind, reader, filter, may, want)
					} else if may {
						shown++
					} else if oracle.Gated(o, ev) {
						withheld++
					}
				}
			}
		}
		if shown < 50 || withheld < 50 {
			t.Errorf("%d were shown and %d withheld: the test says little", shown, withheld)
		}
	}
}

// catch takes a relay's deliveries.
func catch(r *Relay) *[]Delivery {
	got := new([]Delivery)
	r.OnDelivery(func(batch []Delivery) { *got = append(*got, batch...) }, func() {})
	return got
}

// TestOnlyEphemeralsAreHandedOver: this node believes nothing of what another
// one says, and does not hand on what it was handed.
func TestOnlyEphemeralsAreHandedOver(t *testing.T) {
	r, _ := open(t)
	got, handed := catch(r), 0
	r.cfg.Ephemeral = func(*nostr.Event, []byte) { handed++ }
	key := storetest.NewKey("a")
	good := key.Sign(20001, 0, "good")
	forged := *good
	forged.Content = "forged"
	resigned := *good
	resigned.Sig = strings.Repeat("0", 128)
	for name, json := range map[string][]byte{
		"nothing":        nil,
		"no JSON":        []byte("EVENT"),
		"stored":         wire.AppendEvent(nil, key.Sign(1, 0, "stored")),
		"replaceable":    wire.AppendEvent(nil, key.Sign(30000, 0, "stored")),
		"another id":     wire.AppendEvent(nil, &forged),
		"not signed":     wire.AppendEvent(nil, &resigned),
		"one and more":   append(wire.AppendEvent(nil, good), '{'),
		"in a list":      []byte(fmt.Sprintf("[%s]", wire.AppendEvent(nil, good))),
		"a member twice": []byte(strings.Replace(string(wire.AppendEvent(nil, good)), "{", `{"kind":20001,`, 1)),
	} {
		if r.DeliverEphemeral(json); len(*got) != 0 {
			t.Errorf("%s: delivered %s", name, (*got)[0].JSON)
			*got = nil
		}
	}
	// Members that nobody signed do not get through.
	r.DeliverEphemeral([]byte(strings.Replace(string(wire.AppendEvent(nil, good)), "{", `{"more":1,`, 1)))
	if len(*got) != 1 || string((*got)[0].JSON) != string(wire.AppendEvent(nil, good)) || (*got)[0].Seq != 0 {
		t.Errorf("delivered %+v", *got)
	}
	if handed != 0 {
		t.Errorf("%d were handed on", handed)
	}
	if r.Reject(func(context.Context, *nostr.Event) (bool, string) { return true, "blocked: no" }); r.Submit(t.Context(), Submission{Event: good}).OK || handed != 0 {
		t.Error("what was refused is handed over")
	}
}
