package memory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/nips/nipae"
)

// Version is one version of a record that some relay has.
type Version struct {
	client.Entry          // without a text if Err is set
	Head         bool     // it is the current one
	Relays       []string // URLs of those that have it
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
func (r *Reader) Log(ctx context.Context, slug nipae.Slug) ([]Version, client.Status, error) {
	ctx, cancel := r.c.Operation(ctx)
	defer cancel()
	return r.log(ctx, slug)
}

// log is Log within an operation.
func (r *reader) log(ctx context.Context, slug nipae.Slug) ([]Version, client.Status, error) {
	wait := r.knownAt(ctx, slug)
	versions, status, err := r.logShown(ctx, slug)
	return r.besidesLog(ctx, wait(), versions, status, err)
}

// logShown is what the relays alone show.
func (r *reader) logShown(ctx context.Context, slug nipae.Slug) ([]Version, client.Status, error) {
	versions, status, err := r.versions(ctx, slug, !r.c.Options().Patient)
	if len(versions) == 0 && client.Hurried(status.Relays) {
		err = r.c.Patiently(ctx, r.agent, func() error {
			versions, status, err = r.versions(ctx, slug, false)
			return err
		})
	}
	return versions, status, err
}

// kept is what one relay has of a record.
type kept struct {
	heads client.Answer
	past  client.Answer
}

// versions is Log within an operation; soon: without waiting for relays that
// the others wait for.
func (r *reader) versions(ctx context.Context, slug nipae.Slug, soon bool) ([]Version, client.Status, error) {
	if err := r.counts(slug); err != nil {
		return nil, client.Status{}, err
	}
	filter := r.at(slug)
	col := client.NewCollector()
	start := time.Now()
	targets := r.c.Targets()
	ask := func(ctx context.Context, t client.Target) kept {
		return r.keptBy(ctx, t, filter, filter, col, start)
	}
	if soon {
		ask = client.Hurry(ctx, r.c, targets, ask, (*kept).failure)
	}
	late := client.LateAnswer(start)
	return r.history(slug, client.Each(ctx, targets, ask, func(t client.Target, err error) kept { return kept{heads: late(t, err)} }))
}

// keptBy asks one relay for heads, and for superseded versions.
func (r *reader) keptBy(ctx context.Context, t client.Target, heads, past nostr.Filter, col *client.Collector, start time.Time) kept {
	asking, done := client.Part(ctx, 0.6)
	k := kept{heads: client.AskRelay(asking, r.c, t, heads, col, start)}
	done()
	pages := client.NewPager(col, past, r.c.Options().Limits)
	err := r.c.HTTP().History(ctx, t, pages)
	if k.heads.Status.Err == nil && client.HangsUp(err) {
		err = client.ErrNoHTTP
	}
	k.past = pages.Answer(t, err, start)
	return k
}

// failure returns where the first error is.
func (k *kept) failure() *error {
	if k.heads.Status.Err == nil && k.past.Status.Err != nil && !errors.Is(k.past.Status.Err, client.ErrNoHistory) {
		return &k.past.Status.Err
	}
	return &k.heads.Status.Err
}

// history puts together what the relays have.
func (r *reader) history(slug nipae.Slug, all []kept) ([]Version, client.Status, error) {
	var relays []client.RelayStatus
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
	reading, _ := nipae.SelectHead(r.key(), r.agent, r.owner, slug, live(r, current))
	var versions []Version
	readable, wrong := 0, 0
	for _, ev := range live(r, sortedEvents(events)) {
		v := r.version(slug, ev)
		v.Relays = where[ev.ID]
		v.Head = reading.Head != nil && reading.Head.Event.ID == ev.ID
		if v.Err == nil {
			readable++
		} else {
			wrong++
		}
		versions = append(versions, v)
	}
	status := r.status(relays, wrong)
	switch {
	case reached == 0:
		return versions, status, client.NoRelay(relays)
	case readable > 0:
		return versions, status, nil
	case wrong > 0:
		return versions, status, fmt.Errorf("%w: %d versions, the newest: %w", client.ErrUnreadable, wrong, versions[0].Err)
	case client.Rejected(relays) > 0:
		return nil, status, unreadable(nil, status, false)
	case status.Partial:
		return nil, status, client.Failures(client.ErrPartial, status.Relays)
	}
	return nil, status, client.ErrNotFound
}

// status is that of a relay asked for its head and then for its history.
func (k kept) status() client.RelayStatus {
	s, past := k.heads.Status, k.past.Status
	s.Events += past.Events
	s.Rejected += past.Rejected
	s.Took = max(s.Took, past.Took)
	switch {
	case s.Err != nil:
	case errors.Is(past.Err, client.ErrNoHistory):
		s.Err = past.Err // it answered, and this is all it has
	case past.Err != nil:
		s.Err, s.Complete = fmt.Errorf("its history: %w", past.Err), false
	default:
		s.Complete = s.Complete && past.Complete
	}
	return s
}

func (p *pair) version(slug nipae.Slug, ev *nostr.Event) Version {
	engram, err := nipae.Open(p.key(), p.agent, p.owner, ev)
	if err != nil {
		return Version{Entry: client.Entry{Slug: slug, ID: ev.ID, CreatedAt: int64(ev.CreatedAt)}, Err: err}
	}
	return Version{Entry: client.EntryOf(engram), event: ev, body: engram.Body}
}

func sortedEvents(byID map[string]*nostr.Event) []*nostr.Event {
	events := slices.Collect(maps.Values(byID))
	client.NewestFirst(events)
	return events
}
