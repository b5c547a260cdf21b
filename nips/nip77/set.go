// Package nip77 finds out which events two sides do not have in common, as NIP-77
// does: negentropy, protocol version 1. Both sides hold a set of times and ids.
// One asks (Initiator), the other answers (Set.Reply) and keeps nothing between
// two messages but the set itself.
//
// Messages are those of a stranger: every length is held against the bytes that
// are there before anything is made of it, and what an answer costs is bounded by
// the length of the message and by the limit, not by the set. The package does no
// I/O, reads no clock and knows no events.
package nip77

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sort"
)

// Version is the protocol's version byte, the first of every message.
const Version = 0x61

// MinLimit is the least limit of a message's bytes with which every message still
// gets the two sides on.
const MinLimit = 4096

const (
	idSize          = 32
	fingerprintSize = 16
	sumEvery        = 64 // items between two sums: what a fingerprint costs at most, twice
)

// ErrTime means that an item's time is negative or too large for the protocol.
var ErrTime = errors.New("a time outside of what negentropy can say")

// Item is one event: its created_at, and its id as bytes.
type Item struct {
	CreatedAt int64
	ID        [idSize]byte
}

func compare(a, b Item) int {
	if c := cmp.Compare(a.CreatedAt, b.CreatedAt); c != 0 {
		return c
	}
	return bytes.Compare(a.ID[:], b.ID[:])
}

// sum is a sum of ids modulo 2^256, the lowest word first.
type sum [4]uint64

func (s *sum) add(id *[idSize]byte) {
	var carry uint64
	for i := range s {
		s[i], carry = bits.Add64(s[i], binary.LittleEndian.Uint64(id[8*i:]), carry)
	}
}

func (s *sum) sub(other sum) {
	var borrow uint64
	for i := range s {
		s[i], borrow = bits.Sub64(s[i], other[i], borrow)
	}
}

// Set is what one side has: 40 bytes an item and half a byte more for the sums.
// It never changes, so that any number of goroutines may use it.
type Set struct {
	items []Item
	sums  []sum // sums[k] is that of the first k*sumEvery items
}

// NewSet makes a set of items. It takes the slice over: sorts it in place, and
// drops an item that is there twice.
func NewSet(items []Item) (*Set, error) {
	for i := range items {
		if t := items[i].CreatedAt; t < 0 || t == math.MaxInt64 {
			return nil, fmt.Errorf("%w: %d", ErrTime, t)
		}
	}
	if !slices.IsSortedFunc(items, compare) {
		slices.SortFunc(items, compare)
	}
	items = slices.Compact(items)
	sums := make([]sum, 1, len(items)/sumEvery+1)
	var s sum
	for i := range items {
		s.add(&items[i].ID)
		if (i+1)%sumEvery == 0 {
			sums = append(sums, s)
		}
	}
	return &Set{items: items, sums: sums}, nil
}

// Len is how many items the set has.
func (s *Set) Len() int { return len(s.items) }

// upTo is the sum of the first n items.
func (s *Set) upTo(n int) sum {
	k := n / sumEvery
	total := s.sums[k]
	for i := k * sumEvery; i < n; i++ {
		total.add(&s.items[i].ID)
	}
	return total
}

// fingerprint is that of the items from lower up to upper.
func (s *Set) fingerprint(lower, upper int) [fingerprintSize]byte {
	total := s.upTo(upper)
	total.sub(s.upTo(lower))
	var in [idSize + maxVarint]byte
	for i, word := range total {
		binary.LittleEndian.PutUint64(in[8*i:], word)
	}
	hash := sha256.Sum256(appendVarint(in[:idSize], uint64(upper-lower)))
	return [fingerprintSize]byte(hash[:fingerprintSize])
}

// find is the first item at or after from that does not lie below b.
func (s *Set) find(from int, b bound) int {
	if b.infinite() {
		return len(s.items)
	}
	return from + sort.Search(len(s.items)-from, func(i int) bool {
		return compare(s.items[from+i], b.Item) >= 0
	})
}

// before is the shortest bound with item i above it and item i-1 below.
func (s *Set) before(i int) bound {
	last, next := &s.items[i-1], &s.items[i]
	b := bound{Item: Item{CreatedAt: next.CreatedAt}}
	if last.CreatedAt != next.CreatedAt {
		return b
	}
	for b.len < idSize {
		b.ID[b.len] = next.ID[b.len]
		b.len++
		if last.ID[b.len-1] != next.ID[b.len-1] {
			break
		}
	}
	return b
}
