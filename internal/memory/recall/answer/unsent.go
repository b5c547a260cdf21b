package answer

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"engramd/internal/memory/meaning"
	"engramd/internal/memory/recall"
	"engramd/nips/frontmatter"
)

// Unsent is a text that waits.
type Unsent struct {
	Held
	Fits func(text string) bool // whether it stands in place of a text; nil: of each
}

// Over lays texts that wait on this machine over those of a source: each stands in
// place of the one at its slug, if it fits, and is marked (Head.Unsent, recall.Standing).
func Over(s Source, unsent func(context.Context) []Unsent) Source { return &overSource{s, unsent} }

type overSource struct {
	below  Source
	unsent func(context.Context) []Unsent
}

func (o *overSource) Read(ctx context.Context, do func(View) error) error {
	all := o.unsent(ctx)
	if len(all) == 0 {
		return o.below.Read(ctx, do)
	}
	return o.below.Read(ctx, func(v View) error {
		over := &overView{View: v, held: map[string]Held{}}
		for _, h := range all {
			if text, ok := v.Text(h.Slug); ok && h.Fits != nil && !h.Fits(text) {
				continue // relays have a newer one
			}
			h.Unsent = true
			over.held[h.Slug] = h.Held
		}
		over.index = sync.OnceValue(over.indexed)
		return do(over)
	})
}

type overView struct {
	View
	held  map[string]Held
	index func() *recall.Index
}

func (v *overView) indexed() *recall.Index {
	var docs []recall.Document
	for _, h := range v.held {
		d := meaning.Document(h.Slug, frontmatter.Parse(h.Text), time.Unix(h.UpdatedAt, 0).UTC())
		d.Unsent = true
		docs = append(docs, d)
	}
	slices.SortFunc(docs, func(a, b recall.Document) int { return strings.Compare(a.Slug, b.Slug) })
	return v.View.Index().With(docs)
}

func (v *overView) Index() *recall.Index { return v.index() }

func (v *overView) Text(slug string) (string, bool) {
	if h, ok := v.held[slug]; ok {
		return h.Text, true
	}
	return v.View.Text(slug)
}

func (v *overView) Head(slug string) (Head, bool) {
	if h, ok := v.held[slug]; ok {
		return h.Head, true
	}
	return v.View.Head(slug)
}

func (v *overView) Heads() []Head { return v.Under("") }

func (v *overView) Under(prefix string) []Head {
	all := slices.DeleteFunc(slices.Clone(v.View.Under(prefix)), func(h Head) bool { _, ok := v.held[h.Slug]; return ok })
	for slug, h := range v.held {
		if strings.HasPrefix(slug, prefix) {
			all = append(all, h.Head)
		}
	}
	slices.SortFunc(all, func(a, b Head) int { return strings.Compare(a.Slug, b.Slug) })
	return all
}
