package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/nips/kind"
	"engramd/nips/nipae"
)

const (
	// young is how old a version must be to be missed without asking again: relays that
	// follow others take a moment.
	young = 30
	// onceMore is what they are given.
	onceMore = 300 * time.Millisecond
	// knownShare is the part of an operation's time within which this machine answers.
	knownShare = 0.5
	// minKnown is what it gets at least: it answers also where relays took all the time.
	minKnown = 300 * time.Millisecond
	// maxActs is how many requests to delete are asked for, page by page.
	maxActs = 10_000
)

// known is what this machine knows; nil for nothing. What an owner writes to his agent is
// no memory.
func (r *reader) known() client.Known {
	of := r.c.Options().Known
	if of == nil || r.reversed {
		return nil
	}
	return of(r.c, r.agent, r.owner)
}

// knownAt begins to ask this machine for an address; wait returns what it says.
func (r *reader) knownAt(ctx context.Context, slug nipae.Slug) (wait func() client.Newest) {
	k := r.known()
	if k == nil {
		return func() client.Newest { return client.Newest{} }
	}
	found := make(chan client.Newest, 1)
	soon, done := context.WithTimeout(context.WithoutCancel(ctx), max(minKnown, client.Left(ctx, knownShare)))
	go func() {
		defer done()
		at, err := k.At(soon, nipae.AddressIn(r.key(), r.agent, r.owner, slug))
		at.Err = err
		found <- at
	}()
	return func() client.Newest { return <-found }
}

// besides puts beside what relays answered for an address what this machine knows of it.
// again asks the relays once more.
//
// Where all relays answered and what is known is newer, the reading is that, and the
// status says Behind; the error is client.ErrBehind where only its id is known. Where
// some failed it is the newest known, of a partial answer.
func (r *reader) besides(ctx context.Context, at client.Newest, reading nipae.Reading, status client.Status, err error,
	again func() (nipae.Reading, client.Status, error)) (nipae.Reading, client.Status, error) {
	for once := true; ; once = false {
		status.Named = r.c.Options().Named
		unknown(&status, at.Err)
		if head := headOf(reading); head != nil && at.Ended > 0 && int64(head.CreatedAt) <= at.Ended {
			reading.Head = nil
		}
		if err != nil && !errors.Is(err, client.ErrUnreadable) || reading.Latest > at.At {
			return reading, status, err
		}
		if reading.Head == nil && at.Err != nil && at.ID == "" {
			return reading, status, status.Incomplete()
		}
		if reading.Head == nil && !r.settled(ctx, at.Open) {
			if once { // another process has just written it
				reading, status, err = again()
				continue
			}
			return reading, status, fmt.Errorf("%w: whether the last write here is stored is not known yet", client.ErrPartial)
		}
		if !at.Newer(headOf(reading)) {
			return reading, status, err
		}
		if !once || status.Partial || status.Named || !isYoung(r.c, at) || r.c.Options().Wait(ctx, onceMore) != nil {
			break
		}
		reading, status, err = again()
	}
	if reading.Head == nil && at.Tombstone && at.Event == nil {
		return reading, status, err // nothing is there, as it should be
	}
	if len(r.unexplained(ctx, []client.Newest{at}, status)) == 0 {
		return reading, status, err
	}
	status.Removed = at.Removed
	if status.Named {
		if !status.Partial && !(reading.Head == nil && at.Tombstone) {
			status.Behind, status.BehindAt = 1, at.At
		}
		return reading, status, err
	}
	ours, ok := r.opened(at)
	owns := reading.Head == nil && !r.Writable() && !at.Tombstone // its owner is not told what the agent deleted
	switch {
	case owns && !status.Partial && !r.lost:
		status.Behind, status.Withheld, status.BehindAt = 1, 1, at.At
		return reading, status, fmt.Errorf("%w: no relay shows it any more: deleted by the agent, or lost", client.ErrBehind)
	case owns && !r.lost, !ok && status.Partial:
		return reading, status, status.Incomplete()
	case !ok:
		status.Behind, status.Withheld, status.BehindAt = 1, 1, at.At
		return reading, status, withheld(at, reading.Head == nil)
	case !status.Partial && !(reading.Head == nil && at.Tombstone):
		status.Behind, status.BehindAt = 1, at.At
		if keepErr := r.known().Keep(ctx, at); keepErr != nil {
			r.c.Options().Log.Debug("a version that no relay shows is in the copy alone", "error", keepErr)
		}
	}
	reading.Head, reading.Latest = &ours, max(reading.Latest, at.At)
	return reading, status, nil
}

// settled reports whether relays were asked for events by their ids, and none has one.
func (r *reader) settled(ctx context.Context, ids []string) bool {
	if len(ids) == 0 {
		return true
	}
	found, whole, err := r.Lookup(ctx, ids)
	return err == nil && whole && len(found) == 0
}

// ApartPrefix begins the slugs of texts that met a newer one (internal/memory/apart), of
// which each has one of its own.
const ApartPrefix = "mem/sys/outbox/"

func isApart(slug nipae.Slug) bool { return strings.HasPrefix(string(slug), ApartPrefix) }

// isMachines reports whether a slug is one that programs keep for themselves: it counts
// as nothing.
func isMachines(slug nipae.Slug) bool { return strings.HasPrefix(string(slug), "mem/sys/") }

func headOf(reading nipae.Reading) *nostr.Event {
	if reading.Head == nil {
		return nil
	}
	return reading.Head.Event
}

// withheld is client.ErrBehind of one version.
func withheld(at client.Newest, nothing bool) error {
	when := time.Unix(at.At, 0).UTC().Format(time.RFC3339)
	switch {
	case nothing && at.Removed.Relay != "":
		return fmt.Errorf("%w: %s", client.ErrBehind, at.Removed.Of("what was written at "+when))
	case nothing:
		return fmt.Errorf("%w: this machine wrote it at %s, and no relay shows it", client.ErrBehind, when)
	}
	return fmt.Errorf("%w: of %s, and its text is not here", client.ErrBehind, when)
}

// opened opens what is known.
func (r *reader) opened(at client.Newest) (nipae.Engram, bool) {
	if at.Event == nil {
		return nipae.Engram{}, false
	}
	e, err := nipae.Open(r.key(), r.agent, r.owner, at.Event)
	return e, err == nil
}

// unexplained asks the relays for requests of the agent's key, and returns what these do
// not explain: all of it where none answers.
func (r *reader) unexplained(ctx context.Context, missing []client.Newest, status client.Status) (left []client.Newest) {
	ctx, done := client.Part(ctx, 0.5)
	defer done()
	a, err := r.c.AskThoseSoon(ctx, r.c.WriteTargets(), nostr.Filter{Kinds: []int{nostr.KindDeletion, kind.Vanish}, Authors: []string{r.agent}, Limit: maxActs})
	if err != nil {
		return missing // nothing explains it
	}
	var relays []string
	for _, s := range status.Relays {
		relays = append(relays, s.URL)
	}
	soon, end := context.WithTimeout(context.WithoutCancel(ctx), max(minKnown, client.Left(ctx, knownShare)))
	defer end()
	explained, err := r.known().Acted(soon, missing, a.Events, relays)
	if err != nil {
		return missing
	}
	return slices.DeleteFunc(slices.Clone(missing), func(m client.Newest) bool { return explained[m.ID] })
}

// Onto is Get of what a write at a slug goes onto: a version that this machine knows, and
// no relay shows, is sent before. Where that is refused, because an operator removed it or
// a newer one has expired, it is what relays show.
func (m *Memory) Onto(ctx context.Context, slug nipae.Slug) (client.Entry, client.Status, error) {
	ctx, cancel := m.c.Operation(ctx)
	defer cancel()
	reading, status, at, err := m.readingKnown(ctx, slug)
	if err == nil && status.Behind > 0 && !status.Named {
		if reading, status, err = m.deliver(ctx, slug, reading, status); err != nil {
			return client.Entry{}, status, err
		}
	}
	return m.got(reading, status, at, err)
}

// deliver sends a version that this machine knows, and no relay shows, before it is
// superseded. It returns what the write goes onto: that, or what relays show where their
// operator removed it, the agent's key had it deleted, or a newer one has expired there.
func (m *Memory) deliver(ctx context.Context, slug nipae.Slug, reading nipae.Reading, status client.Status) (nipae.Reading, client.Status, error) {
	ev := reading.Head.Event
	published, err := m.c.PublishThose(ctx, m.c.WriteTargets(), ev, client.TimedOut(status.Relays))
	if err == nil {
		m.sent(ctx, ev, published)
		status.Behind, status.BehindAt = 0, 0
		return reading, status, nil
	}
	at := client.Newest{D: ev.Tags.GetD(), ID: ev.ID, At: int64(ev.CreatedAt)}
	removed, deleted := client.RemovedBy(published)
	if removed.Relay != "" {
		_ = m.known().Removed(ctx, at, removed) // it is told again
	} else if deleted {
		deleted = len(m.unexplained(ctx, []client.Newest{at}, status)) == 0
	}
	if removed.Relay == "" && !deleted {
		return reading, status, fmt.Errorf("%w, and it cannot be sent again: %w", client.ErrBehind, err)
	}
	reading, status, err = m.readingShown(ctx, slug)
	status.Removed = removed
	return reading, status, err
}

// besidesLog puts before the versions that relays show a newer one that this machine
// knows, which no relay has.
func (r *reader) besidesLog(ctx context.Context, at client.Newest, versions []Version, status client.Status, err error) ([]Version, client.Status, error) {
	var reading nipae.Reading
	if len(versions) > 0 {
		reading.Head = &nipae.Engram{Event: &nostr.Event{ID: versions[0].ID, CreatedAt: nostr.Timestamp(versions[0].CreatedAt)}}
	}
	if err != nil && !errors.Is(err, client.ErrNotFound) || status.Partial {
		return versions, status, err
	}
	shown := reading.Head
	reading, status, knownErr := r.besides(ctx, at, reading, status, nil, func() (nipae.Reading, client.Status, error) { return reading, status, nil })
	switch {
	case errors.Is(knownErr, client.ErrBehind) && len(versions) > 0:
		return versions, status, nil // its line says it
	case knownErr != nil:
		return versions, status, knownErr
	case reading.Head == nil || reading.Head == shown:
		return versions, status, err
	}
	for i := range versions {
		versions[i].Head = false
	}
	v := r.version(reading.Head.Slug(), reading.Head.Event)
	v.Head = true
	return append([]Version{v}, versions...), status, nil
}
