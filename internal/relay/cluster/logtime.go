package cluster

import (
	"slices"
	"time"
)

const (
	// clockSlack is how far the log's stamp may be from the members' clocks.
	clockSlack = 5 * time.Second
	// leadWithin is how far the clock of a node that leads may be from the log's time.
	leadWithin = 30 * time.Second
)

// bounded is the time of a message that the log stored at a time: within the slack
// of the lower median of the clocks that members carried which count. With an even
// number of them the stamp is one more; a member alone cannot put the time ahead of
// its own clock. Without any clock it is the stamp.
func bounded(s *state, at int64) int64 {
	if s.faults.TrustStamps {
		return at
	}
	clocks := make([]int64, 0, len(s.members)+1)
	for i, m := range s.members {
		if m.clock != 0 && s.counts(i) {
			clocks = append(clocks, m.clock)
		}
	}
	switch {
	case len(clocks) == 0:
		return at
	case len(clocks) == 1:
		return min(at, clocks[0])
	case len(clocks)%2 == 0:
		clocks = append(clocks, at)
	}
	slices.Sort(clocks)
	median := clocks[(len(clocks)-1)/2]
	return min(max(at, median-int64(clockSlack)), median+int64(clockSlack))
}

// offset is how far the machine's clock is ahead of the log's time.
func (p *position) offset(now time.Time) time.Duration { return now.Sub(p.clock(now)) }

// fit reports whether a node may lead by its clock.
func (p *position) fit(now time.Time) bool {
	return p.seen.faults.LeadByAnyClock || p.offset(now).Abs() <= leadWithin
}

// vigil is how long the node that leads has read nothing of the others, by a clock
// that nobody sets: the machine's may jump, and the log's may stand still.
type vigil struct {
	epoch uint64 // of the lease under which it watches, 0 for none
	quiet map[NodeID]quiet
}

type quiet struct {
	since time.Time // from when on the log was used
	beats int       // heartbeats of others since then
	used  bool      // it was
}

// leastBeats is how many heartbeats of others must have come while a member said
// nothing: a log that says nothing of anybody strikes nobody out.
const leastBeats = 2

// read notes a message. used says that it has commands of the store, or is a heartbeat
// of another node than this one: a log that nobody uses need not be trimmed.
func (v *vigil) read(sender NodeID, beat, used bool, now time.Time) {
	if v.epoch == 0 {
		return
	}
	for id, q := range v.quiet {
		if used && !q.used {
			q = quiet{since: now, used: true}
		}
		if beat {
			q.beats++
		}
		v.quiet[id] = q
	}
	if _, known := v.quiet[sender]; known {
		v.quiet[sender] = quiet{since: now}
	}
}

// unheard returns a member to strike out, if there is one. epoch is that of the
// node's lease, 0 while it does not lead.
func (v *vigil) unheard(epoch uint64, members []member, o *Options, now time.Time) (id NodeID, found bool) {
	if epoch != v.epoch {
		*v = vigil{epoch: epoch, quiet: make(map[NodeID]quiet)}
	}
	if epoch == 0 {
		return id, false
	}
	long := strikeTime
	if o.Faults.StrikeSoon {
		long = beatEvery
	}
	for _, m := range members {
		q, known := v.quiet[m.id]
		if !known {
			q = quiet{since: now}
			v.quiet[m.id] = q
		}
		if m.id != o.NodeID && now.Sub(q.since) >= long && q.beats >= leastBeats && q.used {
			return m.id, true
		}
	}
	return id, false
}
