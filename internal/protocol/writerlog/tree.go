package writerlog

import (
	"errors"

	"golang.org/x/mod/sumdb/tlog"
)

// Tree is the Merkle tree over the ids of a log (RFC 6962), kept in memory. The
// zero Tree is empty.
type Tree struct {
	n      int64
	stored hashes
}

// hashes are those that tlog keeps for a tree, in its order.
type hashes []Hash

// ReadHashes implements tlog.HashReader.
func (h hashes) ReadHashes(at []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(at))
	for i, n := range at {
		if n < 0 || n >= int64(len(h)) {
			return nil, errors.New("a hash of the tree is not there")
		}
		out[i] = h[n]
	}
	return out, nil
}

// Leaf is the hash of an id as a leaf of the tree.
func Leaf(id Hash) Hash { return tlog.RecordHash(id[:]) }

// Append adds the id of the next number.
func (t *Tree) Append(id Hash) {
	more, err := tlog.StoredHashesForRecordHash(t.n, Leaf(id), t.stored)
	if err != nil {
		panic(err) // every hash of a tree in memory is there
	}
	t.stored = append(t.stored, more...)
	t.n++
}

// Size is how many numbers the tree is over.
func (t *Tree) Size() int64 { return t.n }

// Root returns the head of the tree over the first n numbers, n at most Size.
func (t *Tree) Root(n int64) Hash {
	root, err := tlog.TreeHash(n, t.stored)
	if err != nil {
		panic(err)
	}
	return root
}

// Proof returns the proof that the tree over the first n numbers begins with the
// one over the first old of them (RFC 6962, 2.1.2); 0 < old ≤ n ≤ Size.
func (t *Tree) Proof(n, old int64) (tlog.TreeProof, error) { return tlog.ProveTree(n, old, t.stored) }
