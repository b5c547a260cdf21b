package cluster

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Past keeps the hashes of what was read for longer than the state does. It is used by
// several goroutines.
type Past interface {
	// Note keeps the hash up to a number. It must not block.
	Note(number uint64, hash [16]byte)
	// At returns it, if it is kept.
	At(number uint64) (hash [16]byte, known bool)
}

// HashAt returns the hash of all messages up to a number, if a node has read them and
// it is kept. A node that waits to know which log the majority has read knows none.
func HashAt(n *Node, number uint64) (hash [16]byte, known bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.err != nil || n.held > 0 {
		return hash, false
	}
	hash, known = n.seen.trail.at(number, n.seen.number)
	if !known && n.o.Past != nil && number <= n.seen.number {
		return n.o.Past.At(number)
	}
	return hash, known
}

// Hold keeps the log from being trimmed beyond what a node has executed now, until release
// is called: the node reports no more meanwhile.
func Hold(n *Node) (release func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	at := reported(n)
	n.holds = append(n.holds, &at)
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.holds = slices.DeleteFunc(n.holds, func(h *uint64) bool { return h == &at })
	}
}

// reported is up to which message a node says that its database is durable.
func reported(n *Node) uint64 {
	number := n.durable.following() - 1
	for _, at := range n.holds {
		number = min(number, *at)
	}
	return number
}

// Removed reports whether somebody has taken a node out (Remove), as far as that is known.
func Removed(n *Node, id NodeID) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Contains(n.seen.removed, id)
}

// ErrPerson means that a node which was struck out does not join again by itself.
var ErrPerson = errors.New("a person must have it join again (engramd cluster rejoin, docs/cluster.md)")

// againEvery is how often a node joins again by itself.
const againEvery = 24 * time.Hour

// Again returns nil if a node that was struck out, and whose database stands at a
// place, may join again by itself with another one's database: members that run have
// read the same log up to there, so that nothing is lost. hashes are what they have for
// the place's number, last is when it did so before.
func Again(p Place, hashes [][16]byte, last, now time.Time, f Faults) error {
	if !f.AgainOften && now.Sub(last).Abs() < againEvery {
		return fmt.Errorf("it did so by itself %s ago: %w", now.Sub(last).Round(time.Second), ErrPerson)
	}
	if f.AgainUnasked {
		return nil
	}
	for _, hash := range hashes {
		if hash != p.Trail || p.Trail == [16]byte{} {
			return fmt.Errorf("a member has read another log up to message %d, so that this database may be the only one with some writes: %w", p.At.Number, ErrPerson)
		}
	}
	if len(hashes) == 0 {
		return fmt.Errorf("no member that runs knows what the log said up to message %d: %w", p.At.Number, ErrPerson)
	}
	return nil
}
