package session

import (
	"context"
	"slices"
	"strings"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/memory/localcopy"
	"engramd/nips/nipae"
)

// What waits is found on this machine: the ways to read a memory as it will be once that
// is sent. Its entries have no id.

// Read is memory.Memory.Get for who only reads: what waits at the slug stands for it,
// and Status.Queued says so.
func (m *Memory) Read(ctx context.Context, slug nipae.Slug) (client.Entry, client.Status, error) {
	e, status, err := m.Get(ctx, slug)
	if last, ok := m.s.Outbox.last(ctx, slug); ok {
		status.Queued = true
		return last.Entry(), status, nil
	}
	return e, status, err
}

// ReadAll is memory.Memory.ListAll for who only reads: what waits stands for what is
// there, and Status.Queued says so. Where no relay answers it is what this machine has
// (Status.Stale).
func (m *Memory) ReadAll(ctx context.Context) (memory.Listing, client.Status, error) {
	l, status, err := m.ListAll(ctx)
	unsent := m.s.Outbox.held(ctx, m.s.Outbox.state(ctx))
	if client.Silent(err) && !status.Named {
		here := m.here(ctx)
		if len(here)+len(unsent) == 0 {
			return l, status, err
		}
		l, err = memory.Listing{}, nil
		status.Stale, status.Partial = true, true
		for _, e := range here {
			put(&l, e)
		}
	}
	for _, h := range unsent {
		status.Queued = true
		put(&l, client.Entry{Slug: nipae.Slug(h.Slug), Text: h.Text, Size: h.Size, Hash: client.Hash(h.Text), CreatedAt: h.UpdatedAt})
	}
	return l, status, err
}

// put puts an entry into a listing, in place of the one at its slug.
func put(l *memory.Listing, e client.Entry) {
	if e.Slug.IsCore() {
		l.Core = &e
		return
	}
	at, there := slices.BinarySearchFunc(l.Memories, e.Slug, func(a client.Entry, slug nipae.Slug) int { return strings.Compare(string(a.Slug), string(slug)) })
	if there {
		l.Memories[at] = e
		return
	}
	l.Memories = slices.Insert(l.Memories, at, e)
	l.Tombstones = slices.DeleteFunc(l.Tombstones, func(a client.Entry) bool { return a.Slug == e.Slug })
}

// here is what the local copy has.
func (m *Memory) here(ctx context.Context) (all []client.Entry) {
	kept := m.s.known.kept(ctx)
	if kept == nil {
		return nil
	}
	err := kept.Read(ctx, func(v *localcopy.View) error {
		all = nil
		for h := range v.Heads("") {
			if text, ok := v.Text(h.Slug); ok {
				all = append(all, client.Entry{Slug: nipae.Slug(h.Slug), Text: text, Size: h.Size, Hash: h.Hash, ID: h.ID, CreatedAt: h.CreatedAt})
			}
		}
		return nil
	})
	if err != nil {
		m.s.detail("what the local copy has is not known: %v", err)
	}
	return all
}
