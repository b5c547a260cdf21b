package main

import (
	"context"
	"time"

	"engramd/internal/agent/mcp"
	"engramd/internal/memory/recall/answer"
	"engramd/internal/memory/write"
)

// compareTime bounds how long a write waits for a look at the local copy.
const compareTime = time.Second

// similarIn finds memories of a source that say nearly what a text says. A
// source that cannot be read names none: the write does not depend on it.
func (a *app) similarIn(source answer.Source) func(slug, text string) []mcp.SimilarUnit {
	return func(slug, text string) []mcp.SimilarUnit {
		ctx, cancel := context.WithTimeout(context.Background(), a.Allow(compareTime))
		defer cancel()
		var all []mcp.SimilarUnit
		_ = source.Read(ctx, func(v answer.View) error {
			all = nil
			for _, s := range answer.SimilarTo(v, slug, text) {
				all = append(all, mcp.SimilarUnit{Slug: s.Slug, Title: s.Title})
			}
			return nil
		})
		return all
	}
}

// copiedIn finds the external memory of a source that a text was taken from.
func (a *app) copiedIn(source answer.Source) write.Copied {
	return func(text string) (slug string, ok bool) {
		ctx, cancel := context.WithTimeout(context.Background(), a.Allow(compareTime))
		defer cancel()
		_ = source.Read(ctx, func(v answer.View) error {
			slug, ok = answer.CopiedFrom(v, text)
			return nil
		})
		return slug, ok
	}
}
