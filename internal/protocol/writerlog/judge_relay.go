package writerlog

import (
	"cmp"
	"fmt"
	"slices"
)

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
// number that it shows as a head, and what it does not show any more.
func Marks(r Shown, events map[string]Event) []Mark {
	of, heads := map[string]Mark{}, map[string]Event{}
	for _, id := range r.Heads {
		e := events[id]
		heads[e.D] = e
		if e.Link == nil {
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
	marks := make([]Mark, 0, len(of))
	for _, m := range of {
		marks = append(marks, m)
	}
	slices.SortFunc(marks, func(a, b Mark) int { return cmp.Or(cmp.Compare(b.At, a.At), cmp.Compare(a.W, b.W)) })
	return marks
}

// shown reports whether heads have the event of a mark, or one that superseded
// it.
func (m Mark) shown(heads map[string]Event) bool {
	now, ok := heads[m.D]
	return ok && (now.ID == m.ID || now.At > m.At || now.At == m.At && now.ID < m.ID)
}
