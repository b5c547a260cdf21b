package answer

import (
	"slices"
	"time"

	"engramd/internal/memory/recall"
	"engramd/nips/frontmatter"
)

// maxLeft is how many are named of what a recall left out.
const maxLeft = 50

// Left is a memory that has to do with a query and is not in the answer.
type Left struct {
	Slug string
	// Reason is "state: …", "trust: …", "project", "filter: …", "threshold" (it fits much
	// worse than the best) or "budget".
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

// refused says by what a query leaves a memory out: "state: …", "trust: …",
// "project" or "filter: …"; "" for nothing.
func refused(v View, asked recall.Query, h *recall.Hit) string {
	states := asked.States
	if len(states) == 0 {
		states = []frontmatter.State{frontmatter.Active}
	}
	one := asked.Filter
	one.Slugs = func(slug string) bool { return slug == h.Slug && asked.Slugs(slug) }
	switch {
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
