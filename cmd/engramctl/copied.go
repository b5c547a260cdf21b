package main

import (
	"context"

	"engramd/internal/memory/localcopy"
	"engramd/internal/memory/recall/answer"
	"engramd/internal/memory/write"
	"engramd/nips/nipae"
)

// copied finds the external memory that a text was taken from, among those of
// the local copy: the one that is open, or one that lies there. Where there is
// none, or it cannot be read, nothing is known.
func (a *app) copied(ctx context.Context) write.Copied {
	return func(text string) (slug string, ok bool) {
		a.beside(ctx, "whether the words are another's", func(s answer.Source) { slug, ok = a.copiedIn(s)(text) })
		return slug, ok
	}
}

// holds finds in the same copy what would be found in place of a memory if it were
// archived.
func (a *app) holds(ctx context.Context, slug string) (all []string) {
	a.beside(ctx, "what would be found in its place", func(s answer.Source) {
		ctx, cancel := context.WithTimeout(ctx, a.Allow(compareTime))
		defer cancel()
		all = answer.Holds(ctx, s, slug)
	})
	return all
}

// beside shows do the local copy that is open, or that lies there; what says what is
// not known without.
func (a *app) beside(ctx context.Context, what string, do func(answer.Source)) {
	if l := a.wrote.Load(); l != nil {
		do(l.source())
		return
	}
	kept, err := a.lying(ctx)
	if err != nil && a.Flags.Verbose {
		a.Note("%s is not known: %v", what, err)
	}
	if err != nil || kept == nil {
		return
	}
	defer func() { _ = kept.Close() }() // nothing was written
	do(answer.Local(kept, func() ([]string, bool) { return nil, false }))
}

// lying opens the local copy that lies there, nil if there is none. It must be
// closed.
func (a *app) lying(ctx context.Context) (*localcopy.Mirror, error) {
	m := a.memory.Load()
	o, err := a.copyOptions()
	if err != nil || o.NoDisk || m == nil {
		return nil, err
	}
	there, err := localcopy.Exists(pairOf(m), o.Dir)
	if err != nil || !there {
		return nil, err
	}
	o.Older = true
	return localcopy.Open(ctx, pairOf(m), o)
}

// noteCopied says that a memory is external now because of whose words it has.
func (a *app) noteCopied(slug nipae.Slug, from string) {
	switch {
	case from == "":
	case slug.IsCore():
		a.Note("the words are those of %s, which is external, and core cannot say so", from)
	default:
		a.Note("the words are those of %s, which is external, and so is %s now", from, slug)
	}
}
