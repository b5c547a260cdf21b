package main

import (
	"context"

	"engramd/internal/mcp"
	"engramd/internal/mirror"
	"engramd/internal/recollect"
	"engramd/internal/remember"
	"engramd/nips/nipae"
)

// copied finds the external memory that a text was taken from, among those of
// the local copy. Where there is no copy, or it cannot be read, nothing is known.
func (a *app) copied(ctx context.Context) remember.Copied {
	return func(text string) (from string, ok bool) {
		err := a.readCopy(ctx, func(v recollect.View) error {
			from, ok = recollect.CopiedFrom(v, text)
			return nil
		})
		if err != nil && a.flags.verbose {
			a.note("whether the words are another's is not known: %v", err)
		}
		return from, ok
	}
}

// readCopy reads the local copy: the one that is open, or one that lies there.
func (a *app) readCopy(ctx context.Context, do func(recollect.View) error) error {
	if l := a.wrote.Load(); l != nil {
		return l.source().Read(ctx, do)
	}
	kept, err := a.lying(ctx)
	if err != nil || kept == nil {
		return err
	}
	defer func() { _ = kept.Close() }() // nothing was written
	return recollect.Local(kept, func() ([]string, bool) { return nil, false }).Read(ctx, do)
}

// lying opens the local copy that lies there, nil if there is none. It must be
// closed.
func (a *app) lying(ctx context.Context) (*mirror.Mirror, error) {
	m := a.memory.Load()
	o, err := a.copyOptions()
	if err != nil || o.NoDisk || m == nil {
		return nil, err
	}
	there, err := mirror.Exists(pairOf(m), o.Dir)
	if err != nil || !there {
		return nil, err
	}
	return mirror.Open(ctx, pairOf(m), o)
}

// noteCopied says that a memory is external now because of whose words it has.
func (a *app) noteCopied(slug nipae.Slug, from string) {
	switch {
	case from == "":
	case slug.IsCore():
		a.note("the words are those of %s, which is external, and core cannot say so", from)
	default:
		a.note("the words are those of %s, which is external, and so is %s now", from, slug)
	}
}

// similar finds memories of the local copy that say nearly what was written.
func (a *app) similar(ctx context.Context) func(slug, text string) []mcp.SimilarUnit {
	return func(slug, text string) (all []mcp.SimilarUnit) {
		_ = a.readCopy(ctx, func(v recollect.View) error { // only a hint
			for _, s := range recollect.SimilarTo(v, slug, text) {
				all = append(all, mcp.SimilarUnit{Slug: s.Slug, Title: s.Title})
			}
			return nil
		})
		return all
	}
}
