package recollect

import (
	"cmp"
	"slices"
	"time"

	"engramd/internal/recall"
	"engramd/nips/unit"
)

// maxLeft is how many are named of what a recall left out.
const maxLeft = 50

// Left is a memory that has to do with a query and is not in the answer.
type Left struct {
	Slug string
	// Reason is "state: …", "trust: …", "project", "filter", "threshold" or "budget".
	Reason string
}

// Explain returns what Recall leaves out of what has to do with a query, the best
// first, and why. Its error is a Mistake.
func Explain(v View, q Query, now time.Time) ([]Left, error) {
	asked, err := q.read(now)
	if err != nil {
		return nil, err
	}
	q.within(v, &asked)
	texts := texts(v)
	found := v.Index().Recall(asked, recall.Recipe(), texts)
	q.reorder(found)
	_, shown := recall.Block(found, texts, cmp.Or(q.Budget, DefaultBudget))
	fits := map[string]bool{} // and whether it is in the answer
	for i, f := range found {
		fits[f.Slug] = shown[i] != recall.NotShown
		for _, alike := range f.Alike {
			fits[alike.Slug] = fits[f.Slug]
		}
	}
	allowed := map[string]bool{}
	for _, l := range v.Index().Matching(asked.Filter) {
		allowed[l.Slug] = true
	}
	states := asked.States
	if len(states) == 0 {
		states = []unit.State{unit.Active}
	}
	wide := asked
	wide.Filter = recall.Filter{States: unit.States, Slugs: func(slug string) bool { return !Reserved(slug) }}
	var all []Left
	for _, h := range v.Index().Rank(wide, recall.Recipe(), maxLeft) {
		in, fit := fits[h.Slug]
		reason := "threshold"
		switch {
		case in:
			continue
		case !slices.Contains(states, h.State):
			reason = "state: " + string(h.State)
		case h.Trust < asked.MinTrust:
			reason = "trust: " + h.Trust.String()
		case !asked.Within.Has(h.Slug):
			reason = "project"
		case !allowed[h.Slug]:
			reason = "filter"
		case fit:
			reason = "budget"
		}
		all = append(all, Left{h.Slug, reason})
	}
	return all, nil
}
