package session

import (
	"context"
	"slices"
	"strings"
	"time"

	"engramd/internal/memory/consolidation"
	"engramd/internal/memory/localcopy"
	"engramd/internal/memory/proposals"
	"engramd/internal/memory/recall/answer"
	"engramd/internal/memory/write"
	"engramd/nips/frontmatter"
)

// compareTime bounds how long a write waits for a look at the local copy.
const compareTime = time.Second

// Copied returns what finds the external memory that a text was taken from, among
// those of the local copy. Where there is none, or it cannot be read, nothing is
// known.
func (c *Copies) Copied(ctx context.Context) write.Copied {
	return func(text string) (slug string, ok bool) {
		if c.open.Load() == nil { // an index that is not in memory yet is not read for nothing
			if kept, err := c.s.known.kept(ctx); err == nil && kept != nil {
				if none, err := localcopy.NoneExternal(ctx, kept); none && err == nil {
					return "", false
				}
			}
		}
		c.look(ctx, "whether the words are another's", func(_ context.Context, v answer.View) { slug, ok = answer.CopiedFrom(v, text) })
		return slug, ok
	}
}

// Holds finds in the local copy what would be found in place of a memory if it were
// archived.
func (c *Copies) Holds(ctx context.Context, slug string) (all []string) {
	c.look(ctx, "what would be found in its place", func(_ context.Context, v answer.View) { all = v.Index().Truth().Holds(slug) })
	return all
}

// Near finds memories of the local copy that say nearly what a text says which is
// to be written at a slug, and those of which one contradicts the other. Where
// there is no copy, none are known.
func (c *Copies) Near(ctx context.Context, slug, text string) (all []proposals.Near) {
	c.look(ctx, "what is near", func(ctx context.Context, v answer.View) { all = near(ctx, v, slug, text) })
	return all
}

// Waiting counts the episodes that wait to be consolidated, by the local copy on
// disk; 0 where there is none.
func (c *Copies) Waiting(ctx context.Context) (n int) {
	kept, err := c.OnDisk(ctx)
	if err != nil || kept == nil {
		return 0 // what was written is written
	}
	defer func() { _ = kept.Close() }() // nothing was written
	err = unconfirmed(kept).Read(ctx, func(v answer.View) error {
		n = consolidation.Waiting(v)
		return nil
	})
	if err != nil {
		return 0
	}
	return n
}

// near looks at one view. Of a memory that is too large for the time, what was
// looked at counts.
func near(ctx context.Context, v answer.View, slug, text string) []proposals.Near {
	var all []proposals.Near
	for _, s := range answer.SimilarTo(v, slug, text) {
		all = append(all, proposals.Near{Slug: s.Slug, Title: s.Title, Shared: s.Shared, Differs: s.Differs})
	}
	against := func(other string) {
		i := slices.IndexFunc(all, func(n proposals.Near) bool { return n.Slug == other })
		if i < 0 {
			there, ok := v.Text(other)
			if !ok || answer.Reserved(other) {
				return
			}
			i, all = len(all), append(all, proposals.Near{Slug: other, Title: answer.Title(frontmatter.Parse(there))})
		}
		all[i].Contradicts = true
	}
	for _, target := range contradicted(text) {
		against(target)
	}
	for _, h := range v.Heads() {
		if ctx.Err() != nil || len(all) >= 2*answer.MaxSimilar {
			break
		}
		if there, _ := v.Text(h.Slug); h.Slug != slug && slices.Contains(contradicted(there), slug) {
			against(h.Slug)
		}
	}
	return all
}

// contradicted returns what a text says that it contradicts.
func contradicted(text string) (targets []string) {
	if !strings.Contains(text, "contradicts") {
		return nil
	}
	for _, r := range frontmatter.Parse(text).Fields().Relations {
		if r.Relation == "contradicts" && len(targets) < answer.MaxSimilar {
			targets = append(targets, r.Target)
		}
	}
	return targets
}
