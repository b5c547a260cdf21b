package transfer

import (
	"slices"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client/clienttest"
	"engramd/internal/protocol/wire"
	"engramd/nips/niptemp"
)

// A relay that shows contracts to strangers is not told the ids of another
// relay's contracts, because an id opens them. A dry run tells none to any
// relay.
func TestTransferTellsNoIDsOfContracts(t *testing.T) {
	now := time.Now().Unix()
	secret := signed(t, "worker", niptemp.KindEntry, now-50, `{"type":"message","content":"x"}`,
		nostr.Tag{"d", "0f8fad5b-d9cb-469f-a165-70867728950e"}, nostr.Tag{"t", "message"}, nostr.Tag{"p", who(t, "agent").PubKey()})
	for name, sides := range map[string][2]bool{"the target": {true, false}, "the source": {false, true}, "neither": {true, true}} {
		relays := [2]*syncing{}
		var urls [2]string
		for i, hides := range sides {
			relays[i] = &syncing{hides: hides, Hoard: clienttest.Hoard{Events: []*nostr.Event{secret, clienttest.EngramAt(t, "agent", "owner", "mem/a", "x", now-40)}}}
			urls[i] = startSyncing(t, relays[i])
		}
		for _, dry := range []bool{true, false} {
			move(t, who(t, "agent"), urls[:1], urls[1:], func(tr *Transfer) { tr.DryRun = dry })
		}
		for i, relay := range relays {
			asked := slices.ContainsFunc(relay.opened(), func(f nostr.Filter) bool { return slices.Contains(f.Kinds, niptemp.KindEntry) })
			if both := sides[0] && sides[1]; asked != both || len(relay.opened()) == 0 {
				t.Errorf("%s is open, relay %d: reconciled contracts: %t", name, i, asked)
			}
		}
	}
}

// opened returns the filters of the sessions so far.
func (s *syncing) opened() []nostr.Filter {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.filters)
}

// refusesStrangers answers a question for contracts that names nobody.
func (s *syncing) refusesStrangers(c *clienttest.Conn, f wire.Frame) bool {
	if !s.hides || f.Label != wire.LabelReq || f.Filters[0].Authors != nil || f.Filters[0].Tags != nil || !slices.Contains(f.Filters[0].Kinds, niptemp.KindEntry) {
		return false
	}
	return c.Send(wire.AppendClosed(nil, f.SubID, "restricted: not for strangers"))
}
