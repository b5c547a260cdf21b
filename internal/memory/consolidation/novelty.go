package consolidation

import (
	"slices"
	"time"

	"engramd/internal/memory/recall"
	"engramd/internal/memory/recall/answer"
	"engramd/nips/frontmatter"
)

// MaxSimilarity is how near an insight may be to the nearest unit: its novelty is 1
// less that.
const MaxSimilarity = 0.35

// Meaning gives the cosine of a text and a section of a unit, where there are vectors
// of both; it is nil, or gives nil, where there are none.
type Meaning func(text string) (near func(slug string, section int) (cosine float64, ok bool))

// Insights are the texts that Check asks Meaning about, for who has to ask a model
// beforehand; none if the operations are no dream's.
func Insights(ops []Op) (texts []string) {
	ops, err := normal(Dream, ops)
	if err != nil {
		return nil
	}
	for _, op := range ops {
		if op.Slug != NarrativeSlug {
			texts = append(texts, op.words())
		}
	}
	return texts
}

type insight struct{ slug, text string }

// words are what a unit that is written says: its description, and its text.
func (o Op) words() string {
	if o.Description == "" {
		return o.Text
	}
	return o.Description + "\n\n" + o.Text
}

// nearest returns the unit that an operation's text is most like, among all that the
// memory holds whatever their state, and what the same answer said before: what was
// said once is not new when it is archived. It compares words always, since what
// repeats words repeats them, and meaning where there is a model.
func (o CheckOptions) nearest(op Op, said []insight) (slug string, share float64) {
	if o.View == nil {
		return "", 0
	}
	words := op.words()
	slug, share = o.View.Index().Nearest(words, func(s string) (string, bool) {
		if s == op.Slug || answer.Reserved(s) {
			return "", false
		}
		return o.View.Text(s)
	})
	for _, s := range said {
		if like := recall.Likeness(words, s.text); like > share {
			slug, share = s.slug, like
		}
	}
	if o.Meaning != nil {
		if near := o.Meaning(words); near != nil {
			if s, like := nearestMeaning(o.View, op.Slug, near); like > share {
				slug, share = s, like
			}
		}
	}
	return slug, share
}

// nearestMeaning is the same by a model. Its cosines say little as they are: with one
// model two texts that have nothing in common have 0.1, with another 0.7. So what
// counts is how far the nearest is above what is usual, of all that there is above it:
// (cosine − median) / (1 − median).
func nearestMeaning(v answer.View, but string, near func(string, int) (float64, bool)) (slug string, like float64) {
	var all []float64
	best := -1.
	for _, h := range v.Heads() {
		text, ok := v.Text(h.Slug)
		if !ok || h.Slug == but || answer.Reserved(h.Slug) {
			continue
		}
		for i := range recall.Sections(recall.Of(h.Slug, frontmatter.Parse(text), time.Unix(h.UpdatedAt, 0))) {
			cosine, ok := near(h.Slug, i)
			if !ok {
				continue
			}
			if all = append(all, cosine); cosine > best {
				slug, best = h.Slug, cosine
			}
		}
	}
	if len(all) == 0 {
		return "", 0
	}
	slices.Sort(all)
	usual := max(all[len(all)/2], 0)
	if len(all) < leastUsual {
		usual = 0 // too few to say what is usual
	}
	return slug, max(0, (best-usual)/max(1-usual, 0.01))
}

// leastUsual is how many sections it takes to say what is usual.
const leastUsual = 20
