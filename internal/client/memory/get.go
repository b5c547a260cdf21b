package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/nips/nipae"
)

// Shown is what one relay shows of a pair: everything, heads and superseded
// events.
type Shown struct {
	URL         string
	Heads, Past []*nostr.Event // verified, of the pair, distinct
	// Whole says that it gave all heads that it has, and Kept all superseded
	// events. Without says that it keeps none that it shows, or is not asked for
	// them.
	Whole, Kept, Without bool
	Err                  error           // why it did not answer; a relay without history has answered
	Promise              *client.History // nil: it promises to keep none
	Status               client.RelayStatus
}

// Shows asks every relay apart for all that it has of the pair, and for what it
// promises to keep. known, if it is not nil, says of ids that their events were
// verified before: these signatures are not checked again. The error is
// ErrNoRelay when no relay answered, with what each said.
func (r *Reader) Shows(ctx context.Context, known func(id string) bool) ([]Shown, error) {
	ctx, cancel := r.c.Operation(ctx)
	defer cancel()
	col := client.NewCollector()
	col.Verified = known
	start := time.Now()
	late := client.LateAnswer(start)
	all := client.Each(ctx, r.c.Targets(),
		func(ctx context.Context, t client.Target) Shown { return r.shownBy(ctx, t, col, start) },
		func(t client.Target, err error) Shown {
			status := late(t, err).Status
			return Shown{URL: t.URL, Err: err, Status: status}
		})
	var relays []client.RelayStatus
	for _, s := range all {
		relays = append(relays, s.Status)
	}
	if client.Answered(relays) == 0 {
		return all, client.NoRelay(relays)
	}
	return all, nil
}

func (r *reader) shownBy(ctx context.Context, t client.Target, col *client.Collector, start time.Time) Shown {
	k := r.keptBy(ctx, t, r.all(), nostr.Filter{Kinds: []int{nipae.Kind}, Authors: []string{r.agent}}, col, start)
	heads := k.heads
	s := Shown{URL: t.URL, Heads: heads.Events, Status: k.status(), Whole: heads.Status.Err == nil && heads.Status.Complete, Kept: k.past.Status.Err == nil && k.past.Status.Complete}
	s.Without = errors.Is(k.past.Status.Err, client.ErrNoHistory)
	s.Past = slices.DeleteFunc(slices.Clone(k.past.Events), func(ev *nostr.Event) bool { return ev.Tags.FindWithValue("p", r.owner) == nil })
	if s.Status.Failed() {
		s.Err = s.Status.Err
	}
	if s.Whole && s.Kept {
		if info, err := client.InfoOf(ctx, r.c, t); err == nil {
			s.Promise = info.History
		}
	}
	return s
}

// Get returns the head of a slug (NIP-AE, "Head selection" and "Reading"). A
// head that was found is returned also if some relays failed; Status.Partial
// says so.
//
// The errors are, in this order of precedence: ErrNoRelay, no relay answered
// (and ErrAuth if all refused us); ErrUnreadable, there is something and
// nothing of it can be read; ErrPartial, nothing was found or a tombstone, and
// some relay failed; ErrTombstone, with the tombstone as Entry; ErrNotFound.
//
// What this machine knows counts (Options.Known): a newer version than all relays show
// is the answer, and the status says Behind; without its bytes, or for an owner where no
// relay shows anything, it is ErrBehind. Where no relay answers, the version that this
// machine has is the answer, and the status says Stale.
func (r *Reader) Get(ctx context.Context, slug nipae.Slug) (client.Entry, client.Status, error) {
	ctx, cancel := r.c.Operation(ctx)
	defer cancel()
	return r.got(r.readingKnown(ctx, slug))
}

// got is what Get returns of a reading.
func (r *reader) got(reading nipae.Reading, status client.Status, at client.Newest, err error) (client.Entry, client.Status, error) {
	if ours, ok := r.opened(at); ok && errors.Is(err, client.ErrNoRelay) && !errors.Is(err, client.ErrAuth) && !status.Named {
		status.Stale, status.Partial = true, true
		entry := client.EntryOf(ours)
		if entry.Tombstone {
			return entry, status, err
		}
		return entry, status, nil
	}
	if err != nil {
		return client.Entry{}, status, err
	}
	if reading.Head == nil {
		if status.Partial {
			return client.Entry{}, status, status.Incomplete()
		}
		return client.Entry{}, status, client.ErrNotFound
	}
	entry := client.EntryOf(*reading.Head)
	switch {
	case entry.Tombstone && status.Partial:
		return entry, status, status.Incomplete()
	case entry.Tombstone:
		return entry, status, client.ErrTombstone
	}
	return entry, status, nil
}

// reading asks for the head of a slug within an operation. No head and no error
// means that no relay that answered has anything there. The error is ErrNoRelay
// or ErrUnreadable; the Reading holds with both what was found.
func (r *reader) reading(ctx context.Context, slug nipae.Slug) (nipae.Reading, client.Status, error) {
	reading, status, _, err := r.readingKnown(ctx, slug)
	return reading, status, err
}

// readingKnown is reading, with what this machine knows of the slug.
func (r *reader) readingKnown(ctx context.Context, slug nipae.Slug) (nipae.Reading, client.Status, client.Newest, error) {
	wait := r.knownAt(ctx, slug)
	ask := func() (nipae.Reading, client.Status, error) { return r.readingShown(ctx, slug) }
	reading, status, err := ask()
	at := wait()
	reading, status, err = r.besides(ctx, at, reading, status, err, ask)
	return reading, status, at, err
}

// readingShown is what the relays alone say.
func (r *reader) readingShown(ctx context.Context, slug nipae.Slug) (nipae.Reading, client.Status, error) {
	reading, status, err := r.readingFrom(ctx, r.c.Targets(), slug, r.c.AskThoseSoon)
	if (reading.Head == nil || reading.Tombstone()) && client.Hurried(status.Relays) {
		err = r.c.Patiently(ctx, r.agent, func() error {
			reading, status, err = r.readingFrom(ctx, r.c.Targets(), slug, r.c.AskThose)
			return err
		})
	}
	return reading, status, err
}

// readingFrom is reading at those relays, asked in that way.
func (r *reader) readingFrom(ctx context.Context, targets []client.Target, slug nipae.Slug, ask client.Asking) (nipae.Reading, client.Status, error) {
	if err := r.counts(slug); err != nil {
		return nipae.Reading{}, client.Status{}, err
	}
	a, err := ask(ctx, targets, r.at(slug))
	reading, readErr := nipae.SelectHead(r.key(), r.agent, r.owner, slug, live(r, a.Events))
	status := r.status(a.Relays, reading.Unreadable)
	if err != nil {
		return reading, status, err
	}
	return reading, status, unreadable(readErr, status, reading.Head != nil)
}

// unreadable is ErrUnreadable if relays sent something and none of it can be
// read, be it because of what the agent signed (err) or because it did not even
// sign that.
func unreadable(err error, status client.Status, found bool) error {
	switch {
	case found:
		return nil
	case errors.Is(err, nipae.ErrNothingReadable):
		return fmt.Errorf("%w: %w", client.ErrUnreadable, err)
	case err != nil:
		return err
	case client.Rejected(status.Relays) > 0:
		return fmt.Errorf("%w: what the relays sent is not what was asked for, or not signed", client.ErrUnreadable)
	}
	return nil
}

// Listing is everything that a pair remembers.
type Listing struct {
	Core       *client.Entry  // nil if there is none
	Memories   []client.Entry // by slug
	Tombstones []client.Entry // by slug
	Unreadable int            // addresses at which nothing can be read; their slugs are unknown
}

// Texts returns all that have a text, the core first.
func (l Listing) Texts() []client.Entry {
	if l.Core == nil {
		return l.Memories
	}
	return append([]client.Entry{*l.Core}, l.Memories...)
}

// ListAll returns the head of every address: it may be cut short or lack what
// failed relays have, which Status.Partial says. Errors are those of Get but
// ErrNotFound and ErrTombstone; it is empty without an error only if every relay
// answered and has nothing at all.
func (r *Reader) ListAll(ctx context.Context) (Listing, client.Status, error) {
	ctx, cancel := r.c.Operation(ctx)
	defer cancel()
	heads, status, err := r.heads(ctx)
	if err != nil {
		return Listing{}, status, err
	}
	return listingOf(heads), status, nil
}

func listingOf(heads nipae.Listing) Listing {
	l := Listing{Unreadable: len(heads.Unreadable)}
	if heads.Core != nil {
		core := client.EntryOf(*heads.Core)
		l.Core = &core
	}
	for _, e := range heads.Memories {
		l.Memories = append(l.Memories, client.EntryOf(e))
	}
	for _, e := range heads.Tombstones {
		l.Tombstones = append(l.Tombstones, client.EntryOf(e))
	}
	return l
}

// heads asks for everything of the pair within an operation.
func (r *reader) heads(ctx context.Context) (nipae.Listing, client.Status, error) {
	l, status, err := r.headsFrom(ctx, r.c.AskThoseSoon)
	if len(l.Heads()) == 0 && client.Hurried(status.Relays) {
		err = r.c.Patiently(ctx, r.agent, func() error {
			l, status, err = r.headsFrom(ctx, r.c.AskThose)
			return err
		})
	}
	return l, status, err
}

// headsFrom is heads, asked for in that way.
func (r *reader) headsFrom(ctx context.Context, ask client.Asking) (nipae.Listing, client.Status, error) {
	known := r.knownAll(ctx)
	a, err := ask(ctx, r.c.Targets(), r.all())
	if err != nil {
		_, _ = known()
		return nipae.Listing{}, r.status(a.Relays, 0), err
	}
	_, heads, status := r.besidesAll(ctx, known, a.Events, r.status(a.Relays, 0))
	l, out, err := r.judged(heads, status)
	if err == nil && status.Withheld > 0 && len(l.Heads()) == 0 {
		err = fmt.Errorf("%w: %d, and their texts are not here", client.ErrBehind, status.Withheld)
	}
	return l, out, err
}

// judged adds to a listing what its status means for it.
func (r *reader) judged(l nipae.Listing, status client.Status) (nipae.Listing, client.Status, error) {
	status.Doubtful += l.Doubtful + len(l.Unreadable) + len(l.Outside)
	found := len(l.Heads())+len(l.Tombstones) > 0
	if err := unreadable(l.Err(), status, found); err != nil {
		return l, status, err
	}
	if !found && status.Partial {
		return l, status, status.Incomplete()
	}
	return l, status, nil
}

// Graph returns how the records refer to each other and which of them core
// leads to (NIP-AE, "References and reachability"). Errors are as of ListAll.
// In a partial one, orphans may be none, and what dangles may exist.
func (r *Reader) Graph(ctx context.Context) (nipae.Graph, client.Status, error) {
	ctx, cancel := r.c.Operation(ctx)
	defer cancel()
	heads, status, err := r.heads(ctx)
	if err != nil {
		return nipae.Graph{}, status, err
	}
	return nipae.Reach(heads.Heads()), status, nil
}
