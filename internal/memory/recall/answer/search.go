package answer

import (
	"cmp"
	"context"
	"time"

	"engramd/internal/memory/activity"
	"engramd/internal/memory/recall"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

// MaxSimilar is how many similar memories are named.
const MaxSimilar = 5

// Similar is a memory that says much of what a text says.
type Similar struct {
	Slug, Title string
	Shared      float64  // of what is said, 0 to 1
	Differs     []string // words that one of both has and the other has not
}

// SimilarTo returns the memories that a text which is about to be written at a
// slug is similar to, the nearest first.
func SimilarTo(v View, slug, text string) []Similar {
	var all []Similar
	for _, s := range v.Index().Similar(slug, text, texts(v), MaxSimilar) {
		other, _ := v.Text(s.Slug)
		all = append(all, Similar{Slug: s.Slug, Title: Title(frontmatter.Parse(other)), Shared: s.Shared, Differs: s.Differs})
	}
	return all
}

// CopiedFrom returns the external memory that a text was taken from: whoever
// writes it writes somebody else's words.
func CopiedFrom(v View, text string) (slug string, ok bool) {
	return v.Index().CopiedFrom(text, texts(v))
}

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

// Units returns the active units of a memory with what their activation follows
// from, without those that machines keep.
func Units(v View, k activity.Known) []activity.Unit {
	core, _ := v.Text(string(nipae.Core))
	r := activity.NewReader(k, activity.Informations(v.Index().Said()), core)
	var all []activity.Unit
	for _, h := range v.Heads() {
		if Reserved(h.Slug) {
			continue
		}
		text, ok := v.Text(h.Slug)
		if !ok {
			continue
		}
		if u, ok := Unit(v, r, h.Slug, text, time.Unix(h.UpdatedAt, 0).UTC()); ok {
			all = append(all, u)
		}
	}
	return all
}

// Unit makes a unit of an active memory, with what it corrects and what has to be
// archived before it; false if it is not active.
func Unit(v View, r activity.Reader, slug, text string, written time.Time) (activity.Unit, bool) {
	u, ok := r.Unit(activity.Text{Slug: slug, Text: text, Written: written})
	if !ok {
		return u, false
	}
	u.After = v.Index().Truth().Holds(slug)
	for _, old := range v.Index().Truth().Corrects(slug) {
		text, _ := v.Text(old)
		h, _ := v.Head(old)
		if c, ok := r.Superseded(activity.Text{Slug: old, Text: text, Written: time.Unix(h.UpdatedAt, 0).UTC()}); ok {
			u.Corrects = append(u.Corrects, c)
		}
	}
	return u, true
}

// Holds returns the active memories that would be found in place of one if it were
// archived; nothing where the source cannot be read.
func Holds(ctx context.Context, source Source, slug string) (all []string) {
	_ = source.Read(ctx, func(v View) error {
		all = v.Index().Truth().Holds(slug)
		return nil
	})
	return all
}

// Uses returns how often memories were used by all writers that say so in the
// memory: of each writer the most that it said, and of the own one also what it
// counted since.
func Uses(v View, writer string, own map[string]activity.Use, now time.Time) map[string]activity.Use {
	all, n := map[string]activity.Use{}, 0
	for _, h := range v.Under(activity.UsagePrefix) {
		text, ok := v.Text(h.Slug)
		if !ok || h.Slug == activity.UsagePrefix+writer {
			continue
		}
		if n++; n > activity.MaxWriters {
			break
		}
		activity.AddUses(all, activity.DecodeUsage(text, now))
	}
	text, _ := v.Text(activity.UsagePrefix + writer)
	mine := activity.DecodeUsage(text, now)
	for slug, u := range own {
		mine[slug] = activity.Most(mine[slug], u)
	}
	activity.AddUses(all, mine)
	return all
}
