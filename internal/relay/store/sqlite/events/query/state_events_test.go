package query_test

import (
	"strings"
	"testing"

	"engramd/internal/relay/store/sqlite/events/query"
	"engramd/internal/relay/store/sqlite/storetest"
)

// TestContractEventsPlans wants what is asked of events about contracts to be
// answered from an index, without a scan of a table and without sorting.
func TestContractEventsPlans(t *testing.T) {
	s := storetest.MustOpen(t)
	for text, args := range query.ContractStatements() {
		plan, err := query.PlanOf(t.Context(), s, text, args...)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		for _, line := range plan {
			if strings.HasPrefix(line, "SCAN") && !strings.Contains(line, "CONSTANT") || strings.Contains(line, "TEMP B-TREE") {
				t.Errorf("%s\n%s", text, strings.Join(plan, "\n"))
			}
		}
	}
}
