package memory

import (
	"context"
	"errors"

	"engramd/internal/client"
	"engramd/nips/nipae"
)

// Remove writes a tombstone, which is the Entry. The errors are those of Set,
// ErrCore, and ErrNotFound or ErrTombstone, with the one that is there, if
// there is nothing to remove and every relay says so (ErrPartial if some
// failed). With overUnreadable it removes also what cannot be read.
func (m *Memory) Remove(ctx context.Context, slug nipae.Slug, overUnreadable bool) (client.Entry, client.Status, error) {
	return m.remove(ctx, slug, SetOptions{OverUnreadable: overUnreadable})
}

// RemoveVersion is Remove if the text that is there has that Hash; another one
// is a *ConflictError.
func (m *Memory) RemoveVersion(ctx context.Context, slug nipae.Slug, base string) (client.Entry, client.Status, error) {
	return m.remove(ctx, slug, SetOptions{Base: base})
}

func (m *Memory) remove(ctx context.Context, slug nipae.Slug, o SetOptions) (client.Entry, client.Status, error) {
	if err := m.writable(); err != nil {
		return client.Entry{}, client.Status{}, err
	}
	if slug.IsCore() {
		return client.Entry{}, client.Status{}, client.ErrCore
	}
	var there client.Entry
	entry, status, err := m.write(ctx, slug, o, func(reading nipae.Reading) (nipae.Body, error) {
		switch {
		case reading.Head == nil && !reading.Absent():
			return nipae.NewTombstone(slug)
		case reading.Head == nil:
			return nipae.Body{}, client.ErrNotFound
		case reading.Tombstone():
			there = client.EntryOf(*reading.Head)
			return nipae.Body{}, client.ErrTombstone
		}
		return reading.Head.Body.Tombstoned(), nil
	})
	absent := errors.Is(err, client.ErrNotFound) || errors.Is(err, client.ErrTombstone)
	if absent && status.Partial {
		err = client.Failures(client.ErrPartial, status.Relays)
	}
	if absent {
		entry = there
	}
	return entry, status, err
}
