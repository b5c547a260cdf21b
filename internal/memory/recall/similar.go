package recall

import (
	"cmp"
	"slices"
	"strings"
)

const (
	// A unit is similar to a text if this share of what the text's words say
	// stands in one of its sections, or of what the unit's words say in the text.
	// Chosen on the set that the repository makes: see TestSimilar.
	similar = 0.6
	// leastSimilar is how many different terms a text or a unit needs before the
	// share says something.
	leastSimilar = 3
	// maxCompared is how many candidates are compared with a text, and
	// maxTextTerms by how many of its terms they are looked for.
	maxCompared  = 50
	maxTextTerms = 256
)

// Similar is a unit that says much of what a text says.
type Similar struct {
	Slug string
	// Shared is the share of what is said that both say, 0 to 1.
	Shared float64
	// Differs are words that one of both has and the other has not.
	Differs []string
}

// Similar returns the active units that are similar to a text, the nearest first
// and at most that many: for who writes it, to change what is there instead of
// saying it again. The unit at its own slug is none of them.
func (x *Index) Similar(slug, text string, texts Texts, most int) []Similar {
	own := stemsOf(text)
	if len(own) < leastSimilar {
		return nil
	}
	var found []Similar
	for _, id := range candidates(x, slug, own) {
		other := x.docs[id].slug
		text, ok := texts(other)
		if !ok {
			continue
		}
		set := stemsOf(text)
		shared := x.said(own, set)
		if len(set) >= leastSimilar {
			shared = max(shared, x.said(set, own))
		}
		if shared >= similar {
			found = append(found, Similar{Slug: other, Shared: shared, Differs: differing(own, set)})
		}
	}
	slices.SortFunc(found, func(a, b Similar) int {
		return cmp.Or(cmp.Compare(b.Shared, a.Shared), strings.Compare(a.Slug, b.Slug))
	})
	return found[:min(len(found), most)]
}

// said is the share of what the terms of a say that stand in b as well.
func (x *inverted) said(a, b map[string]bool) float64 {
	total, has := 0., 0.
	for t := range a {
		v := idf(x.having(t), x.live)
		total += v
		if b[t] {
			has += v
		}
	}
	return has / max(total, 1e-9)
}

// having is how many sections have a term, some of them perhaps removed.
func (x *inverted) having(term string) int {
	id, ok := x.terms[term]
	if !ok {
		return 0
	}
	return min(x.number(id), x.live)
}

// candidates returns the active documents that have most of a text's rarest
// terms.
func candidates(x *Index, slug string, terms map[string]bool) []int32 {
	type known struct {
		id  int32
		idf float64
	}
	var rare []known
	for t := range terms {
		if id, ok := x.terms[t]; ok {
			rare = append(rare, known{id, idf(x.having(t), x.live)})
		}
	}
	slices.SortFunc(rare, func(a, b known) int { return cmp.Or(cmp.Compare(b.idf, a.idf), cmp.Compare(a.id, b.id)) })
	scores := map[int32]float64{}
	for _, k := range rare[:min(len(rare), maxTextTerms)] {
		last := int32(-1)
		for _, p := range x.postings(k.id) {
			doc := x.sections[p.section()].doc
			if doc < 0 || doc == last || x.docs[doc].state != "active" || x.docs[doc].slug == slug {
				continue
			}
			last = doc
			scores[doc] += k.idf
		}
	}
	ids := make([]int32, 0, len(scores))
	for id := range scores {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b int32) int { return cmp.Or(cmp.Compare(scores[b], scores[a]), cmp.Compare(a, b)) })
	return ids[:min(len(ids), maxCompared)]
}
