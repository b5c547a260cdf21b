package main

import (
	"context"

	"engramd/internal/memory/consolidation"
	"engramd/internal/memory/recall/answer"
)

// noteWaiting says how many episodes wait to be consolidated, if another batch of
// them is full. They are counted in the local copy that lies there; where there is
// none, nothing is said.
func (a *app) noteWaiting(ctx context.Context) {
	kept, err := a.lying(ctx)
	if err != nil || kept == nil {
		return // the note is written
	}
	defer func() { _ = kept.Close() }() // nothing was written
	n := 0
	err = answer.Local(kept, func() ([]string, bool) { return nil, false }).Read(ctx, func(v answer.View) error {
		n = consolidation.Waiting(v)
		return nil
	})
	if err == nil && n > 0 && n%consolidation.MicroBatch == 0 {
		a.Note("%d episodes wait to be consolidated: engramctl mind prepare", n)
	}
}
