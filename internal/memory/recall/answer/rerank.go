package answer

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"engramd/internal/memory/recall"
	"engramd/nips/frontmatter"
)

const (
	// reranked is how many of the best a scorer looks at.
	reranked = 20
	// mostScored is how many bytes of a text it sees.
	mostScored = 2000
	// RerankLimit is how long a scorer may take.
	RerankLimit = 2 * time.Second
)

// Scorer says how well each text answers a query; higher is better.
type Scorer func(ctx context.Context, query string, texts []string) ([]float64, error)

// Rerank has a scorer put the best of what fits a query in order, by the section of
// each that fits best, for a Recall of it that follows. The scorer is asked outside of any view, and for RerankLimit at
// most. After an error, which is a Mistake, the source's or the scorer's, the query
// is what it was.
func Rerank(ctx context.Context, from Source, q *Query, now time.Time, score Scorer) error {
	asked, err := q.read(now)
	if err != nil {
		return err
	}
	var slugs, bodies []string
	err = from.Read(ctx, func(v View) error {
		slugs, bodies = nil, nil
		q.within(v, &asked)
		texts := texts(v)
		for _, f := range v.Index().Recall(asked, recall.Recipe(), texts) {
			if text, ok := texts(f.Slug); ok && len(slugs) < reranked {
				slugs, bodies = append(slugs, f.Slug), append(bodies, section(f, text))
			}
		}
		return nil
	})
	if err != nil || len(slugs) < 2 {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, RerankLimit)
	defer cancel()
	scores, err := score(ctx, q.Text, bodies)
	if err != nil {
		return err
	}
	if len(scores) != len(slugs) {
		return fmt.Errorf("%d scores for %d texts", len(scores), len(slugs))
	}
	by := map[string]float64{}
	for i, slug := range slugs {
		by[slug] = scores[i]
	}
	q.scores = by
	return nil
}

// section is what a scorer sees of a memory: the section by which it was found,
// below the description.
func section(f recall.Found, text string) string {
	all := recall.Sections(recall.Of(f.Slug, frontmatter.Parse(text), time.Time{}))
	if f.Section >= len(all) {
		return ""
	}
	one := all[f.Section]
	return strings.ToValidUTF8(one[:min(len(one), mostScored)], "")
}

// reorder puts what has scores in their order, before what has none.
func (q *Query) reorder(found []recall.Found) {
	if q.scores == nil {
		return
	}
	slices.SortStableFunc(found, func(a, b recall.Found) int {
		sa, inA := q.scores[a.Slug]
		sb, inB := q.scores[b.Slug]
		switch {
		case inA != inB && inA, inA && inB && sa > sb:
			return -1
		case inA != inB, inA && inB && sa < sb:
			return 1
		}
		return 0
	})
	recall.Settle(found)
}
