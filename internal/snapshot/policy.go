package snapshot

import (
	"slices"
	"time"
)

// Policy says what retention keeps of each agent. Pinned bundles are kept and not
// counted; so are those whose time is still to come, which a clock that was wrong gave
// them. The newest verified one is always kept, and what one that is kept rests on.
type Policy struct {
	Keep          int           // bundles that somebody asked for; 0 is no bound
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

// kept are the ids of the bundles that stay.
func (p Policy) kept(list []Info, now time.Time) map[string]bool {
	kept := map[string]bool{lastVerified(list, now): true}
	most := map[bool]int{false: p.Keep, true: p.KeepAutomatic}
	count := map[bool]int{}
	for _, info := range list {
		auto := info.Automatic()
		switch {
		case info.Pinned, info.ToCome(now):
			kept[info.ID] = true
		case p.MaxAge > 0 && now.Sub(info.CreatedAt) > p.MaxAge:
		case most[auto] == 0 || count[auto] < most[auto]:
			kept[info.ID] = true
			count[auto]++
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

// ToCome reports whether the bundle's time is still to come, by more than a day: a clock
// that was ahead gave it.
func (i Info) ToCome(now time.Time) bool { return i.CreatedAt.Sub(now) > ahead }

// lastVerified returns the newest verified bundle; one whose time is to come only if
// there is no other. What it rests on stays with it.
func lastVerified(list []Info, now time.Time) (id string) {
	for _, info := range list {
		switch {
		case !info.Verified():
		case !info.ToCome(now):
			return info.ID
		case id == "":
			id = info.ID
		}
	}
	return id
}
