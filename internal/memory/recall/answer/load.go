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
		if err := index.Put(recall.Of(h.Slug, frontmatter.Parse(h.Text), time.Unix(h.UpdatedAt, 0).UTC())); err != nil {
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
