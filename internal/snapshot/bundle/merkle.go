package bundle

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"
)

// Leaf is one engram head in the tree of HeadsRoot: 32 bytes of d, 32 of the
// id, created_at as 8 bytes, big-endian.
type Leaf [72]byte

// NewLeaf returns the leaf of a head; createdAt in Unix seconds.
func NewLeaf(d, id [32]byte, createdAt int64) Leaf {
	var l Leaf
	copy(l[:32], d[:])
	copy(l[32:64], id[:])
	binary.BigEndian.PutUint64(l[64:], uint64(createdAt))
	return l
}

// HeadsRoot returns the Merkle tree hash (RFC 6962, section 2.1, with SHA-256)
// of the leaves in byte order. It sorts the slice. No leaves: the hash of
// nothing.
func HeadsRoot(leaves []Leaf) [32]byte {
	slices.SortFunc(leaves, func(a, b Leaf) int { return bytes.Compare(a[:], b[:]) })
	if len(leaves) == 0 {
		return sha256.Sum256(nil)
	}
	// Perfect subtrees from left to right; the i-th bit of n says whether one
	// with 2^i leaves waits on the stack.
	var stack [][32]byte
	for n, leaf := range leaves {
		stack = append(stack, hashLeaf(leaf))
		for ; n&1 == 1; n >>= 1 {
			stack = foldLast(stack)
		}
	}
	for len(stack) > 1 {
		stack = foldLast(stack)
	}
	return stack[0]
}

func foldLast(stack [][32]byte) [][32]byte {
	last := len(stack) - 1
	stack[last-1] = hashNode(stack[last-1], stack[last])
	return stack[:last]
}

func hashLeaf(l Leaf) [32]byte {
	var b [1 + len(l)]byte // RFC 6962: 0x00 before a leaf
	copy(b[1:], l[:])
	return sha256.Sum256(b[:])
}

func hashNode(left, right [32]byte) [32]byte {
	var b [65]byte
	b[0] = 1 // RFC 6962: 0x01 before two hashes
	copy(b[1:33], left[:])
	copy(b[33:], right[:])
	return sha256.Sum256(b[:])
}
