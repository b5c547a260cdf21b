package api

import (
	"net/http"
	"reflect"
	"testing"

	"engramd/internal/relay/contracts"
	"engramd/internal/relay/gate"
)

// TestReadsAreSurfaces: every operation that returns contracts or entries
// without writing is a surface of its own, which the gate's table must drive.
func TestReadsAreSurfaces(t *testing.T) {
	shows := map[reflect.Type]bool{
		typeOf[contracts.ContractPage](): true, typeOf[contracts.Contract](): true, typeOf[contracts.EntryPage](): true, typeOf[contracts.SearchPage](): true,
		typeOf[contracts.Entry](): true, typeOf[contracts.Summary](): true, typeOf[contracts.Order](): true,
		typeOf[contracts.TransitionPage](): true,
	}
	seen := map[gate.Surface]string{}
	for _, op := range operations() {
		reads := shows[op.result] && (op.method == http.MethodGet || op.status == http.StatusOK && op.id != "moveContract")
		if reads != (op.surface != 0) {
			t.Errorf("%s: reads %v, surface %v", op.id, reads, op.surface)
		}
		if op.surface == 0 {
			continue
		}
		if other := seen[op.surface]; other != "" {
			t.Errorf("%s and %s are both %v", op.id, other, op.surface)
		}
		seen[op.surface] = op.id
	}
	if len(seen) == 0 {
		t.Error("nothing reads")
	}
}
