package recall

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"engramd/nips/frontmatter"
)

const (
	// leastCopied is how many distinct stems a text needs before it can be told
	// to be a copy, and copied the share of them that one section has.
	leastCopied = 12
	copied      = 0.8
	// likeThere is the share of the runs of three stems that a part of a text must have
	// in common with what it was taken from, if the text was taken from several
	// sections: there the same words alone say little, since notes of one form share
	// them. maxCandidates is how many units a part is compared with, maxOrigins how
	// many in all.
	likeThere     = 0.65
	maxCandidates = 8
	maxOrigins    = 32
)

// CopiedFrom returns the external unit that a text was taken from, as far as
// words can tell: 80 % of its stems, and there are at least 12, stand in one
// section of that unit, or 80 % of the text are parts of which that is true and that
// follow each other as there. Whoever writes such a text writes external words,
// under whatever name.
func (x *Index) CopiedFrom(text string, texts Texts) (slug string, ok bool) {
	if !External(x) {
		return "", false
	}
	body := frontmatter.Parse(text).Body()
	o := &sources{x: x, texts: texts, known: map[int32]map[run]bool{}}
	if docs := o.having(stemSet(body), 1); len(docs) > 0 {
		return x.docs[docs[0]].slug, true
	}
	if doc := o.ofParts(sections(body)); doc >= 0 {
		return x.docs[doc].slug, true
	}
	return "", false
}

// External reports whether a document of x is external.
func External(x *Index) bool {
	return slices.ContainsFunc(x.docs, func(d document) bool { return d.from < d.to && d.trust == frontmatter.External })
}

// sources are the external documents of an index that a text may be from.
type sources struct {
	x     *Index
	texts Texts
	known map[int32]map[run]bool // the runs of documents
}

// stretch is part of a text: so many sections that they have enough stems together.
type stretch struct {
	sections []string
	stems    map[string]bool
}

func stretches(sections []string) []stretch {
	var all []stretch
	for _, s := range sections {
		set := stemSet(s)
		n := len(all)
		if n == 0 || len(all[n-1].stems) >= leastCopied {
			all = append(all, stretch{[]string{s}, set})
			continue
		}
		all[n-1].sections = append(all[n-1].sections, s)
		maps.Copy(all[n-1].stems, set)
	}
	if n := len(all); n > 1 && len(all[n-1].stems) < leastCopied { // too few by themselves
		all[n-2].sections = append(all[n-2].sections, all[n-1].sections...)
		maps.Copy(all[n-2].stems, all[n-1].stems)
		all = all[:n-1]
	}
	return all
}

// ofParts returns the external document that most of a text is from, which
// was taken from several sections, -1 if there is none. Those need not begin and
// end where the parts do: a part is looked for in one section more than it has.
func (o *sources) ofParts(sections []string) int32 {
	if len(sections) < 2 {
		return -1
	}
	all, taken, from := 0, 0, make(map[int32]int)
	for _, p := range stretches(sections) {
		all += len(p.stems)
		docs := o.having(p.stems, int32(len(p.sections))+1)
		if doc := o.inOrder(strings.Join(p.sections, "\n\n"), docs); doc >= 0 {
			taken += len(p.stems)
			from[doc] += len(p.stems)
		}
	}
	best := int32(-1)
	for doc, n := range from {
		if best < 0 || cmp.Or(cmp.Compare(n, from[best]), cmp.Compare(best, doc)) > 0 {
			best = doc
		}
	}
	if float64(taken) < copied*float64(all) {
		return -1
	}
	return best
}

// run is three stems, one behind the other.
type run [3]string

func runs(text string) map[run]bool {
	terms, all := termsOf(text), make(map[run]bool)
	for i := 2; i < len(terms); i++ {
		all[run(terms[i-2:])] = true
	}
	return all
}

// inOrder returns the first of the documents that has a part's words in the order
// in which they stand there, -1 for none. One whose text is not to be had is
// believed to.
func (o *sources) inOrder(part string, docs []int32) int32 {
	if len(docs) == 0 {
		return -1
	}
	own := runs(part)
	for _, doc := range docs {
		there, ok := o.known[doc]
		if !ok && len(o.known) < maxOrigins {
			text, readable := o.texts(o.x.docs[doc].slug)
			if !readable {
				return doc
			}
			there = runs(frontmatter.Parse(text).Body())
			o.known[doc] = there
		}
		if float64(shares(own, there)) >= likeThere*float64(len(own)) {
			return doc
		}
	}
	return -1
}

// having returns the external documents that have most of these stems, of at least
// 12, within that many sections that follow each other; those that have more of them
// first.
func (o *sources) having(stems map[string]bool, window int32) []int32 {
	if len(stems) < leastCopied {
		return nil
	}
	counts := make(map[int32]int) // by the first section
	for t := range stems {
		id, ok := o.x.terms[t]
		if !ok {
			continue
		}
		last := int32(-1) // counted for this stem
		for _, p := range o.x.postings(id) {
			at := p.section()
			doc := o.x.sections[at].doc
			if doc < 0 || o.x.docs[doc].trust != frontmatter.External {
				continue
			}
			for first := max(at-window+1, o.x.docs[doc].from, last+1); first <= at; first++ {
				counts[first]++
				last = first
			}
		}
	}
	var found []int32
	for at, n := range counts {
		if float64(n) >= copied*float64(len(stems)) {
			found = append(found, at)
		}
	}
	slices.SortFunc(found, func(a, b int32) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
	var docs []int32
	for _, at := range found {
		if doc := o.x.sections[at].doc; len(docs) < maxCandidates && !slices.Contains(docs, doc) {
			docs = append(docs, doc)
		}
	}
	return docs
}
