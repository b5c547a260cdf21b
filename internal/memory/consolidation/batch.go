package consolidation

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"engramd/internal/memory/recall"
	"engramd/nips/frontmatter"
)

// batch collects what a plan shows, as long as there is room.
type batch struct {
	*memory
	others bool // it shows somebody else's words, and what they look like
	now    time.Time
	units  []Shown
	taken  map[string]int // places in units
	left   int
}

// batch makes what one plan shows: of those that wait, and of what stands aside, either
// the agent's own or somebody else's.
func (m *memory) batch(o PrepareOptions, line []*seen, others bool) *batch {
	b := &batch{memory: m, others: others, now: o.Now, taken: map[string]int{}, left: o.MaxBytes - frame}
	line = slices.DeleteFunc(slices.Clone(line), func(s *seen) bool { return m.theirs(s) != others })
	if !others {
		b.narrative()
	}
	b.contradictions(b.left / 8)
	b.episodes(line[:min(len(line), o.MaxEpisodes)], b.left*4/5)
	b.aside(m.outdated(o), Outdated)
	b.aside(m.stale(o), Stale)
	b.aside(m.orphans(o), Orphan)
	return b
}

// show takes a unit in if there is room for it, and reports whether it is there.
func (b *batch) show(s *seen, role Role, alike ...Alike) bool {
	if _, ok := b.taken[s.slug]; ok {
		return true
	}
	text, ok := b.view.Text(s.slug)
	standing := b.view.Index().Truth().Of(s.slug)
	standing.Contradicts = nil // Alike says it
	u := Shown{Slug: s.slug, Hash: s.hash, Role: role, Alike: alike, Note: strings.Join(standing.Notes(), "; ")}
	size := len(u.written(text))
	if !ok || size > b.left {
		return false
	}
	b.left -= size
	b.taken[s.slug] = len(b.units)
	b.units = append(b.units, u)
	return true
}

// narrative shows who the agent is, and another one that says so: there is to be
// one.
func (b *batch) narrative() {
	if s := b.memory.units[NarrativeSlug]; s != nil && !b.theirs(s) {
		b.show(s, NarrativeRole)
	}
	for _, slug := range b.slugs {
		s := b.memory.units[slug]
		if slug != NarrativeSlug && s.fields.Type == frontmatter.Narrative && s.fields.State == frontmatter.Active && !b.theirs(s) {
			b.show(s, NarrativeRole)
			return
		}
	}
}

// contradictions shows facts that say of each other that only one can be right.
func (b *batch) contradictions(room int) {
	floor, pairs := b.left-room, slices.DeleteFunc(b.pairs(), func(p [2]*seen) bool { return (b.theirs(p[0]) || b.theirs(p[1])) != b.others })
	for _, pair := range pairs[:min(len(pairs), maxPairs)] {
		before, left := len(b.units), b.left
		edge := b.alike(pair[0], pair[1])
		edge.Contradicts = true
		if !b.show(pair[1], Beside) || !b.show(pair[0], Beside) || !b.say(pair[0], edge, floor) {
			b.back(before, left)
			return
		}
	}
}

// say adds to a unit that is shown what it is like, if that leaves so much room.
func (b *batch) say(s *seen, edge Alike, floor int) bool {
	if b.left -= len(edge.line()); b.left < floor {
		return false
	}
	u := &b.units[b.taken[s.slug]]
	u.Alike = append(u.Alike, edge)
	return true
}

// back takes out what was shown since.
func (b *batch) back(units, left int) {
	for _, u := range b.units[units:] {
		delete(b.taken, u.Slug)
	}
	b.units, b.left = b.units[:units], left
}

// episodes shows those of the line for which there is room, each with what looks
// like it. The first one is shown in any case: nothing may stop the line.
func (b *batch) episodes(line []*seen, room int) {
	spare := b.left - room
	for i, s := range line {
		before, left := len(b.units), b.left
		near := b.near(s)
		var alikes []Alike
		for _, f := range near {
			alikes = append(alikes, b.alike(s, f))
		}
		ok := b.show(s, Episode, alikes...)
		for j, f := range near {
			var others []Alike
			for _, o := range near[:j] {
				if a := b.alike(f, o); len(a.Differs) > 0 {
					others = append(others, a)
				}
			}
			ok = ok && b.show(f, Beside, others...)
		}
		if ok && b.left >= spare {
			continue
		}
		if b.back(before, left); i == 0 {
			b.show(s, Episode)
		}
		return
	}
}

// near returns the facts that look like an episode, the nearest first.
func (b *batch) near(s *seen) []*seen {
	text, _ := b.view.Text(s.slug)
	x := b.view.Index()
	allowed := func(slug string) bool {
		other := b.memory.units[slug]
		return other != nil && slug != s.slug && (b.others || !b.theirs(other))
	}
	sections := recall.Sections(recall.Of(s.slug, frontmatter.Parse(text), s.written))
	shares := map[string]float64{}
	var found []*seen
	for _, section := range sections[:min(len(sections), asked)] {
		q := recall.Query{Text: strings.ReplaceAll(section, `"`, " "), Now: b.now, Filter: recall.Filter{Types: facts, Slugs: allowed}}
		for _, hit := range x.Rank(q, recall.Recipe(), ranked) {
			if _, ok := shares[hit.Slug]; ok {
				continue
			}
			other, _ := b.view.Text(hit.Slug)
			shared, _ := x.Compare(text, other)
			if shares[hit.Slug] = shared; shared >= alike {
				found = append(found, b.memory.units[hit.Slug])
			}
		}
	}
	slices.SortFunc(found, func(a, b *seen) int {
		return cmp.Or(cmp.Compare(shares[b.slug], shares[a.slug]), strings.Compare(a.slug, b.slug))
	})
	return found[:min(len(found), maxBeside)]
}

// alike compares two units. The words of somebody else are named only where they
// are quoted.
func (b *batch) alike(s, other *seen) Alike {
	a := Alike{Slug: other.slug}
	if b.theirs(s) || b.theirs(other) {
		return a
	}
	text, _ := b.view.Text(s.slug)
	against, _ := b.view.Text(other.slug)
	if shared, differs := b.view.Index().Compare(text, against); shared >= alike {
		a.Differs = differs
	}
	return a
}

func (b *batch) aside(all []*seen, role Role) {
	n := 0
	for _, s := range all {
		if _, ok := b.taken[s.slug]; ok || b.theirs(s) != b.others {
			continue
		}
		if n >= maxAside || !b.show(s, role) {
			return
		}
		n++
	}
}

// inOrder returns what is shown by its role, the episodes first.
func (b *batch) inOrder() []Shown {
	all := make([]Shown, 0, len(b.units))
	for _, role := range roles {
		for _, u := range b.units {
			if u.Role == role {
				all = append(all, u)
			}
		}
	}
	return all
}
