package proposals

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/memory/write"
	"engramd/internal/secrets"
	"engramd/nips/frontmatter"
	"engramd/nips/nipae"
)

// AcceptOptions say what accepting may do.
type AcceptOptions struct {
	AllowSecret      bool // take also what looks like a key or a token
	AllowPlaceholder bool // and a line that stands for text that was left out

	unasked bool // by AcceptOwners
}

// Accepted is what came of accepting a proposal. The Status is set also beside an
// error.
type Accepted struct {
	Item
	Slug  nipae.Slug        // what was written
	Entry client.Entry      // its version; that of the event alone, if it was accepted before
	Trust frontmatter.Trust // of the text; not of a core or a removal
	Again bool              // it was accepted before, and nothing was written now
	Was   string            // id of the version that was there; "" for none
	Near  []Near
	// Answered says that the proposer can see it.
	Answered bool
	Status   client.Status
}

// Accept writes what is proposed, with the base of the proposal, and answers it. A
// proposal that was accepted before is left; one that was written and not answered
// is answered. Errors are those of Get and of memory.Memory.Set, RemoveVersion and
// At, ErrForbidden, ErrAnswered (it was rejected), ErrRefused, ErrUnopened and
// write.ErrField (what cannot be archived). With an error and Entry.ID set the
// memory is written, and the answer is not: accepting again answers.
func (b *Box) Accept(ctx context.Context, id string, o AcceptOptions) (Accepted, error) {
	item, status, err := b.Get(ctx, id)
	if err != nil {
		return Accepted{Status: status}, err
	}
	return b.AcceptItem(ctx, item, o)
}

// AcceptItem is Accept of what List or Get gave.
func (b *Box) AcceptItem(ctx context.Context, item Item, o AcceptOptions) (done Accepted, err error) {
	done.Item = item
	if done.Slug, err = item.target(); err != nil {
		return done, err
	}
	if a := item.Answer; a != nil {
		if !a.Accepted {
			return done, fmt.Errorf("%w: it was rejected", ErrAnswered)
		}
		done.Entry, done.Again, done.Answered = client.Entry{Slug: done.Slug, ID: a.Event, Hash: a.Hash}, true, true
		return done, nil
	}
	if err := b.write(ctx, &done, o); err != nil {
		return done, err
	}
	answered, err := b.answer(ctx, item, Answer{Proposal: item.EventID, Accepted: true, Event: done.Entry.ID, Hash: done.Entry.Hash})
	if err != nil || answered.Partial {
		done.Status = answered
	}
	if err != nil {
		return done, fmt.Errorf("%s is written, and the answer is not (accept it again): %w", done.Slug, err)
	}
	done.Answered = true
	return done, nil
}

// Take writes what the owner or a listed key has given in another way than by a
// relay, and answers nobody. Errors are those of AcceptItem, and ErrForbidden for a
// key that is not listed.
func (b *Box) Take(ctx context.Context, p Proposal, o AcceptOptions) (done Accepted, err error) {
	item := b.Item(p)
	done.Item = item
	if !item.FromOwner && item.Name == "" {
		return done, fmt.Errorf("%w: it is by a key that is not listed", ErrForbidden)
	}
	if err := p.check(); err != nil {
		return done, err
	}
	if done.Slug, err = item.target(); err != nil {
		return done, err
	}
	err = b.write(ctx, &done, o)
	return done, err
}

// Item is a proposal as this Box has it.
func (b *Box) Item(p Proposal) Item {
	return Item{Proposal: p, FromOwner: p.Proposer == b.o.Memory.Owner(), Name: b.listed[p.Proposer]}
}

// NameOf returns what a key is called here; "" for one that is neither the owner's
// nor listed.
func (b *Box) NameOf(key string) string {
	if key == b.o.Memory.Owner() {
		return NameOf(key)
	}
	return b.listed[key]
}

// write does what is proposed, or finds it done.
func (b *Box) write(ctx context.Context, done *Accepted, o AcceptOptions) error {
	item, slug := done.Item, done.Slug
	text, opened, err := b.text(ctx, done)
	if err != nil {
		return err
	}
	source := opened.Source
	head, status, err := b.o.Memory.Get(ctx, slug)
	done.Status = status
	if err = cmp.Or(err, status.Unasked()); err != nil && !errors.Is(err, client.ErrNotFound) && !errors.Is(err, client.ErrTombstone) {
		return err
	}
	if !at(head, item.Base) || item.removedSince(head) {
		if item.done(slug, head, text, source) {
			done.Entry, done.Again, done.Trust = head, true, frontmatter.Parse(head.Text).Trust()
			return nil
		}
		if item.Base == memory.BaseNone && opened.corrects(head.Text) {
			item.Base = head.Hash
		}
	}
	if !at(head, item.Base) || item.removedSince(head) {
		conflict := &client.ConflictError{Reason: "the proposal was made for another text"}
		if head.ID != "" {
			conflict.Theirs = &head
		}
		return conflict
	}
	if !item.FromOwner && head.Text != "" && frontmatter.Parse(head.Text).Fields().Source != source {
		return fmt.Errorf("%w: %s is not what it proposed before", ErrForbidden, slug)
	}
	done.Was = head.ID
	if o.unasked && (status.Behind > 0 || !item.unasked(slug, head.Text) || item.Base == memory.BaseNone && head.ID != "") {
		return ErrUnasked
	}
	if item.Act == Delete {
		done.Entry, done.Status, err = b.o.Memory.RemoveVersion(ctx, slug, item.Base)
		return b.unwritten(done, err)
	}
	if text, err = b.replacing(item, slug, head.Text, text, source); err != nil {
		return err
	}
	if o.unasked && !item.unasked(slug, text) {
		return ErrUnasked
	}
	if done.Trust = frontmatter.Parse(text).Trust(); b.o.Near != nil && item.Act != Archive {
		done.Near = b.o.Near(ctx, string(slug), text)
	}
	set := memory.SetOptions{Base: item.Base, Check: o.check}
	done.Entry, done.Status, err = b.o.Memory.Set(ctx, slug, text, set)
	return b.unwritten(done, err)
}

// at reports whether a head is what a base names.
func at(head client.Entry, base string) bool {
	if base == memory.BaseNone {
		return head.Hash == ""
	}
	return head.Hash == base
}

// clocksDiffer is by how many seconds a proposer's clock may be behind, and a burst
// of writes ahead.
const clocksDiffer = 60

// removedSince reports whether a memory was removed after the proposal was made for
// none: it was accepted before, and no relay shows the answer, or is for another text.
func (i Item) removedSince(head client.Entry) bool {
	return i.Base == memory.BaseNone && head.Tombstone && head.CreatedAt > i.CreatedAt+clocksDiffer
}

// unwritten leaves no Entry beside an error: with one, the memory is written.
func (b *Box) unwritten(done *Accepted, err error) error {
	if err != nil {
		done.Entry = client.Entry{}
	}
	return err
}

// text returns what is proposed, before anything is stamped: the text of a write
// or an edit, that of an old version, or none.
func (b *Box) text(ctx context.Context, done *Accepted) (text string, opened Opened, err error) {
	item := done.Item
	switch {
	case item.Act == Restore:
		old, status, err := b.o.Memory.At(ctx, item.Slug, memory.When{ID: item.Version})
		done.Status = status
		if err != nil {
			return "", opened, fmt.Errorf("the version to restore: %w", err)
		}
		return old.Text, Opened{Source: item.source()}, nil
	case item.Origin == nil:
		return item.Text, Opened{Source: item.source()}, nil
	}
	if opened, err = b.opened(ctx, item); err == nil {
		text, err = item.marked(opened)
	}
	return text, opened, err
}

// Text returns the whole text that a proposal brings, as it is to be read before it
// is accepted: also one that is in another agent's event. "" for acts without one.
// Errors are ErrUnopened and those of opening.
func (b *Box) Text(ctx context.Context, item Item) (string, error) {
	if item.Origin == nil {
		return item.Text, nil
	}
	opened, err := b.opened(ctx, item)
	return opened.Text, err
}

// opened opens the origin of a proposal.
func (b *Box) opened(ctx context.Context, item Item) (Opened, error) {
	if b.o.Open == nil {
		return Opened{}, ErrUnopened
	}
	return b.o.Open(ctx, item.Proposal)
}

// replacing returns the text that is written in the place of another.
func (b *Box) replacing(item Item, slug nipae.Slug, old, text, source string) (string, error) {
	switch {
	case item.Act == Archive:
		return item.archived(slug, old, b.o.Clock())
	case item.Act == Restore && !item.Vouch:
		return text, nil // byte for byte, with the trust that it had
	}
	return item.composed(slug, old, text, source, b.o.Clock())
}

// check refuses what is not remembered, unless it is there already.
func (o AcceptOptions) check(old, text string) error {
	if !o.AllowSecret {
		if err := secrets.CheckChange(old, text); err != nil {
			return fmt.Errorf("%w: %w", ErrRefused, err)
		}
	}
	if !o.AllowPlaceholder {
		if err := write.Placeholder(old, text); err != nil {
			return fmt.Errorf("%w: %w", ErrRefused, err)
		}
	}
	return nil
}

// Reject answers a proposal with a reason, which may be "". One that was rejected
// before is left. Errors are those of Get and of memory.Memory.Set, ErrForm for a
// reason that is too long, ErrRefused for one with a secret in it, and ErrAnswered
// (it was accepted).
func (b *Box) Reject(ctx context.Context, id, reason string) (Item, client.Status, error) {
	a := Answer{Reason: reason}
	if len(reason) > MaxWhy {
		return Item{}, client.Status{}, fmt.Errorf("%w: the reason is longer than %d bytes", ErrForm, MaxWhy)
	}
	if err := secrets.CheckChange("", reason); err != nil {
		return Item{}, client.Status{}, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	item, status, err := b.Get(ctx, id)
	if err != nil {
		return item, status, err
	}
	if item.Answer != nil {
		if item.Answer.Accepted {
			return item, status, fmt.Errorf("%w: it was accepted", ErrAnswered)
		}
		return item, status, nil
	}
	a.Proposal = item.EventID
	status, err = b.answer(ctx, item, a)
	if err == nil {
		item.Answer = &a
	}
	return item, status, err
}

// answer writes an answer into the agent's pair with the proposer. What is not for
// the owner is no memory of the agent's, and in no log.
func (b *Box) answer(ctx context.Context, item Item, a Answer) (client.Status, error) {
	text, err := a.Render()
	if err != nil {
		return client.Status{}, err
	}
	m := b.o.Memory
	if !item.FromOwner {
		with, err := memory.AsAgent(b.o.Client, item.Proposer)
		if err != nil {
			return client.Status{}, err
		}
		m = with.Unchained()
	}
	_, status, err := m.Set(ctx, nipae.Slug(nipae.AnswerPrefix+item.ID), text, memory.SetOptions{OverUnreadable: true})
	return status, err
}

// narrative is where the agent's story of itself stands.
const narrative = "mem/narrative"

// unasked reports whether a text may be written, or replaced, that nobody has looked at:
// who the agent is and what it means to do is its own to answer for.
func (i Item) unasked(slug nipae.Slug, text string) bool {
	typ := frontmatter.Parse(text).Fields().Type
	return !slug.IsCore() && slug != narrative && typ != frontmatter.Narrative && typ != frontmatter.Prospective
}

// AcceptOwners accepts the newest that the owner proposes for each slug, the oldest of
// these first, at most so many. What cannot be accepted stays open, however much that is,
// and what Corrects, what is about the core, the narrative or an intention, and what is
// new at a slug at which something was removed; the rest is accepted all the same: errs
// says why, by event id. may is asked of each before; nil allows all. The error is that of
// List.
func (b *Box) AcceptOwners(ctx context.Context, most int, may func(context.Context, Item) error) (all []Accepted, errs map[string]error, err error) {
	in, _, err := b.List(ctx)
	if err != nil {
		return nil, nil, err
	}
	errs = map[string]error{}
	var owners []Proposal
	for _, item := range in.Items {
		if item.FromOwner {
			owners = append(owners, item.Proposal)
		}
	}
	newest := Newest(owners)
	for i := len(in.Items) - 1; i >= 0 && len(all) < most; i-- {
		if !in.Items[i].FromOwner {
			continue
		}
		asks, err := b.Corrects(ctx, in.Items[i])
		switch {
		case asks:
			err = ErrCorrects
		case newest[in.Items[i].Slug].EventID != in.Items[i].EventID:
			err = ErrUnasked
		case err == nil && may != nil:
			err = may(ctx, in.Items[i])
		}
		var done Accepted
		if err == nil {
			done, err = b.AcceptItem(ctx, in.Items[i], AcceptOptions{unasked: true})
		}
		if err != nil {
			if errs[in.Items[i].EventID] = err; ctx.Err() != nil {
				break
			}
			continue
		}
		all = append(all, done)
	}
	return all, errs, nil
}
