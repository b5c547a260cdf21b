package writerlog

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// judge is about one log.
func (j *judging) judge(l *log) {
	s := State{W: l.w, N: l.last}
	numbers := slices.Sorted(maps.Keys(l.of))
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
			// Nothing tells the ids of these numbers.
			j.find(Finding{Kind: Unlogged, W: l.w, N: next, Detail: fmt.Sprintf("numbers %d to %d", next, n-1)}, int(min(n-next, 1<<30)))
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
	case j.isOver(at):
		f.Kind, f.Detail = Expired, "at "+time.Unix(at.ends, 0).UTC().Format(time.RFC3339)
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

// compare judges one relay by what it showed once, and by what others show.
func (j *judging) compare(r Shown) {
	if !r.Whole {
		return
	}
	heads, shows := map[string]Event{}, map[string]int64{}
	for _, id := range r.Heads {
		heads[j.in.Events[id].D] = j.in.Events[id]
	}
	for _, ids := range [][]string{r.Heads, r.Past} {
		for _, id := range ids {
			if l := j.in.Events[id].Link; l != nil {
				shows[l.W] = max(shows[l.W], l.N+1)
			}
		}
	}
	rolled := map[string]bool{}
	for _, m := range r.Marks {
		if m.shown(heads) {
			continue
		}
		rolled[m.W] = true
		j.find(Finding{Kind: RolledBack, W: m.W, N: m.N, IDs: []string{m.ID}, Relay: r.URL,
			Detail: fmt.Sprintf("it once showed number %d, and shows nothing as new at that place", m.N)}, 1)
	}
	for _, w := range j.names() {
		if newest := j.logs[w].newest; newest >= 0 && shows[w] <= newest && !rolled[w] {
			j.find(Finding{Kind: Behind, W: w, N: shows[w] - 1, Relay: r.URL, Detail: fmt.Sprintf("others show number %d", newest)}, 1)
		}
	}
}

// Marks returns what is to be remembered of a relay: of each log the greatest
// number that it shows as a head and that never expires, and what it does not show any more.
func Marks(r Shown, events map[string]Event) []Mark {
	of, heads := map[string]Mark{}, map[string]Event{}
	for _, id := range r.Heads {
		e := events[id]
		heads[e.D] = e
		if e.Link == nil || e.Expires > 0 {
			continue
		}
		if m, ok := of[e.Link.W]; !ok || e.Link.N > m.N {
			of[e.Link.W] = Mark{W: e.Link.W, N: e.Link.N, ID: id, D: e.D, At: e.At}
		}
	}
	for _, m := range r.Marks {
		if !m.shown(heads) {
			of[m.W] = m
		}
	}
	return slices.SortedFunc(maps.Values(of), func(a, b Mark) int { return cmp.Or(cmp.Compare(b.At, a.At), cmp.Compare(a.W, b.W)) })
}

// shown reports whether heads have the event of a mark, or one that superseded
// it.
func (m Mark) shown(heads map[string]Event) bool {
	now, ok := heads[m.D]
	return ok && (now.ID == m.ID || now.At > m.At || now.At == m.At && now.ID < m.ID)
}
