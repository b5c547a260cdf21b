package recall

import (
	"slices"
	"strings"

	"engramd/nips/frontmatter"
)

// Standing is what other documents say against one, slugs, at most three of each, and
// whether relays have it.
type Standing struct {
	// SupersededBy took its place, or that of what it rests on: it does not hold any
	// more.
	SupersededBy []string
	// PartlySupersededBy took the place of some of what was derived from it, or, of
	// the core, a narrative and an intention, of what it rests on.
	PartlySupersededBy []string
	// Contradicts are active ones that contradict it, or that it contradicts.
	Contradicts []string
	// Unsent says that the text waits on this machine: no relay has it.
	Unsent bool
	// Corrected says that the owner corrects it, in a proposal that was not answered.
	Corrected bool
}

// Of returns what is said against the document at a slug; nothing for none.
func (t *Truth) Of(slug string) Standing {
	id, ok := t.bySlug[slug]
	if !ok {
		return Standing{}
	}
	return t.standing(id)
}

func (t *Truth) standing(id int32) Standing {
	return Standing{t.slugs(t.instead(id)), t.slugs(t.newest(t.partly[id])), t.slugs(t.against[id]), t.docs[id].unsent, false}
}

// Stale reports whether the document at a slug is active and does not hold any more,
// since what it rests on, or all that was derived from it, is superseded.
func (t *Truth) Stale(slug string) bool {
	id, ok := t.bySlug[slug]
	return ok && len(t.stale[id]) > 0
}

// Outdated reports whether the document at a slug is stale, or rests in part on what is
// superseded and is never stale: the core, a narrative or an intention.
func (t *Truth) Outdated(slug string) bool {
	id, ok := t.bySlug[slug]
	return ok && (len(t.stale[id]) > 0 || len(t.partly[id]) > 0 && t.docs[id].typ != frontmatter.Episodic)
}

// Corrects returns the slugs of the documents in whose place the one at a slug
// stands, also through others.
func (t *Truth) Corrects(slug string) []string {
	id, ok := t.bySlug[slug]
	if !ok {
		return nil
	}
	return t.slugs(t.corrected(id))
}

// Holds returns the slugs of active documents that would be found in place of the
// one at a slug if it were archived: what it corrects, and episodes of that.
func (t *Truth) Holds(slug string) (all []string) {
	for _, old := range t.Corrects(slug) {
		doc := &t.docs[t.bySlug[old]]
		if doc.state == frontmatter.Active {
			all = append(all, old)
		}
		for _, l := range doc.links {
			id, ok := t.bySlug[l.target]
			if l.kind == derivedFrom && ok && t.docs[id].typ == frontmatter.Episodic && t.docs[id].state == frontmatter.Active && l.target != slug {
				all = append(all, l.target)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (x *documents) slugs(ids []int32) (all []string) {
	for _, id := range ids {
		all = append(all, x.docs[id].slug)
	}
	return all
}

// instead returns what stands in the place of a document that does not hold.
func (t *Truth) instead(id int32) []int32 {
	switch {
	case len(t.by[id]) > 0:
		return t.newest([]int32{id})
	case len(t.stale[id]) > 0:
		return slices.DeleteFunc(t.newest(t.stale[id]), func(n int32) bool { return n == id })
	}
	return t.said[id]
}

// NotSent marks a text that waits on this machine.
const NotSent = "not sent yet"

// Notes says it in words; nil for nothing.
func (s Standing) Notes() (all []string) {
	if s.Unsent {
		all = append(all, NotSent)
	}
	if s.Corrected {
		all = append(all, "corrected by your owner")
	}
	for _, one := range []struct {
		what  string
		slugs []string
	}{{"superseded by ", s.SupersededBy}, {"partly superseded by ", s.PartlySupersededBy}, {"contradicts ", s.Contradicts}} {
		if len(one.slugs) > 0 {
			all = append(all, one.what+strings.Join(one.slugs, ", "))
		}
	}
	return all
}

// open says which documents the filter of a query lets through: what is hidden
// lifts nothing.
func (x *Index) open(f *Filter) []bool {
	open := make([]bool, len(x.docs))
	for id := range x.docs {
		d := &x.docs[id]
		open[id] = d.to > d.from && f.allows(d)
	}
	if f.Holds {
		for id := range x.Truth().stale {
			open[id] = false
		}
	}
	return open
}

// maxFetched is how many documents are brought into an answer that were not found.
const maxFetched = 50

// settle says of each hit how it stands, puts what does not hold behind what holds
// in its place, and what contradicts a hit behind it. What the filter allows of both
// is brought in if it was not found.
func (s *search) settle(hits []Hit) []Hit {
	t := s.x.Truth()
	if len(t.said)+len(t.stale)+len(t.partly)+len(t.against) == 0 {
		return hits
	}
	found, taken, out := map[int32]int{}, map[int32]bool{}, make([]Hit, 0, len(hits))
	for i := range hits {
		found[hits[i].doc] = i
	}
	fetched := 0
	var place func(h Hit)
	fetch := func(ids []int32, by Hit) {
		for _, id := range ids {
			if taken[id] || s.x.docs[id].state != frontmatter.Active || !s.a.open[id] {
				continue
			}
			var h Hit
			if i, ok := found[id]; ok {
				h = hits[i]
			} else if fetched++; fetched <= maxFetched {
				h = s.hit(id, best{section: s.x.docs[id].from, why: ByLink})
			} else {
				continue
			}
			if h.Trust == frontmatter.External { // it fits as well as its own words do
				h.Fit = max(h.Fit, Weak)
			} else {
				h.Score, h.Fit = max(h.Score, by.Score), max(h.Fit, by.Fit)
			}
			place(h)
		}
	}
	place = func(h Hit) {
		taken[h.doc] = true
		h.Standing = t.standing(h.doc)
		fetch(t.instead(h.doc), h)
		out = append(out, h)
		fetch(t.against[h.doc], h)
	}
	for _, h := range hits {
		if !taken[h.doc] {
			place(h)
		}
	}
	return out
}

// Settle puts what does not hold behind what holds in its place, where both were
// found, and what contradicts behind the first of both: for who has put hits into
// another order.
func Settle(found []Found) {
	at := map[string]int{}
	for i := range found {
		at[found[i].Slug] = i
	}
	taken, out := make([]bool, len(found)), make([]Found, 0, len(found))
	var place func(i int)
	each := func(slugs []string) {
		for _, slug := range slugs {
			if i, ok := at[slug]; ok && !taken[i] {
				place(i)
			}
		}
	}
	place = func(i int) {
		taken[i] = true
		each(found[i].SupersededBy)
		out = append(out, found[i])
		each(found[i].Contradicts)
	}
	for i := range found {
		if !taken[i] {
			place(i)
		}
	}
	copy(found, out)
}
