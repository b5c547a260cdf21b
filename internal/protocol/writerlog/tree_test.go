package writerlog

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"golang.org/x/mod/sumdb/tlog"
)

// TestTree: the heads are RFC 6962's, of which the empty one and those of one and
// two leaves are computed here by hand.
func TestTree(t *testing.T) {
	var tree Tree
	if got := tree.Root(0); got != sha256.Sum256(nil) {
		t.Errorf("the root of nothing is %x", got)
	}
	one, two := Hash{1}, Hash{2}
	leaf := func(h Hash) []byte { s := sha256.Sum256(append([]byte{0}, h[:]...)); return s[:] }
	tree.Append(one)
	if got := tree.Root(1); hex.EncodeToString(got[:]) != hex.EncodeToString(leaf(one)) {
		t.Errorf("the root of one leaf is %x", got)
	}
	tree.Append(two)
	want := sha256.Sum256(append(append([]byte{1}, leaf(one)...), leaf(two)...))
	if got := tree.Root(2); got != want {
		t.Errorf("the root of two leaves is %x", got)
	}
}

// TestProof: a tree proves that it begins with each of those before it, and with
// no other.
func TestProof(t *testing.T) {
	var tree Tree
	for n := range 40 {
		tree.Append(Hash{byte(n)})
	}
	for n := int64(1); n <= 40; n++ {
		for old := int64(1); old <= n; old++ {
			p, err := tree.Proof(n, old)
			if err != nil {
				t.Fatal(err)
			}
			if err := tlog.CheckTree(p, n, tree.Root(n), old, tree.Root(old)); err != nil {
				t.Errorf("%d in %d: %v", old, n, err)
			}
			wrong := tree.Root(old)
			wrong[5] ^= 1
			if tlog.CheckTree(p, n, tree.Root(n), old, wrong) == nil {
				t.Errorf("%d in %d: another root is taken", old, n)
			}
		}
	}
}
