package answer

import (
	"engramd/internal/memory/recall"
	"engramd/nips/frontmatter"
)

// filtered names the first filter of a query that leaves a memory out, of those that
// are neither state, trust nor scope.
func filtered(v View, asked recall.Query, slug string) string {
	if !asked.Slugs(slug) {
		return "prefix"
	}
	for _, one := range []struct {
		name string
		recall.Filter
	}{
		{"types", recall.Filter{Types: asked.Types}},
		{"tags", recall.Filter{Tags: asked.Tags}},
		{"since", recall.Filter{Since: asked.Since}},
	} {
		one.States, one.Slugs = frontmatter.States, func(other string) bool { return other == slug }
		if v.Index().Count(one.Filter) == 0 {
			return one.name
		}
	}
	return "until"
}
