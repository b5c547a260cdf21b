package proof

import (
	"context"
	"strings"
	"testing"

	"engramd/internal/e2e/cluster/nodes"
	"engramd/internal/e2e/cluster/work"
)

// TestHeaderIsUsedOnce: of two calls with one signed header at two nodes one is
// accepted, whether they are concurrent or one after the other. The same nodes are well,
// says engramd cluster verify, which leaves nothing behind but requests to vanish.
func TestHeaderIsUsedOnce(t *testing.T) {
	t.Parallel()
	c := nodes.Start(t, nodes.Options{})
	w := work.NewWorld(c, nodes.ManagerKey(), nodes.Name, 1)
	w.Rounds(context.Background(), 10, w.UsedHeaders)
	for _, v := range w.Violations() {
		t.Error(v)
	}
	t.Log(w.Summary())
	said, code := verified(t, c, 100)
	if code != 0 || !strings.Contains(said, "\nkept: ") || !strings.Contains(said, "left at the nodes: 7 of kind 62\n") {
		t.Errorf("engramd cluster verify ends with %d", code)
	}
	wantSame(t, c)
}
