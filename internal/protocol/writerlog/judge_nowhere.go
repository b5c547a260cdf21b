package writerlog

import (
	"math"
	"slices"
)

// nowhere says why no relay shows a number whose id is known. before is when the
// number before it was written that is there. What is not certain to have been
// stored is not missed.
func (j *judging) nowhere(l *log, n int64, at *num, before int64) Kind {
	if at.at > 0 { // the state knows it
		before = at.at
	}
	if len(at.took) > 0 {
		return j.taken(at)
	}
	silent, all := false, len(j.in.Relays) > 0
	for i, r := range j.in.Relays {
		silent = silent || !r.Whole || !r.History
		all = all && j.promises(i, before, at.d)
	}
	switch {
	case silent:
		return Unsure
	case !all:
		return Dropped
	case n <= l.least && before <= j.oldest: // no relay shows anything as old: it may have been stored where nobody asks any more
		return Unsure
	case at.own && !at.stored || !at.own && !j.settled(l, n): // it may never have left the machine
		return Unsure
	}
	return Missing
}

// taken is nowhere of a number of which it is known which relays took it: what one
// of them promised, no other can excuse.
func (j *judging) taken(at *num) Kind {
	silent, asked := false, false
	for i, r := range j.in.Relays {
		switch {
		case !slices.Contains(at.took, r.URL):
		case !r.Whole || !r.History:
			silent = true
		case j.promises(i, at.at, at.d):
			return Missing
		default:
			asked = true
		}
	}
	if silent || !asked { // it may be where nobody answered, or nobody asks any more
		return Unsure
	}
	return Dropped
}

// promises reports whether a relay promises to keep what was written at a time, at an
// address if that is known.
func (j *judging) promises(i int, at int64, d string) bool {
	p := j.in.Relays[i].Promise
	return p.Made && !j.full[i].dropped(at, d) && (p.Days == 0 || at-slack >= j.in.Now-p.Days*day)
}

// settled reports whether the log says by itself that a number was stored that is
// nowhere: the first event behind it to which its fate was known does not say
// that it is void, and neither can one between them.
func (j *judging) settled(l *log, n int64) bool {
	for k := n + 1; k <= l.last && j.steps < maxSteps; k++ {
		j.steps++
		at := l.of[k]
		switch {
		case at == nil:
			return false
		case at.event != nil:
			if !at.event.Link.IsOpen(n) {
				return true
			}
		case !at.void:
			return false
		}
	}
	return false
}

// full is where a relay has as many superseded events as it keeps.
type full struct {
	of    map[string]int64 // by address, the time since which
	since int64            // the greatest of these
}

// fullOf says it of a relay.
func fullOf(r Shown, events map[string]Event) full {
	f := full{of: map[string]int64{}, since: math.MinInt64}
	if r.Promise.Versions <= 0 {
		return f
	}
	times := map[string][]int64{}
	for _, id := range r.Past {
		times[events[id].D] = append(times[events[id].D], events[id].At)
	}
	for d, all := range times {
		if int64(len(all)) >= r.Promise.Versions {
			slices.Sort(all)
			f.of[d] = all[int64(len(all))-r.Promise.Versions]
			f.since = max(f.since, f.of[d])
		}
	}
	return f
}

// dropped reports whether the relay may have dropped what was written at a time. Of an
// address that is not known ("") it is any that has so many.
func (f full) dropped(at int64, d string) bool {
	if d == "" {
		return at-slack <= f.since
	}
	since, is := f.of[d]
	return is && at <= since
}
