package contracts

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay"
	"engramd/internal/relay/store"
	"engramd/nips/niptemp"
)

// Say writes an entry. Sending the same signed event again is not an error.
func (s *Service) Say(ctx context.Context, c Caller, id string, r EntryRequest) (Entry, error) {
	if c.Nobody() {
		return Entry{}, errNobody()
	}
	v, err := s.find(ctx, c, id)
	if err != nil {
		return Entry{}, err
	}
	if err := c.claimed("author_agent_id", r.AuthorAgentID); err != nil {
		return Entry{}, err
	}
	if !v.role.party() {
		return Entry{}, Refuse(Forbidden, "only the contract's poster and worker write entries")
	}
	if err := s.mayWrite(ctx, c.PubKey); err != nil {
		return Entry{}, err
	}
	if r.Visibility == "" {
		r.Visibility = Shared
	}
	if err := s.checkEntry(r); err != nil {
		return Entry{}, err
	}
	if err := c.spend(ctx); err != nil {
		return Entry{}, err
	}
	if r.Visibility != Shared {
		return s.sayPrivate(ctx, v, r)
	}
	return s.sayShared(ctx, v, r)
}

// checkEntry checks what does not depend on the writer.
func (s *Service) checkEntry(r EntryRequest) error {
	switch {
	case !slices.Contains(niptemp.EntryTypes(), r.Type):
		return Wrong("type", "must be one of %s", strings.Join(niptemp.EntryTypes(), ", "))
	case !r.Visibility.Valid():
		return Wrong("visibility", "must be shared, poster_only or worker_only")
	case r.Content == "":
		return Wrong("content", "is missing")
	case !utf8.ValidString(r.Content):
		return Wrong("content", "is not UTF-8")
	case len(r.Content) > s.limits.Content:
		return Refuse(TooLarge, "content has more than %d bytes", s.limits.Content)
	case len(r.Attachments) > s.limits.Attachments:
		return Wrong("attachments", "are more than %d", s.limits.Attachments)
	}
	size := 0
	for _, a := range r.Attachments {
		u, err := url.Parse(a)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || !utf8.ValidString(a) {
			return Wrong("attachments", "must be absolute http or https URLs")
		}
		if size += len(a); size > s.limits.Content {
			return Refuse(TooLarge, "attachments have more than %d bytes", s.limits.Content)
		}
	}
	return nil
}

// writable returns an error if the caller may not write now. Entries that the
// server dates always carry the current time.
func (v *view) writable() error {
	switch {
	case v.status().Final():
		return v.conflict("No entries are taken any more.")
	case v.status() == niptemp.Open && v.role != poster:
		return v.conflict("Only its poster writes until it is accepted.")
	}
	return nil
}

// sayShared writes an entry as an event of its author. If the relay does not
// take it now it is kept, and the outbox delivers it later.
func (s *Service) sayShared(ctx context.Context, v *view, r EntryRequest) (Entry, error) {
	defer s.lock(v.Contract, v.caller.PubKey)()
	ev, said, err := s.entryEvent(ctx, v, r)
	if err != nil {
		return Entry{}, err
	}
	row := rowOf(ev, said)
	if said.EntryID != "" {
		taken, err := s.store.EntryTaken(ctx, v.Contract, ev.PubKey, said.To, said.EntryID, row.ID)
		if err != nil {
			return Entry{}, err
		}
		if taken {
			return Entry{}, Refuse(Conflict, "the thread has an entry with this id")
		}
	}
	if err := s.hand(ctx, v, ev, &row); err != nil {
		return Entry{}, err
	}
	if _, err := s.store.PlaceEntry(ctx, v.Contract, &row); err != nil {
		return Entry{}, err
	}
	if err := s.unlock(ctx, v, []store.ThreadEntry{row}); err != nil {
		return Entry{}, err
	}
	return s.entry(ctx, v, &row, s.names())
}

// entryEvent returns the event of an entry, the one received or one signed
// here, and its text.
func (s *Service) entryEvent(ctx context.Context, v *view, r EntryRequest) (*nostr.Event, niptemp.EntryText, error) {
	c, none := v.caller, niptemp.EntryText{}
	if len(r.Event) > 0 || !c.Provisioned {
		ev, err := s.received(c, r.Event, niptemp.KindEntry)
		if err != nil {
			return nil, none, err
		}
		said, err := niptemp.ReadEntry(ev)
		if err != nil {
			return nil, none, eventFault(err)
		}
		// Before a worker was named, the poster's entries named the poster.
		to := v.other()
		if v.role == poster && said.To == v.Poster {
			to = v.Poster
		}
		if r.Encrypted && !said.Sealed {
			return nil, none, Wrong("encrypted", "the event is not encrypted")
		}
		if err := saysEntry(said, v.Contract, to, r, c); err != nil {
			return nil, none, err
		}
		if v.state().CheckEntry(ev) != nil {
			return nil, none, v.conflict("No such entry is taken any more, or not yet.")
		}
		return ev, said, nil
	}
	if err := v.writable(); err != nil {
		return nil, none, err
	}
	if r.EntryID != "" {
		return nil, none, Wrong("entry_id", "is the server's choice without an event")
	}
	name, err := s.newEntryID()
	if err != nil {
		return nil, none, err
	}
	template, err := entryEvent(v.Contract, name, c.Agent(), v.other(), r)
	if err != nil {
		return nil, none, err
	}
	if r.Encrypted {
		if err := s.sealFor(ctx, v, &template); err != nil {
			return nil, none, err
		}
	}
	ev, err := s.signed(ctx, c.PubKey, 0, template)
	if err != nil {
		return nil, none, err
	}
	said, err := niptemp.ReadEntry(ev)
	return ev, said, err
}

// hand gives an entry's event to the relay, or to the outbox if the relay does
// not take it now or has not yet taken earlier entries of the author.
func (s *Service) hand(ctx context.Context, v *view, ev *nostr.Event, row *store.ThreadEntry) error {
	waits := false
	var err error
	if s.outbox != nil {
		if waits, err = s.outbox.Waits(ctx, v.Contract, ev.PubKey); err != nil {
			return err
		}
	}
	refused := Refuse(Unavailable, "the relay could not take the event")
	if !waits {
		answer := s.submit(ctx, ev)
		if _, err = s.store.PlaceEntry(ctx, v.Contract, row); err != nil {
			return err
		}
		if row.Published {
			s.publish(ctx, ev, answer)
			return nil
		}
		refused = refusal(answer)
		if err := s.stillWritable(ctx, v, ev); err != nil {
			return err
		}
		if refused.Code == Invalid || answer.Why.Is(store.WhyDeleted) || answer.Why.Is(store.WhyBanned) {
			return refused
		}
	}
	if s.outbox == nil {
		return refused
	}
	if err := s.store.Tell(ctx, store.AddWaitingEntry{Contract: v.Contract, Entry: *row}); err != nil {
		return err
	}
	return s.outbox.Publish(ctx, ev, true)
}

// stillWritable returns an error if the contract was closed meanwhile, and nil
// if the relay refused the entry for another reason.
func (s *Service) stillWritable(ctx context.Context, v *view, ev *nostr.Event) error {
	now, err := s.store.ContractBetween(ctx, v.Contract, v.Poster, v.Worker)
	if err != nil || now == nil {
		return err
	}
	v.ContractPair = now
	if v.state().CheckEntry(ev) != nil {
		return v.conflict("No entries are taken any more.")
	}
	return nil
}

// publish queues an event that the relay has for the further relays: an event
// stored now is queued already, one stored before may have come another way.
// Failure to queue does not fail the request.
func (pb *publisher) publish(ctx context.Context, ev *nostr.Event, answer relay.Answer) {
	if pb.outbox == nil {
		return
	}
	if answer.Outcome != store.Duplicate.String() {
		pb.outbox.Rouse()
		return
	}
	if err := pb.outbox.Publish(ctx, ev, false); err != nil {
		pb.log.Error("event not queued for further relays", "kind", ev.Kind, "err", err)
	}
}

// Resume gives the outbox the entries that wait for the relay and that it does
// not know of, as after a crash. Call it before the first request.
func (s *Service) Resume(ctx context.Context) error {
	if s.outbox == nil {
		return nil
	}
	return s.store.WaitingEntries(ctx, func(ev *nostr.Event) error { return s.outbox.Publish(ctx, ev, true) })
}

// Deliver hands the relay an event that waits in the outbox. A nil error means
// that the relay has it; final means that it will never take it.
func (s *Service) Deliver(ctx context.Context, ev *nostr.Event) (final bool, err error) {
	said, err := niptemp.ReadEntry(ev)
	if err != nil {
		return true, err
	}
	answer := s.submit(ctx, ev)
	row := rowOf(ev, said)
	_, err = s.store.PlaceEntry(ctx, said.Contract, &row)
	switch {
	case err != nil:
		return false, err
	case row.Published:
		return false, nil
	}
	refused := refusal(answer)
	return refused.Code == Invalid, refused
}

// rowOf returns an entry's event as a row of its thread.
func rowOf(ev *nostr.Event, said niptemp.EntryText) store.ThreadEntry {
	id, _ := hex.DecodeString(ev.ID) // it was verified
	row := store.ThreadEntry{
		Author: ev.PubKey, Other: said.To, CreatedAt: int64(ev.CreatedAt), ID: id, Form: store.EntryShared,
		Type: said.Type, Entry: said.EntryID, Data: wire.AppendEvent(nil, ev),
	}
	if said.Sealed {
		row.Form = store.EntrySealed
	}
	if !store.IsEntryID(row.Entry) {
		row.Entry = "mem_" + ev.ID[:12]
	}
	return row
}

func (pb *publisher) newEntryID() (string, error) {
	b, err := pb.random(6)
	return "mem_" + hex.EncodeToString(b), err
}

// sayPrivate keeps an entry for its author alone.
func (s *Service) sayPrivate(ctx context.Context, v *view, r EntryRequest) (Entry, error) {
	if (r.Visibility == PosterOnly) != (v.role == poster) {
		return Entry{}, Refuse(Forbidden, "poster_only entries are the poster's, worker_only ones the worker's")
	}
	if len(r.Event) > 0 && string(r.Event) != "null" {
		return Entry{}, Wrong("event", "a private entry is no event")
	}
	if r.Encrypted {
		return Entry{}, Wrong("encrypted", "a private entry is for nobody else")
	}
	if v.talk() {
		return Entry{}, Refuse(Conflict, "No state of the contract is known: private entries need one.")
	}
	if err := v.writable(); err != nil {
		return Entry{}, err
	}
	if err := s.directory.sealer.Ready(); err != nil {
		return Entry{}, err
	}
	name := r.EntryID
	if name == "" {
		var err error
		if name, err = s.newEntryID(); err != nil {
			return Entry{}, err
		}
	}
	if !store.IsEntryID(name) {
		return Entry{}, Wrong("entry_id", "must be mem_ and 12 lower-case hex digits")
	}
	id, _ := hex.DecodeString(name[4:]) // IsEntryID
	row := store.ThreadEntry{
		Author: v.caller.PubKey, Other: v.other(), CreatedAt: s.publisher.clock().Unix(), ID: id, Form: store.EntryPrivate, Type: r.Type, Entry: name,
	}
	defer s.directory.sealer.Hold()()
	var err error
	if row.Data, err = s.seal(v.Contract, &row, r.Content, r.Attachments); err != nil {
		return Entry{}, err
	}
	err = s.store.Tell(ctx, store.AddPrivateEntry{Contract: v.Contract, Entry: row, Most: s.limits.Private})
	switch {
	case errors.Is(err, store.ErrContractMoved):
		if v, err = s.find(ctx, v.caller, v.Contract); err == nil {
			err = v.conflict("No entries are taken any more.")
		}
		return Entry{}, err
	case errors.Is(err, store.ErrEntryTaken):
		return Entry{}, Refuse(Conflict, "the thread has an entry with this id")
	case errors.Is(err, store.ErrEntriesFull):
		return Entry{}, Refuse(TooLarge, "there are %d private entries in this contract, which is the most", s.limits.Private)
	case err != nil:
		return Entry{}, fmt.Errorf("private entry: %w", err)
	}
	if _, err := s.store.PlaceEntry(ctx, v.Contract, &row); err != nil {
		return Entry{}, err
	}
	return s.entry(ctx, v, &row, s.names())
}
