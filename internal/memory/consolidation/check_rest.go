package consolidation

import "engramd/nips/frontmatter"

// others takes the operations that name units which are there or were just
// written.
func (c *checker) others() error {
	for i, op := range c.ops {
		var err error
		switch op.Op {
		case OpSupersede:
			err = c.supersede(i, op)
		case OpArchive:
			err = c.archive(i, op)
		case OpKeep:
			if err = c.aim(i, op.Slug); err == nil {
				_, err = c.named(i, op.Slug)
			}
		case OpLink:
			err = c.link(i, op)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// end returns a unit that the plan shows, or that this answer writes.
func (c *checker) end(i int, slug string) (*draft, error) {
	if d := c.drafts[slug]; d != nil && d.base == "" {
		return d, nil
	}
	return c.named(i, slug)
}

func (c *checker) supersede(i int, op Op) error {
	if err := c.aim(i, op.Old); err != nil {
		return err
	}
	old, err := c.named(i, op.Old)
	if err != nil {
		return err
	}
	by, err := c.end(i, op.New)
	if err != nil {
		return err
	}
	switch {
	case old.fields.Trust == frontmatter.Told:
		return c.fail(i, "%s is told, and nothing supersedes that: keep it, and link to it with contradicts if it is wrong", old.slug)
	case old.slug == NarrativeSlug:
		return c.fail(i, "the narrative is written anew at its slug")
	case old.fields.Type == frontmatter.Prospective:
		return c.fail(i, "%s is an intention: it is done or cancelled, not superseded", old.slug)
	case old.state != frontmatter.Active:
		return c.fail(i, "%s is %s already", old.slug, old.state)
	case by.base != "" && by.write == nil && by.fields.Trust == frontmatter.Told:
		return c.fail(i, "%s is told, and is not changed: write a unit that is derived from it", by.slug)
	}
	if why := weak(by, old); why != "" {
		by.edges = append(by.edges, frontmatter.Relation{Relation: relContradicts, Target: old.slug, Strength: 1})
		by.note = joinNotes(by.note, "it contradicts "+old.slug+" instead of superseding it: "+why)
		return nil
	}
	by.edges = append(by.edges, frontmatter.Relation{Relation: relSupersedes, Target: old.slug, Strength: 1})
	old.state = frontmatter.Superseded
	return nil
}

func joinNotes(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

// weak says why a unit cannot take the place of another one; "" if it can. A unit
// that is there already speaks for itself.
func weak(by, old *draft) string {
	if by.trust < frontmatter.Derived && by.trust < old.fields.Trust {
		return "it is " + by.trust.String() + ", and that is " + old.fields.Trust.String()
	}
	if old.fields.Trust < frontmatter.Observed {
		return ""
	}
	sources := by.sources
	if by.write == nil {
		sources = []*draft{by}
	}
	later := false
	for _, s := range sources {
		if s.fields.Trust < frontmatter.Observed {
			return s.slug + " is " + s.fields.Trust.String() + ", and what was observed is superseded by what was observed"
		}
		later = later || s.when.After(old.when)
	}
	if !later {
		return "nothing that it is from is later"
	}
	return ""
}

func (c *checker) archive(i int, op Op) error {
	if err := c.aim(i, op.Slug); err != nil {
		return err
	}
	d, err := c.named(i, op.Slug)
	if err != nil {
		return err
	}
	head, _, _ := c.text(core)
	f := &d.fields
	switch {
	case d.role != Episode && d.role != Stale && d.role != Outdated:
		return c.fail(i, "only episodes of this plan are archived, and units that it shows as stale or outdated: %s is none of them", d.slug)
	case f.State == frontmatter.Archived || f.State == frontmatter.Superseded:
		return c.fail(i, "%s is %s already", d.slug, f.State)
	case f.Trust == frontmatter.Told:
		return c.fail(i, "%s is told, and is not archived", d.slug)
	case f.Pin:
		return c.fail(i, "%s is pinned, and is not archived", d.slug)
	case linkedFrom(head)[d.slug]:
		return c.fail(i, "core links to %s: it is not archived", d.slug)
	case f.Type == frontmatter.Narrative:
		return c.fail(i, "%s is a narrative, and is not archived", d.slug)
	case f.Type == frontmatter.Prospective && f.State != frontmatter.Done:
		return c.fail(i, "%s is an intention that is not done, and is not archived", d.slug)
	}
	d.state = frontmatter.Archived
	return nil
}

func (c *checker) link(i int, op Op) error {
	from, err := c.end(i, op.From)
	if err != nil {
		return err
	}
	if _, err := c.end(i, op.To); err != nil {
		return err
	}
	if from.base != "" && from.write == nil && from.fields.Trust == frontmatter.Told {
		return c.fail(i, "%s is told, and is not changed: link from the other unit", from.slug)
	}
	from.edges = append(from.edges, frontmatter.Relation{Relation: op.Relation, Target: op.To, Strength: 1})
	return nil
}
