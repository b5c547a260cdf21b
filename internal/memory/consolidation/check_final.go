package consolidation

import (
	"slices"
	"strings"

	"engramd/internal/memory/recall"
	"engramd/internal/memory/recall/answer"
	"engramd/nips/frontmatter"
)

// final judges what the memory would be after all operations.
func (c *checker) final() error {
	archived := 0
	for _, d := range c.order {
		i := c.opOf(d)
		if d.state == frontmatter.Archived && d.fields.State != frontmatter.Archived {
			archived++
		}
		if archived > MaxArchived && c.plan.Kind != Archive {
			return c.fail(i, "one plan archives %d units at most", MaxArchived)
		}
		if other := c.leaves(d); other != "" {
			return c.fail(i, "%s corrects what %s says, which would be found in its place: archive that too", d.slug, other)
		}
		if d.consider && d.state != frontmatter.Active && !c.stands(d.slug) {
			return c.fail(i, "%s would be neither active nor in derived_from of a unit that is: write what follows from it first", d.slug)
		}
		for _, e := range d.edges {
			if e.Relation == relSupersedes && d.state != frontmatter.Active {
				return c.fail(c.aims[e.Target], "%s would not be active itself, and cannot take the place of %s", d.slug, e.Target)
			}
		}
	}
	return c.oneNarrative()
}

// leaves returns what would be found in place of a unit that is archived; "" for
// nothing.
func (c *checker) leaves(d *draft) string {
	if d.state != frontmatter.Archived || d.fields.State == frontmatter.Archived {
		return ""
	}
	for _, slug := range c.o.View.Index().Truth().Holds(d.slug) {
		if other := c.drafts[slug]; other == nil || other.state == frontmatter.Active {
			return slug
		}
	}
	return ""
}

// stands reports whether a unit that is active after the plan is derived from an
// episode.
func (c *checker) stands(episode string) bool {
	from := func(edges []frontmatter.Relation) bool {
		return slices.ContainsFunc(edges, func(r frontmatter.Relation) bool { return r.Relation == "derived_from" && r.Target == episode })
	}
	for _, d := range c.order {
		if d.state != frontmatter.Active {
			continue
		}
		if d.write != nil && slices.Contains(d.write.DerivedFrom, episode) && d.slug != episode || d.write == nil && from(d.fields.Relations) {
			return true
		}
	}
	for _, u := range c.plan.Units {
		if c.drafts[u.Slug] != nil {
			continue
		}
		if head, hash, ok := c.text(u.Slug); ok && hash == u.Hash {
			if f := frontmatter.Parse(head).Fields(); f.State == frontmatter.Active && from(f.Relations) {
				return true
			}
		}
	}
	return false
}

// oneNarrative refuses a second one beside that which is written.
func (c *checker) oneNarrative() error {
	d := c.drafts[NarrativeSlug]
	if d == nil || d.write == nil {
		return nil
	}
	var others []string
	for _, l := range c.o.View.Index().Matching(recall.Filter{Types: []frontmatter.Type{frontmatter.Narrative}}) {
		if other := c.drafts[l.Slug]; l.Slug != NarrativeSlug && !answer.Reserved(l.Slug) && (other == nil || other.state == frontmatter.Active) {
			others = append(others, l.Slug)
		}
	}
	if len(others) == 0 {
		return nil
	}
	slices.Sort(others)
	return c.fail(c.aims[NarrativeSlug], "there is one narrative: supersede %s by it, or archive that first", strings.Join(others[:min(len(others), 3)], ", "))
}
