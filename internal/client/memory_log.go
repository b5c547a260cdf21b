package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/nips/nipae"
)

// Version is one version of a record that some relay has.
type Version struct {
	Entry           // without a text if Err is set
	Head   bool     // it is the current one
	Relays []string // URLs of those that have it
	// Err is why it cannot be read; then only ID, CreatedAt and the slug it was
	// asked for are known.
	Err error

	event *nostr.Event
	body  nipae.Body
}

// Log returns every version of a record that the relays have, newest first:
// heads, and what GET /history shows of superseded ones (signed with NIP-98). A
// relay without /history is shown with ErrNoHistory, which makes nothing
// partial. One whose head is known and whose history cannot be had, for which
// there are many reasons, makes the answer partial.
//
// The errors are ErrNoRelay, ErrUnreadable (with the versions), ErrPartial and
// ErrNotFound, as of Get.
func (m *Memory) Log(ctx context.Context, slug nipae.Slug) ([]Version, Status, error) {
	ctx, cancel := m.c.Operation(ctx)
	defer cancel()
	return m.log(ctx, slug)
}

// log is Log within an operation.
func (m *Memory) log(ctx context.Context, slug nipae.Slug) ([]Version, Status, error) {
	versions, status, err := m.versions(ctx, slug, !m.c.o.Patient)
	if len(versions) == 0 && Hurried(status.Relays) {
		err = m.c.patiently(ctx, m.agent, func() error {
			versions, status, err = m.versions(ctx, slug, false)
			return err
		})
	}
	return versions, status, err
}

// kept is what one relay has of a record.
type kept struct {
	heads Answer
	past  Answer
}

// versions is Log within an operation; soon: without waiting for relays that
// the others wait for.
func (m *Memory) versions(ctx context.Context, slug nipae.Slug, soon bool) ([]Version, Status, error) {
	if err := m.counts(slug); err != nil {
		return nil, Status{}, err
	}
	filter := m.at(slug)
	col := NewCollector()
	start := time.Now()
	targets := m.c.Targets()
	ask := func(ctx context.Context, t Target) kept {
		asking, cancel := Part(ctx, 0.6)
		defer cancel()
		heads := m.c.AskRelay(asking, t, filter, col, start)
		past := NewPager(col, filter, m.c.o.Limits)
		err := m.c.HTTP().History(ctx, t, past)
		if heads.Status.Err == nil && HangsUp(err) {
			err = ErrNoHTTP
		}
		return kept{heads: heads, past: past.Answer(t, err, start)}
	}
	if soon {
		ask = Hurry(ctx, m.c, targets, ask, (*kept).failure)
	}
	late := LateAnswer(start)
	return m.history(slug, Each(ctx, targets, ask, func(t Target, err error) kept { return kept{heads: late(t, err)} }))
}

// failure returns where the first error is.
func (k *kept) failure() *error {
	if k.heads.Status.Err == nil && k.past.Status.Err != nil && !errors.Is(k.past.Status.Err, ErrNoHistory) {
		return &k.past.Status.Err
	}
	return &k.heads.Status.Err
}

// history puts together what the relays have.
func (m *Memory) history(slug nipae.Slug, all []kept) ([]Version, Status, error) {
	var relays []RelayStatus
	reached := 0 // relays that said what is current
	var current []*nostr.Event
	events := map[string]*nostr.Event{}
	where := map[string][]string{}
	for _, k := range all {
		relays = append(relays, k.status())
		if k.heads.Status.Err == nil || k.past.Status.Complete {
			reached++
		}
		current = append(current, k.heads.Events...)
		for _, ev := range slices.Concat(k.heads.Events, k.past.Events) {
			events[ev.ID] = ev
			if url := k.heads.Status.URL; !slices.Contains(where[ev.ID], url) {
				where[ev.ID] = append(where[ev.ID], url)
			}
		}
	}
	reading, _ := nipae.SelectHead(m.key(), m.agent, m.owner, slug, current)
	var versions []Version
	readable, wrong := 0, 0
	for _, ev := range sortedEvents(events) {
		v := m.version(slug, ev)
		v.Relays = where[ev.ID]
		v.Head = reading.Head != nil && reading.Head.Event.ID == ev.ID
		if v.Err == nil {
			readable++
		} else {
			wrong++
		}
		versions = append(versions, v)
	}
	status := m.status(relays, wrong)
	switch {
	case reached == 0:
		return versions, status, NoRelay(relays)
	case readable > 0:
		return versions, status, nil
	case wrong > 0:
		return versions, status, fmt.Errorf("%w: %d versions, the newest: %w", ErrUnreadable, wrong, versions[0].Err)
	case Rejected(relays) > 0:
		return nil, status, unreadable(nil, status, false)
	case status.Partial:
		return nil, status, Failures(ErrPartial, status.Relays)
	}
	return nil, status, ErrNotFound
}

// status is that of a relay asked for its head and then for its history.
func (k kept) status() RelayStatus {
	s, past := k.heads.Status, k.past.Status
	s.Events += past.Events
	s.Rejected += past.Rejected
	s.Took = max(s.Took, past.Took)
	switch {
	case s.Err != nil:
	case errors.Is(past.Err, ErrNoHistory):
		s.Err = past.Err // it answered, and this is all it has
	case past.Err != nil:
		s.Err, s.Complete = fmt.Errorf("its history: %w", past.Err), false
	default:
		s.Complete = s.Complete && past.Complete
	}
	return s
}

// version opens one version.
func (m *Memory) version(slug nipae.Slug, ev *nostr.Event) Version {
	engram, err := nipae.Open(m.key(), m.agent, m.owner, ev)
	if err != nil {
		return Version{Entry: Entry{Slug: slug, ID: ev.ID, CreatedAt: int64(ev.CreatedAt)}, Err: err}
	}
	return Version{Entry: EntryOf(engram), event: ev, body: engram.Body}
}

func sortedEvents(byID map[string]*nostr.Event) []*nostr.Event {
	events := make([]*nostr.Event, 0, len(byID))
	for _, ev := range byID {
		events = append(events, ev)
	}
	NewestFirst(events)
	return events
}
