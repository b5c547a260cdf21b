package snapshot

import (
	"slices"
	"time"

	"engramd/internal/snapshot/bundle"
)

// Policy says what retention keeps of each agent. Pinned bundles are kept and
// not counted; so are those whose time is still to come, which a clock that was
// wrong gave them. Each kind is counted apart, so that bundles of less than the
// whole memory take no whole one's place. The newest verified whole one is
// always kept (without one, the newest verified one of what comes nearest to
// it), and what one that is kept rests on.
type Policy struct {
	Keep          int           // bundles that somebody asked for, of each kind; 0 is no bound
	KeepAutomatic int           // bundles that a program made by itself; 0 is no bound
	MaxAge        time.Duration // 0 is no bound
}

// DefaultPolicy keeps 30 of each sort and none older than 90 days.
func DefaultPolicy() Policy {
	return Policy{Keep: 30, KeepAutomatic: 30, MaxAge: 90 * 24 * time.Hour}
}

// ahead is how far from now a bundle's time may be to come.
const ahead = 24 * time.Hour

// Expired returns the ids that the policy deletes of an agent's bundles, in the
// order in which to delete them: oldest first, but those that rest on others
// before these. list is as List returns it.
func (p Policy) Expired(list []Info, now time.Time) []string {
	kept := p.kept(list, now)
	left := slices.DeleteFunc(slices.Clone(list), func(i Info) bool { return kept[i.ID] })
	var expired []string
	for len(left) > 0 {
		last := -1 // the oldest on which no other rests
		for i, info := range left {
			if !slices.ContainsFunc(left, func(other Info) bool { return other.Parent == info.ID }) {
				last = i
			}
		}
		if last < 0 {
			break // records that say so in a circle
		}
		expired = append(expired, left[last].ID)
		left = slices.Delete(left, last, last+1)
	}
	return expired
}

// kept returns the ids of the bundles that stay.
func (p Policy) kept(list []Info, now time.Time) map[string]bool {
	kept := map[string]bool{lastVerified(list, now): true}
	most := map[bool]int{false: p.Keep, true: p.KeepAutomatic}
	count := map[counted]int{}
	for _, info := range list {
		auto := info.Automatic()
		as := info.counted()
		switch {
		case info.Pinned, info.ToCome(now):
			kept[info.ID] = true
		case p.MaxAge > 0 && now.Sub(info.CreatedAt) > p.MaxAge:
		case most[auto] == 0 || count[as] < most[auto]:
			kept[info.ID] = true
			count[as]++
		}
	}
	// Parents are older than their children, unless a clock was set back.
	for grown := true; grown; {
		grown = false
		for _, info := range list {
			if kept[info.ID] && info.Parent != "" && !kept[info.Parent] {
				kept[info.Parent], grown = true, true
			}
		}
	}
	return kept
}

// counted is with which others retention counts a bundle.
type counted struct {
	automatic, managed bool
	kind               bundle.Kind
}

// counted leaves the kind out for bundles made over the network: who manages
// the relay there must not learn from what is left whether an agent has a
// memory.
func (i Info) counted() counted {
	c := counted{automatic: i.Automatic(), managed: i.Managed != ""}
	if !c.managed {
		c.kind = i.Kind
	}
	return c
}

// worth returns how near a kind comes to the whole memory; 0 for nothing that
// must be kept.
func worth(k bundle.Kind) int {
	return slices.Index([]bundle.Kind{bundle.KindEmpty, bundle.KindPartial, bundle.KindOwners, bundle.KindUnknown, bundle.KindWhole}, k)
}

// ToCome reports whether the bundle's time is still to come, by more than a
// day: a clock that was ahead gave it.
func (i Info) ToCome(now time.Time) bool { return i.CreatedAt.Sub(now) > ahead }

// lastVerified returns the newest verified bundle of those that are worth most,
// never an empty one; one whose time is to come only if there is no other. What
// it rests on stays with it.
func lastVerified(list []Info, now time.Time) (id string) {
	best := 0
	for _, info := range list {
		value := worth(info.Kind)
		if value > 0 && !info.ToCome(now) {
			value += worth(bundle.KindWhole)
		}
		if info.Verified() && value > best {
			id, best = info.ID, value
		}
	}
	return id
}
