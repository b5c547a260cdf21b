//go:build cgo

package memory

import (
	"testing"

	"engramd/internal/relay/http/bridgetest"
)

// The list is what the relay's write policy reads.
func TestApprovalsAreTheRelays(t *testing.T) {
	r := bridgetest.Start(t)
	owner, agent := who(t, "owner"), who(t, "agent")
	if _, err := ApprovalsOf(clientFor(t, owner, []string{r.URL}, nil)).Allow(t.Context(), agent.PubKey()); err != nil {
		t.Fatal(err)
	}
	if ok, err := r.Store.Approved(t.Context(), []string{owner.PubKey()}, agent.PubKey()); err != nil || !ok {
		t.Errorf("approved %v, %v", ok, err)
	}
}
