package proof

import (
	"context"
	"testing"

	"engramd/internal/e2e/cluster/nodes"
	"engramd/internal/e2e/cluster/work"
)

// TestHeaderIsUsedOnce: of two calls with one signed header at two nodes one is
// accepted, whether they are concurrent or one after the other.
func TestHeaderIsUsedOnce(t *testing.T) {
	t.Parallel()
	c := nodes.Start(t, nodes.Options{})
	w := work.NewWorld(c, nodes.ManagerKey(), nodes.Name, 1)
	w.Rounds(context.Background(), 10, w.UsedHeaders)
	for _, v := range w.Violations() {
		t.Error(v)
	}
	t.Log(w.Summary())
}
