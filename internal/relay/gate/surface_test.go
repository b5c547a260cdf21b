package gate_test

import (
	"testing"

	"engramd/internal/relay/gate"
)

func TestSurfaces(t *testing.T) {
	all := gate.Surfaces()
	if len(all) != gate.NumSurfaces-1 {
		t.Fatalf("%d surfaces, want %d", len(all), gate.NumSurfaces-1)
	}
	seen := map[string]bool{"": true, "unknown": true}
	for i, s := range all {
		if int(s) != i+1 {
			t.Errorf("surface %v is number %d, want %d", s, s, i+1)
		}
		if seen[s.String()] {
			t.Errorf("surface %d has the name %q, which is none or another's", s, s)
		}
		seen[s.String()] = true
	}
	for _, none := range []gate.Surface{0, gate.Surface(gate.NumSurfaces), 255} {
		if none.String() != "unknown" {
			t.Errorf("surface %d is called %q", none, none)
		}
	}
}
