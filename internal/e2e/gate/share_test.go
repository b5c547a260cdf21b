package gate

import (
	"testing"

	"engramd/internal/e2e/rig"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/gate/oracle"
)

// gateShares is which share of the questions one relay is asked on the surfaces
// that take turns; of one part it is all.
//
// What a filter may ask, by whom and under which options is decided in one place for
// all surfaces, and REQ asks every question under every set of options. What another
// surface can do wrong by itself, it does wrong for a kind, a constraint, a reader or an
// option. So each of those meets each of the others there, some reader asks every
// question under every set, and each reader asks every question, but under one set of
// four; of the two with rules under one; of a private relay under that alone. Which these
// are changes from run to run, and make soak-gate asks everything everywhere.
type gateShares struct{ parts, turn int }

func gateTableShares(o oracle.Options, turn int) gateShares {
	switch {
	case rig.Soak(), o.AuthRequired:
		return gateShares{}
	case len(o.Rules) > 0:
		return gateShares{2, turn}
	}
	return gateShares{4, turn}
}

func (s gateShares) has(part int) bool { return s.parts < 2 || (part+s.turn)%s.parts == 0 }

// asksOn returns what a reader asks on a surface.
func (g *gateRun) asksOn(s gate.Surface, reader int) (asks []gateAsk) {
	d := gateDrivers[s]
	for _, ask := range d.of(g.asks[reader]) {
		if !d.shared || g.shares.has(ask.kind+ask.constraint+reader+int(s)) {
			asks = append(asks, ask)
		}
	}
	return asks
}

// TestGateShares: wherever the shares begin, every reader asks for every kind and
// with every constraint on every surface under every option, and every question on
// every surface.
func TestGateShares(t *testing.T) { gateSharesOf(t, gateTableOptions()) }

func gateSharesOf(t *testing.T, options []oracle.Options) {
	asks := map[bool][][]gateAsk{} // with rules and without
	for _, ruled := range []bool{false, true} {
		for _, r := range gateTableReaders() {
			asks[ruled] = append(asks[ruled], gateTableAsks(r, gateTableEvents(), ruled))
		}
	}
	for s, d := range gateDrivers {
		if !d.shared {
			continue
		}
		for reader, r := range gateTableReaders() {
			for first := range 4 {
				asked := map[bool]map[string]bool{}
				for turn, o := range options {
					ruled, kinds, constraints := len(o.Rules) > 0, map[int]bool{}, map[int]bool{}
					if asked[ruled] == nil {
						asked[ruled] = map[string]bool{}
					}
					run := gateRun{asks: asks[ruled], shares: gateTableShares(o, first+turn)}
					for _, ask := range run.asksOn(gate.Surface(s), reader) {
						kinds[ask.kind], constraints[ask.constraint], asked[ruled][ask.name] = true, true, true
					}
					last := asks[ruled][reader][len(asks[ruled][reader])-1]
					if len(kinds) <= last.kind || len(constraints) <= last.constraint {
						t.Errorf("%s on %v under %+v: %d kinds and %d constraints", r.name, gate.Surface(s), o, len(kinds), len(constraints))
					}
				}
				for ruled, names := range asked {
					if want := len(asks[ruled][reader]); len(names) != want {
						t.Errorf("%s on %v is asked %d questions of %d", r.name, gate.Surface(s), len(names), want)
					}
				}
			}
		}
	}
}
