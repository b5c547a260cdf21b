package recall

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"engramd/nips/frontmatter"
)

const (
	// leastSaid is how many terms a text counts as having at least, where it is
	// compared for what is new: two words say too little to be like something.
	leastSaid = 10
	// maxNearest is how many documents are compared with a text.
	maxNearest = 2000
)

// Likeness is how much two texts share of their stems, 0 to 1: those that both have,
// divided by the mean (the geometric one) of how many each has, in the sections that
// are most alike. The same stems in another order are 1.
func Likeness(a, b string) float64 {
	best := 0.
	as := sectionSets(a)
	for _, s := range sectionSets(b) {
		for _, o := range as {
			best = max(best, like(s, o))
		}
	}
	return best
}

// Nearest returns the document of any state that a text is most like, and the likeness;
// "" if none has a word of it. Documents whose text is not to be had are none.
func (x *Index) Nearest(text string, texts Texts) (slug string, likeness float64) {
	own := sectionSets(text)
	for _, c := range sharing(x, own) {
		if c.most <= likeness {
			break
		}
		other, ok := texts(x.docs[c.doc].slug)
		if !ok {
			continue
		}
		for _, s := range documentSets(other) {
			for _, o := range own {
				if l := like(s, o); l > likeness {
					slug, likeness = x.docs[c.doc].slug, l
				}
			}
		}
	}
	return slug, likeness
}

// sectionSets returns the terms of each section of a text without front matter, at
// most maxCompared of them.
func sectionSets(text string) []map[string]bool {
	all := sections(text)
	return setsOf(all[:min(len(all), maxCompared)])
}

func setsOf(texts []string) (sets []map[string]bool) {
	for _, s := range texts {
		sets = append(sets, stemSet(s))
	}
	return sets
}

// documentSets is the same of a unit, whose description belongs to what it says.
func documentSets(text string) []map[string]bool {
	d := frontmatter.Parse(text)
	all := sections(d.Body())
	sets := setsOf(all)
	if about := d.Fields().Description; about != "" {
		sets = append(sets, stemSet(about+"\n"+all[0]), stemSet(about))
	}
	return sets
}

func like(a, b map[string]bool) float64 {
	both := shares(a, b)
	if both > 0 && both == len(a) && both == len(b) {
		return 1
	}
	return float64(both) / math.Sqrt(float64(max(len(a), leastSaid))*float64(max(len(b), leastSaid)))
}

// sharer is a document that has words of a text, and the most that it can be like it.
type sharer struct {
	doc  int32
	most float64
}

// sharing returns the documents that have terms of a text's sections, those that can
// be most like it first.
func sharing(x *Index, own []map[string]bool) []sharer {
	most := map[int32]float64{}
	for _, set := range own {
		counts := map[int32]int{} // by section
		for t := range set {
			if id, ok := x.terms[t]; ok {
				for _, p := range x.postings(id) {
					counts[p.section()]++
				}
			}
		}
		for at, n := range counts {
			doc := x.sections[at].doc
			if doc < 0 {
				continue
			}
			bound := float64(n) / math.Sqrt(float64(max(len(set), leastSaid))*float64(max(n, leastSaid)))
			if n == len(set) {
				bound = 1
			}
			most[doc] = max(most[doc], bound)
		}
	}
	all := make([]sharer, 0, len(most))
	for doc, m := range most {
		all = append(all, sharer{doc, m})
	}
	slices.SortFunc(all, func(a, b sharer) int {
		return cmp.Or(cmp.Compare(b.most, a.most), strings.Compare(x.docs[a.doc].slug, x.docs[b.doc].slug))
	})
	return all[:min(len(all), maxNearest)]
}
