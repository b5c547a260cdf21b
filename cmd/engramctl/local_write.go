package main

import (
	"context"
	"fmt"

	"github.com/nbd-wtf/go-nostr"
)

// stored puts what was written into the local copy: the one that is open, or
// one that lies there.
func (a *app) stored(ctx context.Context, ev *nostr.Event, relays []string) {
	if l := a.wrote.Load(); l != nil {
		l.Follower.Wrote(ctx, ev, relays)
		return
	}
	if err := a.storedLater(ctx, ev, relays); err != nil && a.flags.verbose {
		a.note("the write is not in the local copy yet: %v", err)
	}
}

func (a *app) storedLater(ctx context.Context, ev *nostr.Event, relays []string) error {
	kept, err := a.lying(ctx)
	if err != nil || kept == nil {
		return err
	}
	for _, url := range relays {
		if _, err := kept.Put(ctx, url, []*nostr.Event{ev}); err != nil {
			_ = kept.Close()
			return fmt.Errorf("%s: %w", url, err)
		}
	}
	return kept.Close()
}
