package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/protocol/schnorr"
	"engramd/internal/protocol/writerlog"
	"engramd/nips/nipae"
)

// SetOptions say what a write may do.
type SetOptions struct {
	// Base is the Hash of the text that the new one was made from, or BaseNone.
	// If the head has another text, or none, the write is a conflict. "" is any.
	// With a base one relay decides between writers (Status.Decider).
	Base string
	// AllowEmpty lets the text be empty.
	AllowEmpty bool
	// OverUnreadable writes also where there is something that cannot be read,
	// and supersedes it.
	OverUnreadable bool
	// Whole writes only if every relay said what is there: one that failed may
	// have a newer text than the one read. Otherwise it is ErrPartial.
	Whole bool
	// Like is a memory whose members that NIP-AE does not define go with the text,
	// to a slug where nothing is: it is the same memory, renamed. "" is none.
	Like nipae.Slug
	// Expires says when it expires.
	Expires Expiry
	// again says, where it is not nil, when what is written again expires, and did.
	again func(nipae.Reading) (at, was int64, err error)
	// Addresses and Ends are the values of a log unit's members; nil leaves one.
	Addresses, Ends jsontext.Value
	// Check is shown the text that is there, "" if there is none, and the one that
	// is to be written; its error ends the write. nil checks nothing.
	Check func(old, text string) error
	// Later lets the write wait while no relay answers, where something keeps it; nil
	// does not.
	Later *Later
	// Signed is told the id of the event before it is sent anywhere; its error ends the
	// write. nil is told nothing.
	Signed func(id string) error
}

// BaseNone is the Base of a text that is to be written only where there is
// none.
const BaseNone = "none"

// Set writes a text (NIP-AE, "Writing"): it reads the head, seals a version
// that is newer than it, with the members of the head's body that NIP-AE does
// not define, sends it once to every relay, and reads the head again.
//
// The Entry is what was written. Errors: ErrReadOnly, ErrEmpty, ErrTooLarge,
// ErrUnreadable and those of Check and of Client.Publish write nothing, and so
// does ErrNoRelay if no relay answers the first reading. A *ConflictError says
// that the head is not Base's, or that another version won; a *PoisonedError
// that the head is dated too far ahead. ErrUnverified: some relay accepted it,
// but it was not there when read again. Nothing is ever sent again.
//
// With a nil error at least one relay has it; Status.Published tells which.
func (m *Memory) Set(ctx context.Context, slug nipae.Slug, text string, o SetOptions) (client.Entry, client.Status, error) {
	if err := m.writable(); err != nil {
		return client.Entry{}, client.Status{}, err
	}
	if text == "" && !o.AllowEmpty {
		return client.Entry{}, client.Status{}, client.ErrEmpty
	}
	like, status, err := m.like(ctx, o.Like)
	if err != nil {
		return client.Entry{}, status, err
	}
	return m.write(ctx, slug, o, func(reading nipae.Reading) (nipae.Body, error) {
		removed := false
		if reading.Head != nil {
			_, there := reading.Head.Body.Text()
			removed = !there
		}
		if like != nil && (reading.Head == nil || removed) {
			body, err := like.WithSlug(slug)
			return body.WithText(text), err
		}
		if reading.Head != nil {
			return reading.Head.Body.WithText(text), nil
		}
		if slug.IsCore() {
			return nipae.NewProfile(text), nil
		}
		return nipae.NewMemory(slug, text)
	})
}

// like reads the body of a memory that is renamed, nil for none.
func (m *Memory) like(ctx context.Context, slug nipae.Slug) (*nipae.Body, client.Status, error) {
	if slug == "" {
		return nil, client.Status{}, nil
	}
	ctx, cancel := m.c.Operation(ctx)
	defer cancel()
	reading, status, err := m.reading(ctx, slug)
	switch {
	case err != nil:
		return nil, status, err
	case reading.Head == nil && status.Partial:
		return nil, status, status.Incomplete()
	case reading.Head == nil:
		return nil, status, client.ErrNotFound
	}
	return &reading.Head.Body, status, nil
}

// write is one write as a whole. compose makes the new body from what is there;
// its error ends the write. When the slug is written faster than once a second,
// it waits for its turn (publish.go).
func (m *Memory) write(ctx context.Context, slug nipae.Slug, o SetOptions, compose func(nipae.Reading) (nipae.Body, error)) (client.Entry, client.Status, error) {
	var t client.Turn
	var waited time.Duration
	for {
		entry, status, pause, err := m.writeOnce(ctx, slug, o, &t, compose)
		if pause <= 0 {
			return entry, status, err
		}
		if waited += pause; waited > burstPatience {
			return entry, status, &client.ConflictError{Busy: true, Reason: "busy: this memory is being written faster than once a second; nothing was published"}
		}
		longer, cancel := beyond(ctx)
		defer cancel()
		ctx = longer
		if err := m.c.Options().Wait(ctx, pause); err != nil {
			return entry, status, err
		}
	}
}

// writeOnce is write up to where it must wait: then it returns for how long,
// and nothing is published.
func (m *Memory) writeOnce(ctx context.Context, slug nipae.Slug, o SetOptions, t *client.Turn, compose func(nipae.Reading) (nipae.Body, error)) (client.Entry, client.Status, time.Duration, error) {
	ctx, cancel := m.c.Operation(ctx)
	defer cancel()
	wait, end := m.ready(ctx)
	defer end()
	reading, status, err := m.before(ctx, slug, o)
	if err != nil {
		return client.Entry{}, status, 0, err
	}
	draft := Draft{}
	if o.again != nil {
		draft.Expires, draft.Was, err = o.again(reading)
	} else {
		draft, err = expiry(ctx, m, slug, o.Expires, reading)
	}
	if err != nil {
		return client.Entry{}, status, 0, err
	}
	body, err := compose(reading)
	if err == nil && o.Addresses != nil {
		body, err = body.WithMember(writerlog.UnitMember, o.Addresses)
	}
	if err == nil && o.Ends != nil {
		body, err = body.WithMember(writerlog.EndsMember, o.Ends)
	}
	if err != nil {
		return client.Entry{}, status, 0, err
	}
	if err := o.check(reading.Head, body); err != nil {
		return client.Entry{}, status, 0, err
	}
	if pause := m.c.Pause(max(reading.CreatedAt(), reading.Latest), t); pause > 0 {
		return client.Entry{}, status, pause, nil
	}
	wait()
	draft.Body = body
	engram, err := m.seal(ctx, draft, reading)
	if err == nil && o.Signed != nil {
		err = o.Signed(engram.Event.ID)
	}
	if err != nil {
		return client.Entry{}, status, 0, err
	}
	d, err := m.decide(ctx, &status, o, reading, engram)
	if err != nil {
		m.sent(ctx, engram.Event, d.Published)
		return client.EntryOf(engram), status, 0, err
	}
	entry, status, err := m.send(ctx, engram, status, d)
	if client.Accepted(status.Published) > 0 && !errors.Is(err, client.ErrConflict) {
		draft.tell(ctx, m, engram.Event.ID)
	}
	return entry, status, 0, err
}

// decide asks who is to decide, if the write has a base.
func (m *Memory) decide(ctx context.Context, status *client.Status, o SetOptions, reading nipae.Reading, engram nipae.Engram) (client.Decision, error) {
	if o.Base == "" {
		return client.Decision{}, nil
	}
	status.Compared = true
	var head *nostr.Event
	if reading.Head != nil {
		head = reading.Head.Event
	}
	reached := map[string]bool{}
	for _, r := range status.Relays {
		reached[r.URL] = !r.Failed()
	}
	deciding, done := client.Part(ctx, 0.4)
	d, err := m.c.Decide(deciding, m.c.WriteTargets(), engram.Event, head, reached)
	done()
	status.Decider = d.By
	if err != nil {
		status.Published = d.Published
		return d, m.undecided(ctx, engram.Slug(), err)
	}
	return d, nil
}

// undecided adds to a conflict what is there now.
func (m *Memory) undecided(ctx context.Context, slug nipae.Slug, err error) error {
	var conflict *client.ConflictError
	if !errors.As(err, &conflict) {
		return err
	}
	if reading, _, readErr := m.reading(ctx, slug); readErr == nil && reading.Head != nil {
		theirs := client.EntryOf(*reading.Head)
		conflict.Theirs = &theirs
	}
	return conflict
}

func (o SetOptions) check(head *nipae.Engram, body nipae.Body) error {
	text, ok := body.Text()
	if o.Check == nil || !ok {
		return nil
	}
	old := ""
	if head != nil {
		old, _ = head.Body.Text()
	}
	return o.Check(old, text)
}

// before reads the head that is to be superseded and compares it with the base.
func (m *Memory) before(ctx context.Context, slug nipae.Slug, o SetOptions) (nipae.Reading, client.Status, error) {
	ctx, cancel := client.Part(ctx, 0.4)
	defer cancel()
	reading, status, err := m.reading(ctx, slug)
	if err != nil && !(o.OverUnreadable && errors.Is(err, client.ErrUnreadable)) {
		return reading, status, err
	}
	undecided := o.Base != "" && o.Later != nil && client.Undecided(m.c, status.Relays) // who decides is asked again
	if o.Whole && status.Partial && !undecided || status.Unknown != nil && !status.Named {
		return reading, status, status.Incomplete()
	}
	if status.Behind > 0 && !status.Named {
		if reading, status, err = m.deliver(ctx, slug, reading, status); err != nil {
			return reading, status, err
		}
	}
	if o.Base == "" {
		return reading, status, nil
	}
	if reading.Head == nil {
		switch {
		case status.Partial:
			return reading, status, status.Incomplete()
		case o.Base == BaseNone:
			return reading, status, nil
		}
		return reading, status, &client.ConflictError{Reason: "there is no text, and the change was made for one"}
	}
	theirs := client.EntryOf(*reading.Head)
	if o.Base == BaseNone && theirs.Tombstone {
		return reading, status, nil
	}
	if theirs.Hash != o.Base {
		return reading, status, &client.ConflictError{Theirs: &theirs, Reason: "the text is not the one that the change was made for"}
	}
	return reading, status, nil
}

// seal makes the event that supersedes what was read.
func (m *Memory) seal(ctx context.Context, d Draft, reading nipae.Reading) (nipae.Engram, error) {
	// Latest is the head's time, or that of something newer which cannot be
	// read: a relay that has that takes nothing older.
	var err error
	if d.At, err = m.After(max(reading.CreatedAt(), reading.Latest)); err != nil {
		return nipae.Engram{}, err
	}
	drafts := []Draft{d}
	events, err := m.sealAll(ctx, drafts)
	if err != nil {
		return nipae.Engram{}, err
	}
	return nipae.Engram{Event: events[0], Body: drafts[0].Body}, nil
}

// After is Client.After.
func (m *Memory) After(last int64) (int64, error) { return m.c.After(last) }

// sealAt makes the event of a body.
func (m *Memory) sealAt(body nipae.Body, at, expires int64) (*nostr.Event, error) {
	ev, err := client.Using(m.c.Identity(), func(secret string) (*nostr.Event, error) {
		return nipae.Seal(m.key(), body, nipae.Sealing{Secret: secret, Owner: m.owner, CreatedAt: at, Rand: m.c.Options().Rand, Alt: true, Commit: true, Expiration: expires,
			Sign: schnorr.Sign, Author: m.c.Identity().PubKey()})
	})
	if errors.Is(err, nipae.ErrTooLarge) {
		return nil, fmt.Errorf("%w: %w", client.ErrTooLarge, err)
	}
	return ev, err
}

// Compose makes the events of drafts without sending them, all or none of them
// in the writer's log. Errors are ErrReadOnly and ErrTooLarge.
func (m *Memory) Compose(ctx context.Context, drafts []Draft) ([]*nostr.Event, error) {
	if err := m.writable(); err != nil {
		return nil, err
	}
	ctx, cancel := m.c.Operation(ctx)
	defer cancel()
	wait, end := m.ready(ctx)
	defer end()
	wait()
	return m.sealAll(context.WithoutCancel(ctx), drafts)
}

// send publishes a sealed engram once, to the relays that do not have it yet,
// and verifies the head afterwards.
func (m *Memory) send(ctx context.Context, ours nipae.Engram, status client.Status, d client.Decision) (client.Entry, client.Status, error) {
	entry := client.EntryOf(ours)
	publishing, cancel := client.Part(ctx, 0.6)
	defer cancel()
	targets := m.c.WriteTargets()
	published, err := publishToOthers(publishing, m.c, targets, ours.Event, client.TimedOut(status.Relays), d)
	status.Published, status.Wrote = published, ours.Event
	m.sent(ctx, ours.Event, published)
	status.Partial = status.Partial || client.Accepted(published) < len(published)
	var conflict *client.ConflictError
	switch {
	case errors.As(err, &conflict):
		if reading, _, err := m.readingFrom(ctx, withoutSilent(targets, published), ours.Slug(), m.c.AskThoseSoon); err == nil && reading.Head != nil {
			theirs := client.EntryOf(*reading.Head)
			conflict.Theirs = &theirs
		}
		return entry, status, conflict
	case err != nil:
		return entry, status, err
	}
	after, err := m.verify(ctx, withoutSilent(targets, published), ours)
	status.Relays, status.Doubtful = after.Relays, after.Doubtful
	status.Partial = status.Partial || after.Partial
	if err == nil && hidden(published, after.Relays) {
		err = &client.ConflictError{Sent: true, Reason: "a relay has a newer version, and did not show it"}
	}
	return entry, status, err
}

// hidden reports whether a relay that refused an event for a newer one did not
// answer in full when it was asked for that.
func hidden(published []client.PublishStatus, after []client.RelayStatus) bool {
	return slices.ContainsFunc(published, func(s client.PublishStatus) bool {
		return s.Superseded && slices.ContainsFunc(after, func(r client.RelayStatus) bool { return r.URL == s.URL && !r.Complete })
	})
}

// verify reads the head again, at those relays, and compares it with what was
// written.
func (m *Memory) verify(ctx context.Context, targets []client.Target, ours nipae.Engram) (client.Status, error) {
	reading, status, err := m.readingFrom(ctx, targets, ours.Slug(), m.c.AskThoseSoon)
	switch {
	case reading.Head == nil && err != nil:
		return status, fmt.Errorf("%w: %w", client.ErrUnverified, err)
	case reading.Head == nil:
		return status, client.Failures(client.ErrUnverified, status.Relays)
	case reading.Head.Event.ID == ours.Event.ID:
		return status, nil
	case nipae.Newer(reading.Head.Event, ours.Event):
		theirs := client.EntryOf(*reading.Head)
		return status, &client.ConflictError{Theirs: &theirs, Sent: true, Reason: "another version was written at the same time and is the newer one"}
	}
	return status, client.Failures(client.ErrUnverified, status.Relays)
}
