package consolidation

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"engramd/internal/memory/recall/answer"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

const core = string(nipae.Core)

// seen is a unit without its text.
type seen struct {
	slug        string
	hash        string
	when        time.Time // of the event, else when it was written first
	written     time.Time // last
	fields      frontmatter.Fields
	links       []string // what it links to
	contradicts []string
}

// memory is what one pass over all texts finds.
type memory struct {
	view   answer.View
	from   *origins
	units  map[string]*seen
	slugs  []string
	inward map[string]bool // something links there
	core   map[string]bool // the core does
	own    *seen           // the core itself; nil without one
}

// scan reads every unit once. What is reserved takes no part: it is not the
// agent's.
func scan(v answer.View) *memory {
	m := &memory{view: v, from: &origins{view: v}, units: map[string]*seen{}, inward: map[string]bool{}, core: map[string]bool{}}
	for _, h := range v.Heads() {
		text, ok := v.Text(h.Slug)
		switch {
		case !ok || answer.Reserved(h.Slug):
		case h.Slug == core:
			m.core, m.own = linkedFrom(text), &seen{slug: core, hash: Hash(text), written: time.Unix(h.UpdatedAt, 0).UTC()}
		default:
			m.add(h, text)
		}
	}
	slices.Sort(m.slugs)
	return m
}

func (m *memory) add(h answer.Head, text string) {
	d := frontmatter.Parse(text)
	written := time.Unix(h.UpdatedAt, 0).UTC()
	s := &seen{slug: h.Slug, hash: Hash(text), fields: d.Fields(), written: written}
	s.when = momentOf(s.fields, written)
	for _, l := range d.Links() {
		if l.Target == h.Slug {
			continue
		}
		if s.links = append(s.links, l.Target); l.Relation == relContradicts {
			s.contradicts = append(s.contradicts, l.Target)
		}
		m.inward[l.Target] = true
	}
	m.units[h.Slug], m.slugs = s, append(m.slugs, h.Slug)
}

// theirs reports whether a unit has somebody else's words, or comes from such.
func (m *memory) theirs(s *seen) bool { return m.from.stranger(s.slug) != "" }

// linkedFrom returns the slugs that a core links to.
func linkedFrom(text string) map[string]bool {
	slugs := map[string]bool{}
	for _, s := range nipae.References(text) {
		slugs[string(s)] = true
	}
	return slugs
}

// momentOf is the time that a unit is of: that of its event, else when it was
// written first.
func momentOf(f frontmatter.Fields, written time.Time) time.Time {
	switch {
	case !f.When.IsZero():
		return f.When.Time
	case !f.Created.IsZero():
		return f.Created.Time
	}
	return written
}

// fact reports whether a unit is something that holds until it is superseded.
func (s *seen) fact() bool {
	return s.fields.State == frontmatter.Active && slices.Contains(facts, s.fields.Type)
}

var facts = []frontmatter.Type{frontmatter.Semantic, frontmatter.Procedural, frontmatter.Insight}

// waits reports whether a unit is an episode that is to be consolidated.
func (s *seen) waits() bool {
	return s.fields.Type == frontmatter.Episodic && s.fields.State == frontmatter.Active && s.fields.Consolidated.IsZero()
}

// Waiting counts the episodes that are to be consolidated.
func Waiting(v answer.View) int {
	n := 0
	for _, l := range v.Index().Matching(episodes) {
		if text, ok := v.Text(l.Slug); ok && !answer.Reserved(l.Slug) && frontmatter.Parse(text).Fields().Consolidated.IsZero() {
			n++
		}
	}
	return n
}

// line returns the episodes that wait: the oldest first, those that were offered
// in vain behind the others.
func (m *memory) line(offered map[string]int) []*seen {
	var all []*seen
	for _, slug := range m.slugs {
		if s := m.units[slug]; s.waits() {
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(a, b *seen) int {
		return cmp.Or(cmp.Compare(offered[a.slug]/offers, offered[b.slug]/offers), a.when.Compare(b.when), strings.Compare(a.slug, b.slug))
	})
	return all
}

// turn reports whether the next plan is about somebody else's words: if both sides wait,
// whose turn it is, else whose episodes wait.
func (m *memory) turn(line []*seen, turn Whose) bool {
	if len(line) == 0 {
		return false
	}
	others := m.theirs(line[0])
	if turn != "" && slices.ContainsFunc(line, func(s *seen) bool { return m.theirs(s) != others }) {
		return turn == Others
	}
	return others
}

// stale returns units that may be archived, the oldest first. Without counters of
// use it takes those that were not written for long and that nothing links to.
func (m *memory) stale(o PrepareOptions) []*seen {
	return m.some(o, func(s *seen) bool {
		f, holds := &s.fields, m.view.Index().Truth().Holds
		switch {
		case f.State != frontmatter.Active, f.Trust == frontmatter.Told, f.Pin, m.core[s.slug], s.waits(),
			f.Type == frontmatter.Narrative, f.Type == frontmatter.Prospective:
			return false
		case o.Stale != nil:
			return o.Stale(s.slug) && holds(s.slug) == nil
		}
		return o.Now.Sub(s.written) >= staleAfter && !m.inward[s.slug] && holds(s.slug) == nil
	})
}

// outdated returns the core, and other units that rest on what is superseded.
func (m *memory) outdated(o PrepareOptions) []*seen {
	outdated := m.view.Index().Truth().Outdated
	found := m.some(o, func(s *seen) bool { return outdated(s.slug) && !s.waits() })
	if m.own != nil && outdated(core) {
		found = append([]*seen{m.own}, found...)
	}
	return found
}

func (m *memory) orphans(o PrepareOptions) []*seen {
	return m.some(o, func(s *seen) bool {
		known := func(slug string) bool { return m.units[slug] != nil }
		return s.fact() && !m.inward[s.slug] && !m.core[s.slug] && !slices.ContainsFunc(s.links, known)
	})
}

// some returns those that were offered least and then the oldest first.
func (m *memory) some(o PrepareOptions, take func(*seen) bool) []*seen {
	var all []*seen
	for _, slug := range m.slugs {
		if s := m.units[slug]; take(s) {
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(a, b *seen) int {
		return cmp.Or(cmp.Compare(o.Offered[a.slug], o.Offered[b.slug]), a.written.Compare(b.written), strings.Compare(a.slug, b.slug))
	})
	return all
}

// pairs returns the facts of which one says that it contradicts the other, and
// both hold.
func (m *memory) pairs() [][2]*seen {
	var all [][2]*seen
	met := map[[2]string]bool{}
	for _, slug := range m.slugs {
		a := m.units[slug]
		for _, target := range a.contradicts {
			b := m.units[target]
			if b == nil || !a.fact() || !b.fact() || met[[2]string{target, slug}] || met[[2]string{slug, target}] {
				continue
			}
			met[[2]string{slug, target}] = true
			all = append(all, [2]*seen{a, b})
		}
	}
	return all
}
