package cluster

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"engramd/internal/relay/store"
)

// chain is the hash over the outcomes of all commands of the store that were
// executed, and what nodes report of theirs. What has executed the same has the
// same hash.
type chain struct {
	hash    [32]byte
	count   uint64
	checks  []check  // the newest ones, by count
	reports []report // of the newest counts, by count and node
}

// check is what the hash was after a number of commands.
type check struct {
	count uint64
	hash  [32]byte
	at    store.LogPlace // of the last of them
}

type report struct {
	count uint64
	node  NodeID
	hash  [32]byte
}

const (
	// checkEvery is after how many commands nodes report their hash.
	checkEvery = 1000
	// mostChecks is how many of them are remembered.
	mostChecks = 4
	// liveTime is for how long a member counts as alive that was heard.
	liveTime = 30 * time.Second
)

// Seal chains what was executed: H = SHA-256(H, number, index, outcome, digest).
func (c *chain) Seal(d store.Done) {
	b := append(make([]byte, 0, 88), c.hash[:]...)
	b = binary.BigEndian.AppendUint64(b, d.Place.Number)
	b = binary.BigEndian.AppendUint64(b, uint64(d.Place.Index))
	b = binary.BigEndian.AppendUint64(b, uint64(d.Outcome))
	c.hash = sha256.Sum256(append(b, d.Digest[:]...))
	c.count++
	if c.count%checkEvery == 0 {
		c.checks = append(c.checks, check{c.count, c.hash, d.Place})
		c.checks = c.checks[max(0, len(c.checks)-mostChecks):]
	}
}

// report keeps what a node reports, of the newest counts that were reported.
func (c *chain) report(node NodeID, r Report) {
	i, found := slices.BinarySearchFunc(c.reports, report{count: r.Count, node: node}, func(a, b report) int {
		return cmp.Or(cmp.Compare(a.count, b.count), bytes.Compare(a.node[:], b.node[:]))
	})
	if found {
		c.reports[i].hash = r.Hash
		return
	}
	c.reports = slices.Insert(c.reports, i, report{r.Count, node, r.Hash})
	counts := 1
	for i := len(c.reports) - 1; i > 0; i-- {
		if c.reports[i-1].count != c.reports[i].count {
			counts++
		}
		if counts > mostChecks {
			c.reports = slices.Delete(c.reports, 0, i)
			break
		}
	}
}

// unreported returns the checks that a node has not reported yet, and that are
// not older than what is kept.
func (c *chain) unreported(node NodeID) (out []check) {
	for _, k := range c.checks {
		said := slices.ContainsFunc(c.reports, func(r report) bool { return r.count == k.count && r.node == node })
		if old := len(c.reports) > 0 && k.count < c.reports[0].count; !said && !old {
			out = append(out, k)
		}
	}
	return out
}

// disagreement returns why whose state this is must stop, by what was reported:
// nil if nothing says so.
func (s *state) disagreement() error {
	for i, r := range s.chain.reports {
		if i > 0 && s.chain.reports[i-1].count == r.count {
			continue
		}
		if err := s.disagreementAt(r.count); err != nil {
			return err
		}
	}
	return nil
}

// disagreementAt compares what was reported of one count. Members that are gone, as those
// who joined anew, have no say once all that are alive have reported.
func (s *state) disagreementAt(count uint64) error {
	same, all, waited := map[[32]byte]int{}, 0, false
	for _, m := range s.members {
		i := slices.IndexFunc(s.chain.reports, func(r report) bool { return r.count == count && r.node == m.id })
		switch {
		case i >= 0:
			same[s.chain.reports[i].hash]++
			all++
		case s.time-m.heard < int64(liveTime):
			waited = true
		}
	}
	differ := len(same) > 1 && !waited
	for hash, n := range same { // of at most one
		if 2*n > len(s.members) || 2*n > all && differ {
			return s.compare(count, hash)
		}
	}
	if differ {
		return fmt.Errorf("%w: after %d commands", ErrDisagree, count)
	}
	return nil
}

// compare compares the own hash with what the majority has.
func (s *state) compare(count uint64, hash [32]byte) error {
	for _, k := range s.chain.checks {
		if k.count == count && k.hash != hash {
			return fmt.Errorf("%w: after %d commands, up to message %d, command %d", ErrDiffers, count, k.at.Number, k.at.Index)
		}
	}
	return nil
}

// compared returns the latest count of which a majority of the members has
// reported this state's hash, 0 if there is none.
func (s *state) compared() (count uint64) {
	for _, k := range s.chain.checks {
		same := 0
		for _, m := range s.members {
			if slices.Contains(s.chain.reports, report{k.count, m.id, k.hash}) {
				same++
			}
		}
		if 2*same > len(s.members) {
			count = k.count
		}
	}
	return count
}
