package proof

import (
	"testing"

	"engramd/internal/e2e/cluster/nodes"
)

// TestJoinWhileOthersWrite: a node that joins with an empty folder while
// clients write gets everything. It joins again and again, so that more members
// are gone than live, and its hashes are still compared.
func TestJoinWhileOthersWrite(t *testing.T) {
	t.Parallel()
	s := newStorm(t, nodes.Options{Race: map[int]bool{0: true, 1: true, 2: true}})
	s.calm(20)
	for i := range 5 {
		n := s.Node(1 + i%2)
		n.Kill()
		if err := n.Rejoin(s.Node(0)); err != nil {
			t.Fatal(err)
		}
		s.calm(20)
	}
	s.calm(400)
	s.judge()
}
