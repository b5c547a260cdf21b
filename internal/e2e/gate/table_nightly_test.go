//go:build nightly

package gate

import (
	"testing"

	"engramd/internal/e2e/rig"
	"engramd/internal/relay/gate/oracle"
)

// otherOptions is every combination of options without rules.
func otherOptions() (all []oracle.Options) {
	for _, wildcard := range []string{"", "exclude"} {
		for _, ids := range []string{"", "party"} {
			for _, contracts := range []string{"", "parties", "public"} {
				all = append(all, oracle.Options{Wildcard: wildcard, IDs: ids, Contracts: contracts, Replicas: [][]string{{rig.GateReplica.Pub}, nil}[len(all)%2]})
			}
		}
	}
	return all
}

func TestGateTableOfOthers(t *testing.T)     { gateTable(t, otherOptions()) }
func TestGateSharesOfOthers(t *testing.T)    { gateSharesOf(t, otherOptions()) }
func TestGateSyncBoundOfOthers(t *testing.T) { gateSyncBoundOf(t, otherOptions()) }
