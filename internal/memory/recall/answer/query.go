package answer

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"engramd/internal/memory/recall"
	"engramd/nips/frontmatter"
)

// filtered names the first filter of a query that leaves a memory out, of those that
// are neither state, trust nor scope.
func filtered(v View, asked recall.Query, slug string) string {
	if !asked.Slugs(slug) {
		return "prefix"
	}
	for _, one := range []struct {
		name string
		recall.Filter
	}{
		{"types", recall.Filter{Types: asked.Types}},
		{"tags", recall.Filter{Tags: asked.Tags}},
		{"since", recall.Filter{Since: asked.Since}},
	} {
		one.States, one.Slugs = frontmatter.States, func(other string) bool { return other == slug }
		if v.Index().Count(one.Filter) == 0 {
			return one.name
		}
	}
	return "until"
}

// Bounds of a query.
const (
	MinBudget     = 400 // what says what a block is, and a line of a title
	DefaultBudget = recall.DefaultBudget
	MaxBudget     = 64 << 10
	maxFilters    = 32 // words in one filter
)

// Query is what is asked for, in the words of who asks.
type Query struct {
	Text         string
	Budget       int      // of a block, in bytes; 0 is DefaultBudget
	Types, Tags  []string // of the types, and with each of the tags
	States       []string // active if empty; "all" is each
	Prefix       string   // of the slug; mem/ may be left out
	Since, Until string   // a day, an instant, or "last week"; until its end
	MinTrust     string
	Holds        bool // without what is stale: what it rests on is superseded
	Emotion      map[string]float64
	Near         recall.Near // meaning beside words, where there are vectors
	Matrix       []string    // what the built-in matrix compares where there is no Near: the text, and perhaps its parts
	// Scope says whose memory is looked through; its zero value is all.
	Scope Scope
	// Shown says what the asker has seen, whole or that section of it: it keeps its
	// place in the answer, and does not stand there again. nil is nothing.
	Shown func(slug string, section int) bool

	scores map[string]float64 // of Rerank, by slug; nil without
}

// Mistake is a query that makes no sense.
type Mistake struct{ Field, Reason string }

func (m *Mistake) Error() string { return m.Field + ": " + m.Reason }

func mistakef(field, format string, args ...any) error {
	return &Mistake{Field: field, Reason: fmt.Sprintf(format, args...)}
}

// read understands a query. Its errors are Mistakes.
func (q *Query) read(now time.Time) (recall.Query, error) {
	out := recall.Query{Text: q.Text, Now: now, Near: q.Near}
	if len(q.Text) > recall.MaxQuery {
		return out, mistakef("query", "it has %d bytes; %d are the most", len(q.Text), recall.MaxQuery)
	}
	if recall.Words(q.Text) == 0 {
		return out, mistakef("query", "there is no word in it")
	}
	if q.Budget != 0 && (q.Budget < MinBudget || q.Budget > MaxBudget) {
		return out, mistakef("budget_bytes", "it is %d; it must be from %d to %d", q.Budget, MinBudget, MaxBudget)
	}
	var err error
	if out.Filter, err = q.filter(now); err != nil {
		return out, err
	}
	for name, share := range q.Emotion {
		at := slices.Index(frontmatter.Emotions[:], strings.ToLower(strings.TrimSpace(name)))
		if at < 0 {
			return out, mistakef("emotion", "%q is none of %s", name, strings.Join(frontmatter.Emotions[:], ", "))
		}
		if !(share >= 0 && share <= 1) {
			return out, mistakef("emotion", "%s is %v; it must be from 0 to 1", name, share)
		}
		out.Emotion[at] = share
	}
	return out, nil
}

func (q *Query) filter(now time.Time) (f recall.Filter, err error) {
	f.Holds = q.Holds
	f.Slugs = func(slug string) bool {
		return !Reserved(slug) && Begins(slug, q.Prefix)
	}
	if len(q.Tags) > maxFilters || len(q.Types) > maxFilters || len(q.States) > maxFilters {
		return f, mistakef("tags", "%d words are the most", maxFilters)
	}
	for _, t := range q.Tags {
		f.Tags = append(f.Tags, strings.TrimPrefix(strings.TrimSpace(t), "#"))
	}
	if f.Types, err = words("types", q.Types, frontmatter.Types); err != nil {
		return f, err
	}
	if f.States, err = words("states", q.States, frontmatter.States); err != nil {
		return f, err
	}
	if q.MinTrust != "" {
		var ok bool
		if f.MinTrust, ok = frontmatter.ParseTrust(strings.ToLower(strings.TrimSpace(q.MinTrust))); !ok {
			return f, mistakef("min_trust", "%q is none of external, derived, observed, told", q.MinTrust)
		}
	}
	if q.Since != "" {
		if f.Since, _, err = span("since", q.Since, now); err != nil {
			return f, err
		}
	}
	if q.Until != "" {
		if _, f.Until, err = span("until", q.Until, now); err != nil {
			return f, err
		}
	}
	if !f.Since.IsZero() && !f.Until.IsZero() && !f.Since.Before(f.Until) {
		return f, mistakef("until", "%s is not after since, %s", f.Until.Format(time.RFC3339), f.Since.Format(time.RFC3339))
	}
	return f, nil
}

// Begins reports whether a slug begins with a prefix as people and models write
// it: it may lack mem/, as slugs may.
func Begins(slug, prefix string) bool {
	prefix = begin(prefix)
	return strings.HasPrefix(slug, prefix) || !strings.HasPrefix(prefix, "mem/") && strings.HasPrefix(slug, "mem/"+prefix)
}

func begin(prefix string) string {
	return strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(prefix), "[["), "engram://")
}

// words reads words of a list that is known; "all" is every one.
func words[W ~string](field string, given []string, known []W) ([]W, error) {
	var all []W
	for _, g := range given {
		w := W(strings.ToLower(strings.TrimSpace(g)))
		switch {
		case w == "all":
			return known, nil
		case !slices.Contains(known, w):
			return nil, mistakef(field, "%q is none of %v", g, known)
		}
		all = append(all, w)
	}
	return all, nil
}

func span(field, text string, now time.Time) (from, until time.Time, err error) {
	from, until, ok := recall.Since(text, now)
	if !ok {
		return from, until, mistakef(field, "%q is no time: give a day (2026-11-20), an instant (2026-11-20T09:00:00Z), a month (May 2026), or words such as yesterday, last week, 3 days ago", text)
	}
	return from, until, nil
}
