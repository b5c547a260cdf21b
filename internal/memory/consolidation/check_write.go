package consolidation

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"engramd/internal/memory/recall/answer"
	"engramd/nips/frontmatter"
)

// writes takes the operations that make new texts, so that others may name those.
func (c *checker) writes() error {
	for i := range c.ops {
		op := &c.ops[i]
		slug := op.Slug
		switch {
		case op.Op == OpSupersede && op.Text != "":
			slug = op.New
		case op.Op != OpWrite:
			continue
		}
		if err := c.aim(i, slug); err != nil {
			return err
		}
		if err := c.write(i, slug, op); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) write(i int, slug string, op *Op) error {
	typ, err := c.typeOf(i, slug, op)
	if err != nil {
		return err
	}
	if c.plan.Kind != Dream && len(op.InspiredBy) > 0 {
		return c.fail(i, "inspired_by is for dreams: name in derived_from what the text follows from")
	}
	d, err := c.place(i, slug, typ)
	if err != nil {
		return err
	}
	d.write, d.fields.Type, d.trust, d.state = op, typ, frontmatter.Derived, frontmatter.Active
	for _, source := range slices.Concat(op.DerivedFrom, op.InspiredBy) {
		if source == slug && typ != frontmatter.Narrative {
			return c.fail(i, "a unit is not derived from itself")
		}
		s, err := c.named(i, source)
		if err != nil {
			return err
		}
		d.sources, d.trust = append(d.sources, s), d.trust.Lower(s.fields.Trust)
	}
	if len(d.sources) == 0 {
		return c.fail(i, "derived_from is missing: name the shown units that the text follows from")
	}
	if c.theirs != "" {
		d.trust, d.note = frontmatter.External, "the plan shows "+c.theirs+", which is external"
	}
	if from, ok := c.copied(op); ok {
		d.trust, d.note = frontmatter.External, "the words are those of "+from+", which is external"
	}
	switch n := utf8.RuneCountInString(strings.TrimSpace(op.Text)); {
	case typ != frontmatter.Narrative:
		return nil
	case d.trust == frontmatter.External:
		return c.fail(i, "the narrative comes from nothing external: %s", cmp.Or(d.note, "leave those units out of its sources"))
	case n > MaxNarrative:
		return c.fail(i, "the narrative has %d characters, and %d is the most", n, MaxNarrative)
	}
	if from := c.from.doubtful(slices.Concat(op.DerivedFrom, op.InspiredBy)...); from != "" {
		return c.fail(i, "the narrative comes from nothing external, and %s is external or cannot be found: leave out what comes from it", from)
	}
	return nil
}

// typeOf returns the type of what an operation writes.
func (c *checker) typeOf(i int, slug string, op *Op) (frontmatter.Type, error) {
	allowed := facts[:2] // insights are a dream's, which says whether they are new
	if c.plan.Kind == Dream {
		allowed = []frontmatter.Type{frontmatter.Insight}
	}
	if (op.Type == string(frontmatter.Narrative)) != (slug == NarrativeSlug) {
		if slug == NarrativeSlug && op.Type == "" {
			return frontmatter.Narrative, nil
		}
		return "", c.fail(i, "the one narrative stands at %s, and nothing else does", NarrativeSlug)
	}
	typ := cmp.Or(frontmatter.Type(op.Type), allowed[0])
	if typ != frontmatter.Narrative && !slices.Contains(allowed, typ) {
		words := make([]string, len(allowed))
		for j, t := range allowed {
			words[j] = string(t)
		}
		return "", c.fail(i, "a unit of this plan is %s, or the narrative; %.40q is neither", strings.Join(words, " or "), op.Type)
	}
	return typ, nil
}

// place returns the draft at a slug where nothing may be, but for the narrative.
func (c *checker) place(i int, slug string, typ frontmatter.Type) (*draft, error) {
	_, _, ok := c.text(slug)
	_, shown := c.plan.Find(slug)
	switch {
	case typ == frontmatter.Narrative && ok && c.from.stranger(slug) != "":
		return nil, c.fail(i, "%s holds somebody else's words: it is not written anew, but removed", slug)
	case typ == frontmatter.Narrative && c.theirs != "":
		return nil, c.fail(i, "the narrative comes from nothing external, and this plan shows %s: write it in a plan that shows nothing of the kind", c.theirs)
	case typ == frontmatter.Narrative && (ok || shown):
		if !shown {
			return nil, &OpError{Index: i, Op: c.ops[i].Op, Reason: slug + " was written since the plan was made: prepare anew", err: ErrChanged}
		}
		d, err := c.shown(i, slug)
		if err == nil && d.trust == frontmatter.Told {
			err = c.fail(i, "%s is told: only its owner changes it", slug)
		}
		return d, err
	case shown:
		return nil, c.fail(i, "%s is there already: write at another slug, and supersede it by that", slug)
	case ok:
		return nil, c.fail(i, "something that the plan does not show is at %s: write at another slug", slug)
	}
	d := &draft{slug: slug, op: i, when: c.o.Now}
	c.add(d)
	return d, nil
}

// copied returns the external unit that the words of an operation were taken from.
func (c *checker) copied(op *Op) (slug string, ok bool) {
	if op.Copied != "" {
		return op.Copied, true
	}
	tags, met := strings.Join(op.Tags, " "), map[string]bool{"": true}
	for _, words := range []string{op.Text, op.Description, tags, op.words(), op.words() + "\n\n" + tags} {
		if words = strings.TrimSpace(words); met[words] {
			continue
		}
		met[words] = true
		if slug, ok = answer.CopiedFrom(c.o.View, words); ok {
			return slug, true
		}
	}
	return "", false
}
