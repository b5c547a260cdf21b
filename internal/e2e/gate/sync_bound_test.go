package gate

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/rig"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/gate/oracle"
	"engramd/internal/relay/http"
	"engramd/internal/relay/http/bridgetest"
	"engramd/nips/nip01"
)

// The bounds of one reconciliation below, for readers and for a replica.
const (
	gateSyncBound    = 4
	gateReplicaBound = 30
	gateTooMany      = nip01.PrefixBlocked + ": too many query results"
)

// TestGateSyncBound asks for a reconciliation of every filter shape of the
// table as every reader, where few events are allowed in one. Only visible
// events count: hidden ones neither exceed the bound nor change the answer
// above it. The relay runs in this process, under bounds that no memory is small
// enough for. The options take turns: see gateShares.
func TestGateSyncBound(t *testing.T) { gateSyncBoundOf(t, gateTableOptions()) }

func gateSyncBoundOf(t *testing.T, options []oracle.Options) {
	first := int(rig.Seed(t) % 4)
	for turn, o := range options {
		name := fmt.Sprintf("wildcard=%s,ids=%s,contracts=%s,rules=%d,replicas=%d,auth=%v", o.Wildcard, o.IDs, o.Contracts, len(o.Rules), len(o.Replicas), o.AuthRequired)
		t.Run(name, func(t *testing.T) {
			g := gateRun{options: o, events: gateTableEvents(), shares: gateTableShares(o, first+turn)}
			for _, r := range gateTableReaders() {
				g.asks = append(g.asks, gateTableAsks(r, g.events, len(o.Rules) > 0))
			}
			g.options = oracle.Judge(o, g.events)
			relay := bridgetest.Prepare(t, gate.Options{Wildcard: o.Wildcard, IDs: o.IDs, Contracts: o.Contracts, Rules: o.Rules, Replicas: o.Replicas, AuthRequired: o.AuthRequired})
			relay.Limits.Sync.Items, relay.Limits.Sync.ReplicaItems = gateSyncBound, gateReplicaBound
			relay.Serve(t, relayhttp.Options{}, nil)
			g.publish(t, rig.DialAt(t, relay.URL))
			shown := oracle.Left(oracle.Heads(g.events), g.events)
			var seen gateBounded
			for i, r := range gateTableReaders() {
				conn := &gateConn{Peer: rig.DialAt(t, relay.URL, r.keys...), gateReader: r, marker: "none"}
				asks := g.asksOn(gate.SurfaceSync, i)
				answers, err := askSync(conn, gate.SurfaceSync, asks)
				if err != nil {
					t.Fatalf("%s: %v", r.name, err)
				}
				for n, ask := range asks {
					if wrong := g.judgeBounded(r.pubs(), ask, shown, answers[n], &seen); wrong != "" {
						t.Errorf("%s asks %s: %s\nfilters %s\noptions %+v", r.name, ask.name, wrong, gateJSON(ask.filters), o)
					}
				}
			}
			t.Logf("%+v", seen)
			if seen.within == 0 || seen.over == 0 || seen.hiddenOver == 0 {
				t.Errorf("the table does not try the bound: %+v", seen)
			}
		})
	}
}

// gateBounded counts filters that were let through: those within the bound, those
// over it, and of the first those that are over it with what is hidden.
type gateBounded struct{ within, over, hiddenOver int }

// judgeBounded describes what is wrong with the answers to the filters of one
// request; the first refusal is reported.
func (g *gateRun) judgeBounded(reader []string, ask gateAsk, shown []*nostr.Event, got gateAnswer, seen *gateBounded) string {
	most := gateSyncBound
	if slices.ContainsFunc(reader, func(key string) bool { return slices.Contains(g.options.Replicas, key) }) {
		most = gateReplicaBound
	}
	var all []*nostr.Event
	want := ""
	for _, f := range ask.filters {
		var visible []*nostr.Event
		matching := 0
		for _, ev := range shown {
			if oracle.Matches(f, ev) {
				matching++
			}
			if oracle.Visible(g.options, reader, f, ev) {
				visible = append(visible, ev)
			}
		}
		refused, reason := oracle.Refused(g.options, reader, f), ""
		switch {
		case refused != "":
			reason = refused + ": "
		case len(visible) > most:
			reason = gateTooMany
			seen.over++
		default:
			seen.within++
			if matching > most {
				seen.hiddenOver++
			}
		}
		if want == "" {
			want = reason
		}
		all = append(all, visible...)
	}
	switch {
	case want == gateTooMany && got.closed != want, !strings.HasPrefix(got.closed, want), want == "" && got.closed != "":
		return fmt.Sprintf("NEG-ERR %q, want %q", got.closed, want)
	case want != "":
		return ""
	}
	slices.SortFunc(all, func(a, b *nostr.Event) int { return strings.Compare(a.ID, b.ID) })
	return judgeSync(g.options, ask, slices.Compact(all), got)
}
