package recall

// maxIDF is the most that one rare stem says: a number or a typo that stands
// nowhere else says no more than a rare word.
const maxIDF = 4

// Said is how much a document says, by its words alone.
type Said struct {
	Slug string
	// Mass is the sum of what its distinct stems say: min(idf, 4) of each, over
	// documents.
	Mass float64
	// Timely: it has an expression of time. Asks: it is nothing but a question.
	Timely, Asks bool
}

// Said returns how much each document says, in no order.
func (x *Index) Said() []Said {
	mass := make([]float64, len(x.docs))
	last := make([]int32, len(x.docs)) // the term that was counted last, +1
	var with []int32
	for t, list := range x.posts {
		with = with[:0]
		for _, p := range list {
			if doc := x.sections[p.section()].doc; doc >= 0 && last[doc] != int32(t)+1 {
				last[doc] = int32(t) + 1
				with = append(with, doc)
			}
		}
		says := min(idf(len(with), len(x.bySlug)), maxIDF)
		for _, doc := range with {
			mass[doc] += says
		}
	}
	all := make([]Said, 0, len(x.bySlug))
	for slug, id := range x.bySlug {
		s := Said{Slug: slug, Mass: mass[id], Asks: true}
		for _, sec := range x.sections[x.docs[id].from:x.docs[id].to] {
			s.Timely = s.Timely || sec.timely
			s.Asks = s.Asks && sec.asks
		}
		all = append(all, s)
	}
	return all
}
