package recall

import (
	"slices"
	"strings"

	"engramd/nips/frontmatter"
)

// Standing is what other documents say against one: slugs, at most three of each.
type Standing struct {
	// SupersededBy took its place, or that of what it rests on: it does not hold any
	// more.
	SupersededBy []string
	// PartlySupersededBy took the place of some of what was derived from it, or, of
	// the core, a narrative and an intention, of what it rests on.
	PartlySupersededBy []string
	// Contradicts are active ones that contradict it, or that it contradicts.
	Contradicts []string
}

// Standing returns what is said against the document at a slug; nothing for none.
func (x *Index) Standing(slug string) Standing {
	id, ok := x.bySlug[slug]
	if !ok {
		return Standing{}
	}
	return x.standing(x.truth(), id)
}

func (x *Index) standing(t *truth, id int32) Standing {
	return Standing{x.slugs(x.instead(t, id)), x.slugs(x.newest(t, t.partly[id])), x.slugs(t.against[id])}
}

// Stale reports whether the document at a slug is active and does not hold any more,
// since what it rests on, or all that was derived from it, is superseded.
func (x *Index) Stale(slug string) bool {
	id, ok := x.bySlug[slug]
	return ok && len(x.truth().stale[id]) > 0
}

// Outdated reports whether the document at a slug is stale, or rests in part on what is
// superseded and is never stale: the core, a narrative or an intention.
func (x *Index) Outdated(slug string) bool {
	id, ok := x.bySlug[slug]
	t := x.truth()
	return ok && (len(t.stale[id]) > 0 || len(t.partly[id]) > 0 && x.docs[id].typ != frontmatter.Episodic)
}

// Corrects returns the slugs of the documents in whose place the one at a slug
// stands, also through others.
func (x *Index) Corrects(slug string) []string {
	id, ok := x.bySlug[slug]
	if !ok {
		return nil
	}
	return x.slugs(x.corrected(id))
}

// Holds returns the slugs of active documents that would be found in place of the
// one at a slug if it were archived: what it corrects, and episodes of that.
func (x *Index) Holds(slug string) (all []string) {
	for _, old := range x.Corrects(slug) {
		doc := &x.docs[x.bySlug[old]]
		if doc.state == frontmatter.Active {
			all = append(all, old)
		}
		for _, l := range doc.links {
			id, ok := x.bySlug[l.target]
			if l.kind == derivedFrom && ok && x.docs[id].typ == frontmatter.Episodic && x.docs[id].state == frontmatter.Active && l.target != slug {
				all = append(all, l.target)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (x *Index) slugs(ids []int32) (all []string) {
	for _, id := range ids {
		all = append(all, x.docs[id].slug)
	}
	return all
}

// instead returns what stands in the place of a document that does not hold.
func (x *Index) instead(t *truth, id int32) []int32 {
	switch {
	case len(t.by[id]) > 0:
		return x.newest(t, []int32{id})
	case len(t.stale[id]) > 0:
		return slices.DeleteFunc(x.newest(t, t.stale[id]), func(n int32) bool { return n == id })
	}
	return t.said[id]
}

// Notes says it in words, each naming slugs; nil for nothing.
func (s Standing) Notes() (all []string) {
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
		for id := range x.truth().stale {
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
func (x *Index) settle(a *asked, s *scored, hits []Hit) []Hit {
	t := x.truth()
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
			if taken[id] || x.docs[id].state != frontmatter.Active || !a.open[id] {
				continue
			}
			var h Hit
			if i, ok := found[id]; ok {
				h = hits[i]
			} else if fetched++; fetched <= maxFetched {
				h = x.hit(id, best{section: x.docs[id].from, why: ByLink}, a, s)
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
		h.Standing = x.standing(t, h.doc)
		fetch(x.instead(t, h.doc), h)
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
