package answer

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"engramd/internal/memory/localcopy"
	"engramd/internal/memory/meaning"
	"engramd/internal/memory/recall"
	"engramd/nips/frontmatter"
)

// Held is a text with what is known of it.
type Held struct {
	Head
	Text string
}

// loaded is a memory in memory.
type loaded struct {
	index *recall.Index
	texts map[string]Held
	heads []Head
	state State
}

// Load makes a source of texts, which stand in the order of View.Heads.
func Load(all []Held, state State) (Source, error) {
	index := recall.New()
	l := &loaded{index: index, texts: make(map[string]Held, len(all)), state: state}
	for _, h := range all {
		if err := index.Put(meaning.Document(h.Slug, frontmatter.Parse(h.Text), time.Unix(h.UpdatedAt, 0).UTC())); err != nil {
			return nil, fmt.Errorf("%s: %w", h.Slug, err)
		}
		l.texts[h.Slug] = h
		l.heads = append(l.heads, h.Head)
	}
	return l, nil
}

func (l *loaded) Read(ctx context.Context, do func(View) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return do(l)
}

func (l *loaded) Index() *recall.Index            { return l.index }
func (l *loaded) Heads() []Head                   { return l.heads }
func (l *loaded) State() State                    { return l.state }
func (l *loaded) Text(slug string) (string, bool) { h, ok := l.texts[slug]; return h.Text, ok }
func (l *loaded) Head(slug string) (Head, bool)   { h, ok := l.texts[slug]; return h.Head, ok }

func (l *loaded) Under(prefix string) []Head {
	return slices.DeleteFunc(slices.Clone(l.heads), func(h Head) bool { return !strings.HasPrefix(h.Slug, prefix) })
}

// Local makes a source of a local copy. relays are those that are asked now:
// what they confirmed is how fresh an answer is; whole says that all of them are
// known.
func Local(m *localcopy.Copy, relays func() (urls []string, whole bool)) Source {
	return &local{m, relays}
}

type local struct {
	mirror *localcopy.Copy
	relays func() ([]string, bool)
}

func (l *local) Read(ctx context.Context, do func(View) error) error {
	urls, whole := l.relays()
	return l.mirror.Read(ctx, func(v *localcopy.View) error {
		f := v.Freshness(urls)
		state := State{AsOf: f.AsOf, Stale: f.Stale || !whole, Unfinished: f.Unfinished}
		for range v.Unreadable() {
			state.Unreadable++
		}
		if b := v.Behind(); !state.Partial(0) {
			state.Behind, state.Withheld, state.BehindAt = b.All(), b.Lacking, b.Newest
			if b.Hidden {
				state.Withheld += b.None
			}
		}
		return do(&localView{v, state})
	})
}

// localView is one state of a local copy.
type localView struct {
	*localcopy.View
	state State
}

func (v *localView) State() State { return v.state }

func (v *localView) Head(slug string) (Head, bool) {
	h, ok := v.View.Head(slug)
	if !ok || h.Tombstone || h.Unreadable != "" {
		return Head{}, false
	}
	return headOf(h), true
}

func (v *localView) Heads() []Head { return v.Under("") }

func (v *localView) Under(prefix string) []Head {
	var all []Head
	for h := range v.View.Heads(prefix) {
		if !h.Tombstone {
			all = append(all, headOf(h))
		}
	}
	return all
}

func headOf(h localcopy.Head) Head {
	return Head{Slug: h.Slug, ID: h.ID, Size: h.Size, UpdatedAt: h.CreatedAt}
}

// Scope says in which project a question is asked: see recall.Scope.
type Scope = recall.Scope

const projects = "mem/projects/"

// within bounds a query that was read to its scope, and to what its owner does not have
// withheld. A prefix below one project asks for that.
func (q *Query) within(v View, asked *recall.Query) {
	s, prefix := q.Scope, begin(q.Prefix)
	if !strings.HasPrefix(prefix, "mem/") {
		prefix = "mem/" + prefix
	}
	s.All = s.All || len(prefix) > len(projects) && strings.HasPrefix(prefix, projects)
	asked.Within = v.Index().Within(s, q.Text)
	if asked.Near == nil && q.Matrix != nil {
		asked.Near = meaning.Within(v.Index(), q.Matrix)
	}
	words, slugs := WordsOf(v), asked.Slugs
	asked.Slugs = func(slug string) bool { return slugs(slug) && !words[slug].Withholds() }
}

// others counts what the scope of a query leaves out and find finds.
func others(v View, asked recall.Query, find func(recall.Query) int) int {
	rest, some := asked.Within.Rest()
	if asked.Within = rest; !some || v.Index().Count(asked.Filter) == 0 {
		return 0
	}
	return find(asked)
}

// elsewhere is the last line of a block from which so many were left out.
func (q *Query) elsewhere(n int) string {
	switch {
	case n == 0:
		return ""
	case len(q.Scope.Own) == 0: // of no linked folder: an agent that asks gets them
		return fmt.Sprintf("(%d in projects: memory_recall)\n", n)
	}
	return fmt.Sprintf("(%d in other projects: all_projects)\n", n)
}
