package session

import (
	"context"
	"slices"
	"time"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/memory/localcopy"
	"engramd/internal/memory/localcopy/follow"
	"engramd/nips/nipae"
)

// Listed is ReadAll for who may do without the texts. Where this machine has a copy, it is
// compared with the relays instead of reading all that they have, and is the listing if
// they agree in every respect. Whatever else may be so is asked as ReadAll does.
func (m *Memory) Listed(ctx context.Context, texts bool) (memory.Listing, client.Status, error) {
	if l, status, ok := m.compared(ctx, texts); ok {
		return l, status, nil
	}
	return m.ReadAll(ctx)
}

// compared is the listing of the local copy on disk; false if relays may show another.
func (m *Memory) compared(ctx context.Context, texts bool) (l memory.Listing, status client.Status, ok bool) {
	s := m.s
	if s.o.Client.Named || s.o.All || s.Copies.open.Load() != nil || !m.Writable() || len(s.Client.Doubts()) > 0 {
		return l, status, false
	}
	kept, err := s.known.kept(ctx)
	if err != nil || kept == nil || !kept.OnDisk() {
		return l, status, false
	}
	if fresh, err := kept.Freshness(ctx, s.Client.Relays()); err != nil || fresh.Unfinished || len(s.Outbox.held(ctx, s.Outbox.state(ctx))) > 0 {
		return l, status, false
	}
	c := &Copy{Copy: kept, s: s}
	c.found.Store(true) // the caller has looked
	c.follow()
	began := time.Now()
	within, done := context.WithTimeout(ctx, s.allow(copyBudget))
	outcomes, err := c.Follower.CatchUp(within, follow.Ask{Grace: s.allow(CopyGrace)})
	done()
	targets := s.Client.Targets()
	if err != nil || len(outcomes) != len(targets) || len(s.Client.Doubts()) > 0 || s.settler.lacks() != nil {
		return l, status, false
	}
	all, has, plain, err := localcopy.Listing(ctx, kept, texts, clocksDiffer)
	if err != nil || !plain || len(all) == 0 {
		return l, status, false
	}
	for url, events := range has { // a relay that is not asked any more shows nothing
		if events > 0 && !slices.ContainsFunc(targets, func(t client.Target) bool { return t.Canonical == url }) {
			return l, status, false
		}
	}
	for i, o := range outcomes {
		if o.Err != nil || !o.Whole || o.Useless > 0 {
			return l, status, false
		}
		status.Relays = append(status.Relays, client.RelayStatus{URL: o.URL, Events: has[targets[i].Canonical], Complete: true, Took: time.Since(began)})
	}
	for _, h := range all {
		e := client.Entry{Slug: nipae.Slug(h.Slug), Text: h.Text, Tombstone: h.Tombstone, ID: h.ID, CreatedAt: h.CreatedAt, Size: h.Size, Hash: h.Hash, Expires: h.Expires}
		switch {
		case e.Slug.IsCore():
			l.Core = &e
		case e.Tombstone:
			l.Tombstones = append(l.Tombstones, e)
		default:
			l.Memories = append(l.Memories, e)
		}
	}
	return l, status, true
}
