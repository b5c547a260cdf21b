package session

import (
	"context"
	"errors"
	"maps"
	"slices"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/memory/localcopy"
	"engramd/nips/nipae"
)

// What waits is found on this machine: the ways to read a memory as it will be once that
// is sent. Its entries have no id.

// Read is memory.Memory.Get for who only reads: what waits at the slug stands for it,
// and Status.Queued says so. Where relays have a newer text, that is it: Status.Waits.
func (m *Memory) Read(ctx context.Context, slug nipae.Slug) (client.Entry, client.Status, error) {
	e, status, err := m.Get(ctx, slug)
	last, stands := m.s.Outbox.last(ctx, slug)
	switch {
	case !stands:
		return e, status, err
	case client.Silent(err):
		status.Stale, status.Partial = true, true
	case !status.Stale && (err == nil || errors.Is(err, client.ErrTombstone)):
		if status.Waits = !m.s.Outbox.fits(ctx, e); status.Waits {
			return e, status, err
		}
	}
	status.Queued = true
	return last.Entry(), status, nil
}

// fits reports whether what waits at a slug is for the text that is there.
func (o *Outbox) fits(ctx context.Context, there client.Entry) (fits bool) {
	for _, c := range chains(o.read(ctx, o.state(ctx))) {
		if c.slug == there.Slug {
			fits = c.fits(there)
		}
	}
	return fits
}

// ReadAll is memory.Memory.ListAll for who only reads: what waits stands for what is
// there, and Status.Queued says so. Where no relay answers it is what this machine has
// (Status.Stale).
func (m *Memory) ReadAll(ctx context.Context) (memory.Listing, client.Status, error) {
	l, status, err := m.ListAll(ctx)
	unsent := m.s.Outbox.held(ctx, m.s.Outbox.state(ctx))
	all := l.Texts()
	if client.Silent(err) && !status.Named {
		if all = m.here(ctx); len(all)+len(unsent) == 0 {
			return l, status, err
		}
		l, err, status.Stale, status.Partial = memory.Listing{}, nil, true, true
	} else if len(unsent) == 0 {
		return l, status, err
	}
	texts := map[nipae.Slug]client.Entry{}
	for _, e := range all {
		texts[e.Slug] = e
	}
	for _, h := range unsent {
		if there, ok := texts[nipae.Slug(h.Slug)]; ok && !status.Stale && !h.Fits(there.Text) {
			status.Waits = true
			continue
		}
		status.Queued = true
		e := client.Entry{Slug: nipae.Slug(h.Slug), Text: h.Text, Size: h.Size, Hash: client.Hash(h.Text), CreatedAt: h.UpdatedAt}
		texts[e.Slug] = e
	}
	l.Core, l.Memories = nil, nil
	for _, slug := range slices.Sorted(maps.Keys(texts)) {
		if e := texts[slug]; slug.IsCore() {
			l.Core = &e
		} else {
			l.Memories = append(l.Memories, e)
		}
	}
	l.Tombstones = slices.DeleteFunc(l.Tombstones, func(e client.Entry) bool { _, there := texts[e.Slug]; return there })
	return l, status, err
}

// here is what the local copy has.
func (m *Memory) here(ctx context.Context) (all []client.Entry) {
	kept, _ := m.s.known.kept(ctx)
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
