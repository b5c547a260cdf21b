package recall

import (
	"slices"

	"engramd/nips/frontmatter"
)

const (
	// maxChain is how many documents of a chain of corrections are looked at, and
	// maxSteps how many edges.
	maxChain = 32
	maxSteps = 256
)

// outranks reports whether a document may take the place of another one: it has at
// least its trust, or it was derived from what was observed, later than that.
func (x *documents) outranks(by, old *document) bool {
	if by.trust >= old.trust || by.trust != frontmatter.Derived || old.trust != frontmatter.Observed {
		return by.trust >= old.trust
	}
	later := false
	for _, l := range by.links {
		if l.kind != derivedFrom {
			continue
		}
		id, ok := x.bySlug[l.target]
		if !ok || x.docs[id].trust < frontmatter.Observed {
			return false
		}
		later = later || x.docs[id].when > old.when
	}
	return later
}

// corrected returns the documents in whose place one stands, also through others.
func (x *documents) corrected(id int32) []int32 {
	var all []int32
	steps := 0
	for next := []int32{id}; len(next) > 0 && len(all) < maxChain; next = next[1:] {
		doc := &x.docs[next[0]]
		for _, l := range doc.links {
			if l.kind != supersedes {
				continue
			}
			if steps++; steps > maxSteps {
				return all
			}
			to, ok := x.bySlug[l.target]
			if !ok || to == id || slices.Contains(all, to) {
				continue
			}
			if x.outranks(doc, &x.docs[to]) {
				all, next = append(all, to), append(next, to)
			}
		}
	}
	return all
}

// newest returns the ends of the chains of what superseded some documents: those
// that are active, else the last ones.
func (t *Truth) newest(of []int32) []int32 {
	seen := slices.Clone(of)
	var active, last []int32
	for next := slices.Clone(of); len(next) > 0 && len(seen) < maxChain; next = next[1:] {
		for _, id := range t.by[next[0]] {
			switch {
			case slices.Contains(seen, id):
				continue
			case t.docs[id].state == frontmatter.Active:
				active = append(active, id)
			case t.by[id] == nil:
				last = append(last, id)
			default:
				next = append(next, id)
			}
			seen = append(seen, id)
		}
	}
	if len(active) == 0 {
		active = last
	}
	if len(active) == 0 { // a ring
		for _, id := range of {
			active = append(active, t.by[id]...)
		}
	}
	slices.SortFunc(active, t.weightier)
	active = slices.Compact(active)
	return active[:min(len(active), maxBeside)]
}
