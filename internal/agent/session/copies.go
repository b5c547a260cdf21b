package session

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/memory/localcopy"
	"engramd/internal/memory/localcopy/follow"
	"engramd/internal/memory/recall/answer"
	"engramd/nips/nipae"
)

// Copies is where the pair's memory is kept on this machine: the copy that is open,
// and the one that is on disk while none is.
type Copies struct {
	s    *Session
	open atomic.Pointer[Copy]
	bulk atomic.Pointer[bulk]
	// heard is what the owner proposes, for Session.OnDisk; nil until it is asked for.
	heard *localcopy.Copy
}

// Open opens the local copy; what is written from now on goes into it at once.
// Where there is no place for it, it is kept in memory. It must be closed before
// the session. warn is told what became of the file, in a line, at any time.
func (c *Copies) Open(ctx context.Context, warn func(string)) (*Copy, error) {
	l := &Copy{s: c.s}
	l.found.Store(c.s.o.NoDiscovery)
	o, err := c.options()
	if o.Warn = warn; err == nil {
		soon, cancel := context.WithTimeout(ctx, c.s.allow(OpenBudget))
		l.Copy, err = localcopy.Open(soon, c.pair(), o)
		cancel()
	}
	if err != nil && !o.NoDisk && ctx.Err() == nil {
		warn(fmt.Sprintf("nothing of the memory is kept on this machine: %v", err))
		l.Copy, err = localcopy.Open(ctx, c.pair(), localcopy.Options{NoDisk: true})
	}
	if err != nil {
		return nil, err
	}
	l.follow()
	if l.said = c.said(ctx, true); l.said != nil {
		l.hearing = follow.New(follow.Options{Filter: nipae.ListFilter(c.s.Memory.Owner(), c.s.Memory.Agent()), Store: l.said, Clock: c.s.o.Client.Clock, Log: c.s.o.Log, Sources: l.sources})
	}
	c.open.Store(l)
	return l, nil
}

func (c *Copies) pair() localcopy.Pair {
	m := c.s.Memory
	return localcopy.Pair{Agent: m.Agent(), Owner: m.Owner(), Conversation: m.Conversation(), Reversed: m.Reversed()}
}

// options say where local copies are.
func (c *Copies) options() (o localcopy.Options, err error) {
	o.AsOwner, o.Now = !c.s.Memory.Writable(), c.s.o.Client.Clock
	if o.NoDisk = c.s.o.NoDisk; !o.NoDisk {
		o.Dir, err = c.s.o.Cache()
	}
	return o, err
}

// OnDisk opens the local copy that is on disk, nil if there is none. It must be
// closed.
func (c *Copies) OnDisk(ctx context.Context) (*localcopy.Copy, error) {
	if c.s.Memory == nil {
		return nil, nil
	}
	o, err := c.options()
	if err != nil || o.NoDisk {
		return nil, err
	}
	there, err := localcopy.Exists(c.pair(), o.Dir)
	if err != nil || !there {
		return nil, err
	}
	return localcopy.Open(ctx, c.pair(), o)
}

// look shows do the local copy that is open, or that is on disk, for compareTime; what
// names what is not known without one. No write depends on it.
func (c *Copies) look(ctx context.Context, what string, do func(context.Context, answer.View)) {
	read := func(source answer.Source) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.s.allow(compareTime))
		defer cancel()
		_ = source.Read(ctx, func(v answer.View) error { do(ctx, v); return nil })
	}
	if l := c.open.Load(); l != nil {
		read(l.Source())
		return
	}
	kept, err := c.OnDisk(ctx)
	if err != nil {
		c.s.detail("%s is not known: %v", what, err)
	}
	if err != nil || kept == nil {
		return
	}
	defer func() { _ = kept.Close() }() // nothing was written
	read(unconfirmed(kept))
}

// unconfirmed reads a copy of which it is not asked how current it is.
func unconfirmed(kept *localcopy.Copy) answer.Source {
	return answer.Local(kept, func() ([]string, bool) { return nil, false })
}

// wrote puts what was written into the local copy: the one that is open, or one
// that is on disk. It ends with ctx, and within one time limit for all of it.
func (c *Copies) wrote(ctx context.Context, all ...client.Status) {
	ctx, cancel := c.s.Client.Operation(ctx)
	defer cancel()
	l, now := c.open.Load(), &bulk{by: map[string][]*nostr.Event{}}
	b := cmp.Or(c.bulk.Load(), now)
	for _, s := range all {
		switch relays := s.Took(); {
		case s.Wrote == nil:
		case b == now && l != nil:
			l.Follower.Wrote(ctx, s.Wrote, relays)
			c.s.settler.has(ctx, l.Copy, s.Wrote.ID)
		default:
			b.add(s.Wrote, relays)
		}
	}
	if len(now.by) == 0 {
		return
	}
	if err := c.put(ctx, now.by); err != nil {
		c.s.detail("the write is not in the local copy yet: %v", err)
	}
}

// bulk collects what is written in large numbers, by relay, so that the local copy
// is opened once for all of it.
type bulk struct {
	mu sync.Mutex
	by map[string][]*nostr.Event
}

func (b *bulk) add(ev *nostr.Event, relays []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, url := range relays {
		b.by[url] = append(b.by[url], ev)
	}
}

// InBulk puts what do writes into the local copy on disk when it is done. What is
// not there, because the process was killed, comes by itself later.
func (c *Copies) InBulk(ctx context.Context, do func() error) error {
	b := &bulk{by: map[string][]*nostr.Event{}}
	c.bulk.Store(b)
	err := do()
	c.bulk.Store(nil)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.s.o.Timeout)
	defer cancel()
	if failed := c.put(ctx, b.by); failed != nil {
		c.s.detail("the writes are not in the local copy yet: %v", failed)
	}
	return err
}

// put puts events into the copy on disk.
func (c *Copies) put(ctx context.Context, by map[string][]*nostr.Event) error {
	kept, err := c.OnDisk(ctx)
	if err != nil || kept == nil {
		return err
	}
	var ids []string
	for url, events := range by {
		if _, err := kept.Put(ctx, url, events); err != nil {
			_ = kept.Close()
			return fmt.Errorf("%s: %w", url, err)
		}
		for _, ev := range events {
			ids = append(ids, ev.ID)
		}
	}
	c.s.settler.has(ctx, kept, ids...)
	return kept.Close()
}
