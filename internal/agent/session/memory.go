package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/memory/write"
	"engramd/nips/nipae"
)

// Memory is the pair's memory. What is written to it goes into the local copy as
// well, before the write is answered.
type Memory struct {
	*memory.Memory
	s *Session
}

// Session returns the session that the memory is of.
func (m *Memory) Session() *Session { return m.s }

// AsOf is when relays were last asked for the local copy, and, where that is not known,
// when a version was written that is told without them.
func (m *Memory) AsOf(ctx context.Context, e client.Entry) (at time.Time) {
	if kept, _ := m.s.known.kept(ctx); kept != nil {
		fresh, _ := kept.Freshness(ctx, m.s.Client.Relays()) // else it is not known
		at = fresh.AsOf
	}
	if at.IsZero() {
		at = time.Unix(e.CreatedAt, 0)
	}
	return at
}

// Set is memory.Memory.Set. A write that may wait (SetOptions.Later) does so where no
// relay answers, or none that decides, and behind one that waits already: Status.Queued.
// Others are ErrWaits there.
func (m *Memory) Set(ctx context.Context, slug nipae.Slug, text string, o memory.SetOptions) (client.Entry, client.Status, error) {
	later, takes := o.Later, o.Later != nil && m.s.Outbox.takes(ctx)
	if !takes {
		o.Later = nil // then it may not go by a relay that decides being asked again
	}
	silent := takes && later.Silent
	var left error
	if !silent {
		left = m.s.Outbox.flush(ctx, slug)
	}
	if silent || takes && left != nil {
		return m.s.Outbox.put(ctx, slug, text, o, client.Status{Stale: silent, Partial: true}, attempt{})
	}
	if left == nil && o.Like != "" {
		left = m.s.Outbox.flush(ctx, o.Like)
	}
	if left != nil {
		return client.Entry{}, client.Status{}, left
	}
	var tried attempt
	if check := o.Check; later != nil {
		o.Check = func(old, text string) error {
			if tried.read = &old; check == nil {
				return nil
			}
			return check(old, text)
		}
	}
	e, status, err := m.kept(ctx)(m.Memory.Set(ctx, slug, text, o))
	undecided := errors.Is(err, client.ErrPartial) && client.Undecided(m.s.Client, status.Relays)
	if !takes || !undecided && !client.Silent(err) || !m.s.Outbox.takes(ctx) {
		return e, status, err
	}
	if !errors.Is(err, client.ErrUnconnected) {
		tried.sent = e.ID
	}
	return m.s.Outbox.put(ctx, slug, text, o, status, tried)
}

// Add is memory.Memory.Add. Texts that may wait do so where no relay answers:
// Status.Queued.
func (m *Memory) Add(ctx context.Context, texts []memory.NewText) ([]memory.Added, error) {
	all, err := m.Memory.Add(ctx, texts)
	wrote := make([]client.Status, len(all))
	for i, one := range all {
		wrote[i] = one.Status
	}
	m.s.Copies.wrote(ctx, wrote...)
	if client.Silent(err) && m.s.Outbox.takes(ctx) {
		all = make([]memory.Added, len(texts))
		for i := range all {
			all[i] = memory.Added{Status: client.Status{Stale: true, Partial: true}, Err: err}
		}
		err = nil
	}
	for i, t := range texts {
		if err == nil && t.Later && client.Silent(all[i].Err) && m.s.Outbox.takes(ctx) {
			all[i].Entry, all[i].Status, all[i].Err = m.s.Outbox.put(ctx, t.Slug, t.Text, memory.SetOptions{Base: memory.BaseNone, Expires: memory.Expiry{At: t.Expires}}, all[i].Status, attempt{sent: all[i].Entry.ID})
		}
	}
	return all, err
}

// Writes is the memory for who reads a text in order to change it: what waits at its
// slug is sent before, and stands for it where no relay answers.
func (m *Memory) Writes() write.Memory { return writes{m} }

type writes struct{ *Memory }

// Get is memory.Memory.Onto.
func (w writes) Get(ctx context.Context, slug nipae.Slug) (client.Entry, client.Status, error) {
	left := w.s.Outbox.flush(ctx, slug)
	e, status, err := w.Memory.Onto(ctx, slug)
	silent := status.Stale || client.Silent(err)
	if errors.Is(err, client.ErrPartial) && client.Undecided(w.s.Client, status.Relays) {
		err = fmt.Errorf("%w: %w", client.ErrUndecided, err)
	}
	if left == nil && !silent {
		return e, status, err
	}
	if last, stands := w.s.Outbox.last(ctx, slug); stands {
		status.Stale, status.Partial, status.Queued = silent, true, true
		return last.Entry(), status, nil
	}
	return e, status, err
}

// Remove is memory.Memory.Remove; ErrWaits where a write waits still, as RemoveVersion and
// Restore.
func (m *Memory) Remove(ctx context.Context, slug nipae.Slug, overUnreadable bool) (client.Entry, client.Status, error) {
	if err := m.s.Outbox.flush(ctx, slug); err != nil {
		return client.Entry{}, client.Status{}, err
	}
	return m.kept(ctx)(m.Memory.Remove(ctx, slug, overUnreadable))
}

// RemoveVersion is memory.Memory.RemoveVersion.
func (m *Memory) RemoveVersion(ctx context.Context, slug nipae.Slug, base string) (client.Entry, client.Status, error) {
	if err := m.s.Outbox.flush(ctx, slug); err != nil {
		return client.Entry{}, client.Status{}, err
	}
	return m.kept(ctx)(m.Memory.RemoveVersion(ctx, slug, base))
}

// Restore is memory.Memory.Restore.
func (m *Memory) Restore(ctx context.Context, slug nipae.Slug, when memory.When, check func(old, text string) error) (client.Entry, client.Status, error) {
	if err := m.s.Outbox.flush(ctx, slug); err != nil {
		return client.Entry{}, client.Status{}, err
	}
	return m.kept(ctx)(m.Memory.Restore(ctx, slug, when, check))
}

// kept returns what keeps the outcome of a write.
func (m *Memory) kept(ctx context.Context) func(client.Entry, client.Status, error) (client.Entry, client.Status, error) {
	return func(e client.Entry, s client.Status, err error) (client.Entry, client.Status, error) {
		m.s.Copies.wrote(ctx, s)
		return e, s, err
	}
}

// Writer writes memories with fields: what it writes in a linked folder, in a session
// of a harness, belongs to the project.
func (m *Memory) Writer(ctx context.Context) *write.Writer { return m.WriterIn(ctx, "") }

// WriterIn is Writer in a session that is named; "" is the harness's.
func (m *Memory) WriterIn(ctx context.Context, session string) *write.Writer {
	w := &write.Writer{Memory: m.Writes(), Source: m.s.o.Source, Clock: time.Now, Copied: m.s.Copies.Copied(ctx), Holds: m.s.Copies.Holds}
	if cmp.Or(session, m.s.o.Harness) == "" {
		return w
	}
	if at := m.s.Place.At(ctx); at.Linked {
		w.Project = at.Project
	}
	return w
}
