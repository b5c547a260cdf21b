package answer

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"engramd/internal/memory/recall"
	"engramd/nips/frontmatter"
)

// maxLeft is how many are named of what a recall left out.
const maxLeft = 50

// Left is a memory that has to do with a query and is not in the answer.
type Left struct {
	Slug string
	// Reason is "owner" (who proposes to remove it), "state: …", "trust: …", "project",
	// "filter: …", "threshold" (it fits much worse than the best) or "budget".
	Reason string
}

// Explain returns what Recall leaves out of what has to do with a query, the best
// first, and why. Its error is a Mistake.
func Explain(v View, q Query, now time.Time) ([]Left, error) {
	r, err := q.recall(v, now)
	if err != nil {
		return nil, err
	}
	asked, fits := r.asked, map[string]bool{} // and whether it is in the answer
	for i, f := range r.found {
		fits[f.Slug] = r.shown[i] != recall.NotShown
		for _, alike := range f.Alike {
			fits[alike.Slug] = fits[f.Slug]
		}
	}
	var all []Left
	for _, h := range v.Index().Rank(unfiltered(asked), recall.Recipe(), maxLeft) {
		in, fit := fits[h.Slug]
		if in {
			continue
		}
		reason := refused(v, asked, &h)
		switch {
		case reason != "":
		case fit:
			reason = "budget"
		default:
			reason = "threshold"
		}
		all = append(all, Left{h.Slug, reason})
	}
	return all, nil
}

// unfiltered is a query over all that is not the machines'.
func unfiltered(asked recall.Query) recall.Query {
	asked.Filter = recall.Filter{States: frontmatter.States, Slugs: func(slug string) bool { return !Reserved(slug) }}
	return asked
}

// refused says by what a query leaves a memory out, in the words of Left; "" for nothing.
func refused(v View, asked recall.Query, h *recall.Hit) string {
	states := asked.States
	if len(states) == 0 {
		states = []frontmatter.State{frontmatter.Active}
	}
	one := asked.Filter
	one.Slugs = func(slug string) bool { return slug == h.Slug && asked.Slugs(slug) }
	switch {
	case WordsOf(v)[h.Slug].Withholds():
		return "owner"
	case !slices.Contains(states, h.State):
		return "state: " + string(h.State)
	case h.Trust < asked.MinTrust:
		return "trust: " + h.Trust.String()
	case !asked.Within.Has(h.Slug):
		return "project"
	case v.Index().Count(one) == 0:
		return "filter: " + filtered(v, asked, h.Slug)
	}
	return ""
}

// Use is how often a memory was recalled and read on this machine.
type Use struct{ Recalled, Read int }

// Stats is what a memory consists of.
type Stats struct {
	Memories                 int // with the core
	Bytes                    int
	Core                     bool
	ByType, ByState, ByTrust map[string]int
	Oldest, Newest           *Head // by the time they were written last
	Largest                  *Head
	NeverUsed, Unread        int // neither recalled nor read; not read
	Counted                  bool
	State                    State
}

// Count counts a memory. Without counters of use (nil) what was never used is
// not told.
func Count(v View, uses map[string]Use, prefix string) Stats {
	s := Stats{ByType: map[string]int{}, ByState: map[string]int{}, ByTrust: map[string]int{}, Counted: uses != nil, State: v.State()}
	for _, h := range v.Heads() {
		if Reserved(h.Slug) || !Begins(h.Slug, prefix) {
			continue
		}
		s.Memories++
		s.Bytes += h.Size
		s.Core = s.Core || h.Slug == "core"
		if s.Oldest == nil || h.UpdatedAt < s.Oldest.UpdatedAt {
			s.Oldest = &h
		}
		if s.Newest == nil || h.UpdatedAt > s.Newest.UpdatedAt {
			s.Newest = &h
		}
		if s.Largest == nil || h.Size > s.Largest.Size {
			s.Largest = &h
		}
		if u := uses[h.Slug]; s.Counted && u.Read == 0 {
			s.Unread++
			if u.Recalled == 0 {
				s.NeverUsed++
			}
		}
	}
	every := recall.Filter{States: frontmatter.States, Slugs: func(slug string) bool { return !Reserved(slug) && Begins(slug, prefix) }}
	for _, l := range v.Index().Matching(every) {
		s.ByType[string(l.Type)]++
		s.ByState[string(l.State)]++
		s.ByTrust[l.Trust.String()]++
	}
	return s
}

// Span is a month or a day with what is of it.
type Span struct {
	Name     string // 2026-11 or 2026-11-20
	Memories []Dated
}

// Dated is a memory at a time.
type Dated struct {
	Slug, Type string
	When       time.Time
}

// Timeline returns the months that the memories which a query's filters allow
// are of, oldest first; days if it asks for two months or less. What has no
// memory is left out. Its error is a Mistake.
func Timeline(v View, q Query, now time.Time) ([]Span, error) {
	f, err := q.filter(now)
	if err != nil {
		return nil, err
	}
	layout := "2006-01"
	if !f.Since.IsZero() && !f.Until.IsZero() && f.Until.Sub(f.Since) <= 62*24*time.Hour {
		layout = time.DateOnly
	}
	byName := map[string][]Dated{}
	for _, l := range v.Index().Matching(f) {
		name := l.When.Format(layout)
		byName[name] = append(byName[name], Dated{Slug: l.Slug, Type: string(l.Type), When: l.When})
	}
	var all []Span
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		of := byName[name]
		slices.SortFunc(of, func(a, b Dated) int { return cmp.Or(a.When.Compare(b.When), strings.Compare(a.Slug, b.Slug)) })
		all = append(all, Span{Name: name, Memories: of})
	}
	return all, nil
}
