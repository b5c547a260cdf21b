package memory

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/protocol/writerlog"
	"engramd/nips/nipae"
)

// links returns the log that the pair's writes go into, nil for none.
func (m *Memory) links() client.Links {
	open := m.c.Options().Links
	if open == nil || m.unchained || !m.Writable() {
		return nil
	}
	return open(m.c, m.owner)
}

// Unchained returns the memory for writes that are in no log: its own units.
func (m *Memory) Unchained() *Memory {
	out := *m
	out.unchained = true
	return &out
}

// ready begins what makes the log ready for a write. wait returns when it is, or
// has used its part of the time; end gives it up.
func (m *Memory) ready(ctx context.Context) (wait, end func()) {
	links := m.links()
	if links == nil {
		return func() {}, func() {}
	}
	ctx, cancel := client.Part(ctx, 0.4)
	done := make(chan struct{})
	go func() {
		defer close(done)
		links.Ready(ctx)
	}()
	wait = func() { <-done }
	return wait, func() { cancel(); wait() }
}

// Draft is a body that is to be sealed, for a time in Unix seconds.
type Draft struct {
	Body nipae.Body
	At   int64
}

// sealAll seals drafts: in the writer's log, all in one step of it, unless there
// is none. A body that is too large for a link goes without. What another program
// copied, or an older version said of its place, is never kept.
func (m *Memory) sealAll(ctx context.Context, drafts []Draft) ([]*nostr.Event, error) {
	for _, d := range drafts {
		if err := m.counts(d.Body.Slug()); err != nil {
			return nil, err
		}
	}
	events := make([]*nostr.Event, len(drafts))
	proposing := slices.ContainsFunc(drafts, func(d Draft) bool { return strings.HasPrefix(string(d.Body.Slug()), nipae.ProposalPrefix) })
	if links := m.links(); links != nil && !proposing { // a proposal is no memory
		took, err := links.Take(ctx, len(drafts), func(i int, l writerlog.Link) (*nostr.Event, error) {
			l.T = drafts[i].At
			body, err := drafts[i].Body.WithMember(writerlog.Member, l.JSON())
			if err != nil {
				return nil, err
			}
			ev, err := m.sealAt(body, l.T)
			if errors.Is(err, client.ErrTooLarge) {
				return nil, nil
			}
			events[i] = ev
			return ev, err
		})
		if err != nil {
			return nil, err
		}
		if !took {
			clear(events)
		}
	}
	for i, d := range drafts {
		if events[i] != nil {
			continue
		}
		var err error
		if events[i], err = m.sealAt(d.Body.WithoutMember(writerlog.Member), d.At); err != nil {
			return nil, err
		}
	}
	return events, nil
}

// sent notes what became of an event at the relays.
func (m *Memory) sent(ctx context.Context, ev *nostr.Event, published []client.PublishStatus) {
	if links := m.links(); links != nil {
		client.Settle(ctx, links, ev, published)
	}
}
