package main

import (
	"context"

	"engramd/internal/mirror"
	"engramd/internal/recollect"
	"engramd/internal/remember"
	"engramd/nips/nipae"
)

// copied finds the external memory that a text was taken from, among those of
// the local copy: the one that is open, or one that lies there. Where there is
// none, or it cannot be read, nothing is known.
func (a *app) copied(ctx context.Context) remember.Copied {
	return func(text string) (string, bool) {
		if l := a.wrote.Load(); l != nil {
			return a.copiedIn(l.source())(text)
		}
		kept, err := a.lying(ctx)
		if err != nil && a.flags.verbose {
			a.note("whether the words are another's is not known: %v", err)
		}
		if err != nil || kept == nil {
			return "", false
		}
		defer func() { _ = kept.Close() }() // nothing was written
		return a.copiedIn(recollect.Local(kept, func() ([]string, bool) { return nil, false }))(text)
	}
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
	o.Older = true
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
