package gatetest

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate/oracle"
	"engramd/nips/nipae"
	"engramd/nips/niptemp"
)

// TestEventsAreTaken: the write policy accepts all generated events; others
// would prove nothing about reading.
func TestEventsAreTaken(t *testing.T) {
	const seed = 7
	g := New(seed, 5)
	g.Unsigned = true
	addresses := map[string]bool{}
	for _, ev := range g.Events(2000) {
		var err error
		switch ev.Kind {
		case 30174:
			err = nipae.CheckEnvelope(ev)
		case 30090:
			err = niptemp.CheckEntry(ev)
		case 30091:
			_, err = niptemp.Next(nil, ev)
		}
		if err != nil {
			t.Errorf("seed %d: %v: %v", seed, ev, err)
		}
		if ev.Kind < 30000 || ev.Kind >= 40000 {
			continue
		}
		address := fmt.Sprint(ev.Kind, ev.PubKey, ev.Tags.GetD())
		if addresses[address] {
			t.Errorf("seed %d: two events at %s", seed, address)
		}
		addresses[address] = true
	}
	if heads := oracle.Heads(g.Events(200)); len(heads) != 200 {
		t.Errorf("seed %d: %d of 200 events are heads", seed, len(heads))
	}
}

func TestReuseSupersedes(t *testing.T) {
	const seed = 8
	g := New(seed, 3)
	g.Unsigned, g.Reuse = true, true
	if heads := oracle.Heads(g.Events(300)); len(heads) > 290 {
		t.Errorf("seed %d: only %d of 300 events are superseded", seed, 300-len(heads))
	}
}

func TestSameSeedSameThings(t *testing.T) {
	draw := func() ([]*nostr.Event, [][]string, []nostr.Filter) {
		g := New(Seed("same"), 4)
		g.Unsigned = true
		events := g.Events(50)
		var readers [][]string
		var filters []nostr.Filter
		for range 50 {
			readers = append(readers, g.Reader())
			filters = append(filters, g.Filter(readers[len(readers)-1], events))
		}
		return events, readers, filters
	}
	e1, r1, f1 := draw()
	e2, r2, f2 := draw()
	if !reflect.DeepEqual(e1, e2) || !reflect.DeepEqual(r1, r2) || !reflect.DeepEqual(f1, f2) {
		t.Error("the same seed gives other things")
	}
}

func TestSignedEventsVerify(t *testing.T) {
	g := New(9, 3)
	for _, ev := range g.Events(10) {
		if ok, err := ev.CheckSignature(); !ok || err != nil || !ev.CheckID() {
			t.Errorf("kind %d: signature %v, %v", ev.Kind, ok, err)
		}
	}
}
