package main

import (
	"context"
	"fmt"
	"sync"

	"github.com/nbd-wtf/go-nostr"
)

// stored puts what was written into the local copy: the one that is open, or
// one that lies there.
func (a *app) stored(ctx context.Context, ev *nostr.Event, relays []string) {
	if b := a.bulk; b != nil {
		b.add(ev, relays)
		return
	}
	if l := a.wrote.Load(); l != nil {
		l.Follower.Wrote(ctx, ev, relays)
		return
	}
	if err := a.storedLater(ctx, ev, relays); err != nil && a.Flags.Verbose {
		a.Note("the write is not in the local copy yet: %v", err)
	}
}

// bulk collects what a command writes in large numbers, so that the local copy is
// opened once for all of it.
type bulk struct {
	mu sync.Mutex
	by map[string][]*nostr.Event // by relay
}

func (b *bulk) add(ev *nostr.Event, relays []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.by == nil {
		b.by = map[string][]*nostr.Event{}
	}
	for _, url := range relays {
		b.by[url] = append(b.by[url], ev)
	}
}

// inBulk has what do writes put into the local copy that lies there when it is
// done. What is not there, because the command was killed, comes by itself later.
func (a *app) inBulk(ctx context.Context, do func() error) error {
	b := &bulk{}
	a.bulk = b
	err := do()
	a.bulk = nil
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.Flags.Timeout)
	defer cancel()
	if failed := a.putBulk(ctx, b); failed != nil && a.Flags.Verbose {
		a.Note("the writes are not in the local copy yet: %v", failed)
	}
	return err
}

func (a *app) putBulk(ctx context.Context, b *bulk) error {
	kept, err := a.lying(ctx)
	if err != nil || kept == nil {
		return err
	}
	for url, events := range b.by {
		if _, err := kept.Put(ctx, url, events); err != nil {
			_ = kept.Close()
			return fmt.Errorf("%s: %w", url, err)
		}
	}
	return kept.Close()
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
