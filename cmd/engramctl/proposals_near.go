package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"engramd/internal/memory/proposals"
	"engramd/internal/memory/recall/answer"
	"engramd/nips/frontmatter"
)

// nearLine is a memory to compare with, in words.
func nearLine(n proposals.Near) string {
	line := n.Slug
	if n.Title != "" {
		line += " (" + n.Title + ")"
	}
	if n.Contradicts {
		line += ", contradicts"
	}
	if n.Shared > 0 {
		line += fmt.Sprintf(", says %.0f %% of it", 100*n.Shared)
	}
	if len(n.Differs) > 0 {
		line += ", differs in " + strings.Join(n.Differs[:min(8, len(n.Differs))], " ")
	}
	return frontmatter.OneLine(line)
}

// near finds memories of the local copy that say nearly what a text says which is
// to be written at a slug, and those of which one contradicts the other. Where
// there is no copy, none are known.
func (a *app) near(ctx context.Context, slug, text string) (all []proposals.Near) {
	ctx, cancel := context.WithTimeout(ctx, a.Allow(compareTime))
	defer cancel()
	look := func(source answer.Source) {
		_ = source.Read(ctx, func(v answer.View) error {
			all = nearIn(ctx, v, slug, text)
			return nil
		})
	}
	if l := a.wrote.Load(); l != nil {
		look(l.source())
		return all
	}
	kept, err := a.lying(ctx)
	if err != nil && a.Flags.Verbose {
		a.Note("what is near is not known: %v", err)
	}
	if err != nil || kept == nil {
		return nil
	}
	defer func() { _ = kept.Close() }() // nothing was written
	look(answer.Local(kept, func() ([]string, bool) { return nil, false }))
	return all
}

// nearIn looks at one view. Of a memory that is too large for the time, what was
// looked at counts.
func nearIn(ctx context.Context, v answer.View, slug, text string) []proposals.Near {
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
