package memory

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/nips/nipae"
)

// MaxAdded is how many texts Add takes at once.
const MaxAdded = 32

// NewText is a text for a slug where nothing is.
type NewText struct {
	Slug nipae.Slug
	Text string
	// Expires is when it expires, in Unix seconds; 0 for never.
	Expires int64
	// Later lets it wait while no relay answers, where something keeps it.
	Later bool
}

// Added is what became of a NewText.
type Added struct {
	Entry  client.Entry
	Status client.Status
	Err    error
}

// Add writes texts at slugs that nobody else uses, drawn at random for example:
// it asks once whether something is there, and then sends all events without
// waiting for the answers to each, so that many cost the time of one. Nothing
// decides between writers of one slug, and nothing is read back: a text is
// written once a relay has said OK.
//
// The error is that of all: ErrReadOnly, ErrTooLarge (too many), and ErrNoRelay
// if no relay answers the question. That of one is ErrEmpty, ErrTooLarge,
// ErrConflict if something is there, be it a tombstone or unreadable, and those
// of Client.Publish.
func (m *Memory) Add(ctx context.Context, texts []NewText) ([]Added, error) {
	if err := m.writable(); err != nil {
		return nil, err
	}
	if len(texts) > MaxAdded {
		return nil, fmt.Errorf("%w: %d texts at once, of %d", client.ErrTooLarge, len(texts), MaxAdded)
	}
	ctx, cancel := m.c.Operation(ctx)
	defer cancel()
	wait, end := m.ready(ctx)
	defer end()
	taken, status, err := m.taken(ctx, texts)
	if err != nil {
		return nil, err
	}
	wait()
	all := make([]Added, len(texts))
	var wg sync.WaitGroup
	for i, t := range texts {
		if taken[t.Slug] {
			all[i] = Added{Status: status, Err: &client.ConflictError{Reason: "there is something at a slug that was to be new"}}
			continue
		}
		taken[t.Slug] = true // a slug twice is no text twice
		wg.Go(func() { all[i] = m.add(ctx, t, status) })
	}
	wg.Wait()
	return all, nil
}

// taken asks which of the slugs have something, at the relays that are written
// to: others would have to be asked for everything, so as not to learn the
// slugs' addresses.
func (m *Memory) taken(ctx context.Context, texts []NewText) (map[nipae.Slug]bool, client.Status, error) {
	ctx, cancel := client.Part(ctx, 0.4)
	defer cancel()
	filter, slugs := m.all(), map[string]nipae.Slug{}
	for _, t := range texts {
		d := nipae.AddressIn(m.key(), m.agent, m.owner, t.Slug)
		slugs[d] = t.Slug
		filter.Tags["d"] = append(filter.Tags["d"], d)
	}
	a, err := m.c.AskThoseSoon(ctx, m.c.WriteTargets(), filter)
	status := m.status(a.Relays, 0)
	if err != nil {
		return nil, status, err
	}
	taken := map[nipae.Slug]bool{}
	for _, ev := range a.Events {
		taken[slugs[ev.Tags.GetD()]] = true
	}
	return taken, status, nil
}

// add sends one text.
func (m *Memory) add(ctx context.Context, t NewText, status client.Status) Added {
	ev, body, err := m.begin(ctx, t)
	if err != nil {
		return Added{Status: status, Err: err}
	}
	out := Added{Entry: client.EntryOf(nipae.Engram{Event: ev, Body: body}), Status: status}
	out.Status.Wrote = ev
	out.Status.Published, out.Err = m.c.PublishThose(ctx, m.c.WriteTargets(), ev, client.TimedOut(status.Relays))
	m.sent(ctx, ev, out.Status.Published)
	out.Status.Partial = status.Partial || client.Accepted(out.Status.Published) < len(out.Status.Published)
	return out
}

// begin seals the first version of a text.
func (m *Memory) begin(ctx context.Context, t NewText) (*nostr.Event, nipae.Body, error) {
	if t.Text == "" {
		return nil, nipae.Body{}, client.ErrEmpty
	}
	if t.Slug.IsCore() {
		return nil, nipae.Body{}, errors.New("the core is written by Set")
	}
	body, err := nipae.NewMemory(t.Slug, t.Text)
	if err != nil {
		return nil, body, err
	}
	engram, err := m.seal(ctx, Draft{Body: body, Expires: t.Expires}, nipae.Reading{})
	return engram.Event, engram.Body, err
}
