package chain

import (
	"fmt"
	"math"
	"slices"
)

// judge is about one log.
func (j *judging) judge(l *log) {
	s := State{W: l.w, N: l.last}
	numbers := make([]int64, 0, len(l.of))
	for n := range l.of {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	var tree Tree
	next, before := int64(0), int64(0) // the number that follows, and when the one before was written
	l.least = l.last + 1
	for _, n := range slices.Backward(numbers) {
		if l.of[n].event != nil {
			l.least = n
		}
	}
	for _, n := range numbers {
		if n > next {
			j.gap(l, next, n-1)
		}
		next = n + 1
		at := l.of[n]
		j.number(l, n, at, before, &s)
		if at.event != nil {
			before = at.event.At
			l.newest = n
			s.Events++
			s.At = max(s.At, before)
			j.follows(l, n, at, &tree, &s)
		}
		if at.void {
			s.Void++
		}
		if id, ok := at.id(); ok && tree.Size() == n {
			tree.Append(id)
		}
	}
	s.Size, s.Root = tree.Size(), tree.Root(tree.Size())
	j.report.Logs = append(j.report.Logs, s)
}

// id returns the id of a number as a leaf; that of the event that is there, if
// several are known.
func (n *num) id() (Hash, bool) {
	switch {
	case n.event != nil:
		return ParseID(n.event.ID)
	case len(n.ids) > 0:
		return ParseID(n.ids[0])
	}
	return Hash{}, false
}

// gap is about numbers of which nothing tells the id.
func (j *judging) gap(l *log, from, to int64) {
	j.find(Finding{Kind: Unlogged, W: l.w, N: from, Detail: fmt.Sprintf("numbers %d to %d", from, to)}, int(min(to-from+1, 1<<30)))
}

// number is about one number: whether it is there, and once.
func (j *judging) number(l *log, n int64, at *num, before int64, s *State) {
	f := Finding{W: l.w, N: n, IDs: at.ids}
	if at.event != nil {
		f.Slug = at.event.Slug
	}
	switch {
	case len(at.ids) > 1:
		f.Kind = Forked
		if l.forked < 0 {
			l.forked = n
		}
	case at.event != nil && at.void:
		f.Kind = Late
	case at.event != nil, at.void:
		return
	case len(at.ids) == 0:
		f.Kind = Unlogged
	default:
		f.Kind = j.nowhere(l, n, at, before)
		if f.Kind != Dropped {
			s.Missing++
		}
	}
	j.find(f, 1)
}

// nowhere says why no relay shows a number whose id is known. before is when the
// number before it was written that is there. What is not certain to have been
// stored is not missed.
func (j *judging) nowhere(l *log, n int64, at *num, before int64) Kind {
	before = max(before, at.at)
	if len(at.took) > 0 {
		return j.taken(at.took, before-slack)
	}
	silent, all := false, len(j.in.Relays) > 0
	for i, r := range j.in.Relays {
		silent = silent || !r.Whole || !r.History
		all = all && j.promises(i, before-slack)
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
// of them promised, no other can excuse. before is a time by which it was written.
func (j *judging) taken(by []string, before int64) Kind {
	silent, asked := false, false
	for i, r := range j.in.Relays {
		switch {
		case !slices.Contains(by, r.URL):
		case !r.Whole || !r.History:
			silent = true
		case j.promises(i, before):
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

// promises reports whether a relay promises to keep what was written at a time.
func (j *judging) promises(i int, at int64) bool {
	p := j.in.Relays[i].Promise
	return p.Made && at > j.full[i] && (p.Days == 0 || at >= j.in.Now-p.Days*day)
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

// fullSince returns the greatest time since which some address of a relay has as
// many superseded events as it keeps: of events of that time and before it may
// have dropped others.
func fullSince(r Shown, events map[string]Event) int64 {
	if r.Promise.Versions <= 0 {
		return math.MinInt64
	}
	of := map[string][]int64{}
	for _, id := range r.Past {
		of[events[id].D] = append(of[events[id].D], events[id].At)
	}
	since := int64(math.MinInt64)
	for _, times := range of {
		if int64(len(times)) >= r.Promise.Versions {
			slices.Sort(times)
			since = max(since, times[int64(len(times))-r.Promise.Versions])
		}
	}
	return since
}

// follows judges whether an event follows the log before it.
func (j *judging) follows(l *log, n int64, at *num, tree *Tree, s *State) {
	link := at.event.Link
	if tree.Size() < n {
		return // a number before it is not known
	}
	s.Checked++
	if root := tree.Root(n); root != link.Root && l.forked < 0 { // behind a fork one branch has another root, which was said
		j.find(Finding{Kind: Rewritten, W: l.w, N: n, IDs: []string{at.event.ID}, Slug: at.event.Slug, Detail: "its root is not that of the numbers before it"}, 1)
	}
}
