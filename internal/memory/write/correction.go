package write

import (
	"context"
	"fmt"

	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

// Keeps refuses a text that archives a correction (ErrField) while what it corrects is
// active, as far as Holds knows: that would be found in its place. old is what the text
// is to replace.
func (w *Writer) Keeps(ctx context.Context, slug nipae.Slug, old, text string) error {
	if w.Holds == nil || slug.IsCore() || old == "" || stateOf(text) != frontmatter.Archived || stateOf(old) != frontmatter.Active {
		return nil
	}
	for _, other := range w.Holds(ctx, string(slug)) {
		if isActive(ctx, w.Memory, nipae.Slug(other)) {
			return fmt.Errorf("%w: %s corrects what %s says, which would be found in its place: archive that first", ErrField, slug, other)
		}
	}
	return nil
}

// Unmarked returns what a text supersedes and is active all the same, as far as it can
// be read: nothing is hidden before it is marked, as Supersede does.
func (w *Writer) Unmarked(ctx context.Context, text string) (all []nipae.Slug) {
	for _, r := range frontmatter.Parse(text).Fields().Relations {
		slug, err := nipae.NormalizeSlug(r.Target)
		if r.Relation == "supersedes" && err == nil && len(all) < MaxSupersedes && isActive(ctx, w.Memory, slug) {
			all = append(all, slug)
		}
	}
	return all
}

// isActive reports whether a memory is there and active, whatever a copy says.
func isActive(ctx context.Context, m Memory, slug nipae.Slug) bool {
	head, _, err := m.Get(ctx, slug)
	return err == nil && stateOf(head.Text) == frontmatter.Active
}

func stateOf(text string) frontmatter.State { return frontmatter.Parse(text).Fields().State }
