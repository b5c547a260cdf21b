package answer

import (
	"cmp"
	"time"

	"engramd/internal/memory/recall"
	"engramd/nips/frontmatter"
)

// DefaultHits and MaxHits are how many memories a search shows.
const (
	DefaultHits = 10
	MaxHits     = 50
)

// Found is what a search returns.
type Found struct {
	Hits     []SearchHit // best first
	Total    int         // how many have one of the words
	Terms    int         // how many were searched for
	Searched int         // how many memories were looked through
	Others   int         // how many the scope left out that have one of the words
	State    State
}

// SearchHit is a memory that was found, with the text around what was.
type SearchHit struct {
	Hit
	Snippets []Snippet
}

// Search returns what has a word of the query, however little it fits. Its error
// is a Mistake.
func Search(v View, q Query, limit int, now time.Time) (Found, error) {
	asked, err := q.read(now)
	if err != nil {
		return Found{}, err
	}
	q.within(v, &asked)
	x := v.Index()
	texts := texts(v)
	find := func(asked recall.Query) []recall.Hit { return x.Search(asked, recall.Recipe(), texts) }
	hits := find(asked)
	finder := x.Finder(asked, recall.Recipe())
	f := Found{Total: len(hits), Terms: finder.Terms(), Searched: x.Count(asked.Filter), State: v.State()}
	f.Others = others(v, asked, func(rest recall.Query) int { return len(find(rest)) })
	for i := range hits[:min(cmp.Or(limit, DefaultHits), len(hits))] {
		h := SearchHit{Hit: hitOf(v, &hits[i], texts)}
		h.Project = asked.Within.Of(h.Slug)
		if text, ok := texts(h.Slug); ok {
			h.Snippets = snippets(frontmatter.Parse(text), finder)
		}
		for i := range h.Snippets {
			if h.Trust == frontmatter.External {
				h.Snippets[i].Text = "> " + h.Snippets[i].Text
			}
		}
		f.Hits = append(f.Hits, h)
	}
	return f, nil
}
