package consolidation

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

// changes composes what is written: what adds first, then what is superseded, then
// what is only marked as thought over, then what is archived.
func (c *checker) changes() ([]Change, error) {
	var all []Change
	ranks := map[string]int{}
	for _, d := range c.order {
		text, err := c.compose(d)
		if err == nil && text == d.head && d.base != "" {
			continue
		}
		if c.theirs != "" && d.base != "" && c.from.stranger(d.slug) == "" {
			return nil, c.fail(c.opOf(d), "%s is the agent's own, and this plan shows %s, which is external: it changes only what is somebody else's", d.slug, c.theirs)
		}
		if err == nil {
			err = fits(d.slug, text)
		}
		if err != nil {
			return nil, c.fail(c.opOf(d), "%s: %s", d.slug, reason(err))
		}
		ranks[d.slug] = d.rank()
		if read := d.read(); len(read) > 0 {
			d.note = joinNotes(d.note, "written after somebody else's words were shown: "+frontmatter.OneLine(strings.Join(read[:min(len(read), maxNamed)], ", ")))
		}
		all = append(all, Change{Slug: d.slug, Base: d.base, Old: d.head, New: text, Op: c.opOf(d), Note: d.note})
	}
	slices.SortStableFunc(all, func(a, b Change) int {
		return cmp.Or(cmp.Compare(ranks[a.Slug], ranks[b.Slug]), cmp.Compare(a.Op, b.Op), strings.Compare(a.Slug, b.Slug))
	})
	return all, nil
}

// fits says whether a text can be a memory.
func fits(slug, text string) error {
	body, err := nipae.NewMemory(nipae.Slug(slug), text)
	if err == nil {
		_, err = body.Bytes()
	}
	return err
}

// opOf is the operation that a change belongs to: the one that decides over the
// unit, else the first that names it.
func (c *checker) opOf(d *draft) int {
	if i, ok := c.aims[d.slug]; ok {
		return i
	}
	return d.op
}

// reason is what is wrong with a text, in words for who wrote it.
func reason(err error) string {
	if errors.Is(err, nipae.ErrTooLarge) {
		return "the text is too long for one memory"
	}
	return err.Error()
}

// read names what of somebody else's words had been shown when a unit, or what it is made
// from, was written.
func (d *draft) read() []string {
	all := slices.Clone(d.fields.AfterReading)
	for _, s := range d.sources {
		all = append(all, s.fields.AfterReading...)
	}
	if d.write != nil {
		all = append(all, d.write.Read...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// rank is when a draft is written: the later, the more it takes away.
func (d *draft) rank() int {
	switch {
	case d.state == frontmatter.Archived && d.fields.State != frontmatter.Archived:
		return 4
	case d.state == frontmatter.Superseded && d.fields.State != frontmatter.Superseded:
		return 2
	case d.write != nil && d.base == "":
		return 0
	case d.write != nil || len(d.edges) > 0:
		return 1
	}
	return 3
}

// compose returns the text that a unit will have.
func (c *checker) compose(d *draft) (string, error) {
	if d.write != nil {
		return c.composeNew(d)
	}
	changes := d.edgeChanges()
	if d.state != d.fields.State {
		changes = append(changes, frontmatter.Set("state", frontmatter.String(string(d.state))))
	}
	if d.consider && d.fields.Consolidated.IsZero() {
		changes = append(changes, frontmatter.Set("consolidated", frontmatter.At(c.o.Now).Value()))
	}
	return d.doc.Edit(changes...) // the words stay, so do trust and source
}

// composeNew writes a unit anew. Where it comes from is stamped; the narrative keeps
// what it says of itself and the operation does not.
func (c *checker) composeNew(d *draft) (string, error) {
	op, doc, head := d.write, frontmatter.Parse(frontmatter.Doc{}.WithBody(d.write.Text)), (*frontmatter.Doc)(nil)
	if d.base != "" {
		doc, head = frontmatter.Parse(d.doc.WithBody(op.Text)), &d.doc
	}
	changes := []frontmatter.Change{frontmatter.Set("type", frontmatter.String(string(d.fields.Type)))}
	if op.Description != "" {
		changes = append(changes, frontmatter.Set("description", frontmatter.String(op.Description)))
	}
	if len(op.Tags) > 0 {
		changes = append(changes, frontmatter.Set("tags", frontmatter.Strings(op.Tags...)))
	}
	derived := slices.DeleteFunc(slices.Clone(op.DerivedFrom), func(s string) bool { return s == d.slug })
	changes = append(changes, several("derived_from", derived), several("inspired_by", op.InspiredBy))
	changes = append(changes, d.edgeChanges()...)
	if head != nil {
		changes = append(changes, frontmatter.Set("state", frontmatter.String(string(frontmatter.Active))))
	}
	text, err := doc.Edit(changes...)
	if err != nil {
		return "", err
	}
	return frontmatter.Stamped(frontmatter.Parse(text), head, frontmatter.Stamp{Now: c.o.Now, Source: c.o.Source, Session: c.o.Session, AfterReading: d.read(), Most: d.trust})
}

func several(key string, all []string) frontmatter.Change {
	if len(all) == 0 {
		return frontmatter.Remove(key)
	}
	return frontmatter.Set(key, frontmatter.Strings(all...))
}

// edgeChanges adds edges to those that the unit has.
func (d *draft) edgeChanges() []frontmatter.Change {
	var changes []frontmatter.Change
	for _, relation := range frontmatter.Relations {
		had, _ := d.doc.Value(relation)
		items := had.Items()
		n := len(items)
		for _, e := range d.edges {
			is := func(item string) bool { return target(item) == e.Target }
			if e.Relation == relation && !slices.ContainsFunc(items, is) {
				items = append(items, e.Target)
			}
		}
		if len(items) > n {
			changes = append(changes, frontmatter.Set(relation, frontmatter.Strings(items...)))
		}
	}
	return changes
}

// target is what an item of a relation names, without its strength.
func target(item string) string {
	name, _, _ := strings.Cut(strings.TrimSpace(item), " ")
	return strings.TrimSuffix(strings.TrimPrefix(name, "[["), "]]")
}
