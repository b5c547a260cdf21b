package contracts

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay"
	"engramd/internal/relay/store"
	"engramd/nips/nip01"
	"engramd/nips/niptemp"
)

// maxAhead is how far the time of entries that the server signs may run ahead
// of the clock, as it does for an author of more than one a second; for states
// it is maxStateAhead.
const (
	maxAhead      = 10 * time.Minute
	maxStateAhead = time.Minute
)

// publisher signs events and hands them to the relay.
type publisher struct {
	store  Store
	signer Signer
	relay  relay.Submitter
	outbox Outbox
	event  atomic.Int64 // Limits.Event
	clock  func() time.Time
	rand   io.Reader
	log    *slog.Logger
}

// SetEventLimit changes Limits.Event.
func (pb *publisher) SetEventLimit(bytes int) { pb.event.Store(int64(bytes)) }

// received reads the signed event of a caller who holds their own key.
func (pb *publisher) received(c Caller, raw json.RawMessage, kind int) (*nostr.Event, error) {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || string(raw) == "null" {
		return nil, Wrong("event", "the signed event of kind %d is missing: the server does not hold your key", kind)
	}
	ev, err := wire.ParseEvent(raw)
	switch {
	case err != nil:
		return nil, Wrong("event", "%v", err)
	case ev.Kind != kind:
		return nil, Wrong("event", "its kind must be %d", kind)
	case ev.PubKey != c.PubKey:
		return nil, Wrong("event", "it is not by the caller's key")
	}
	if err := wire.Verify(ev); err != nil {
		return nil, Wrong("event", "its id or signature is wrong")
	}
	return ev, pb.fits(ev)
}

// envelope is the number of bytes that a message has around an event:
// ["EVENT",…].
const envelope = 10

// fits refuses an event that would not come in over the websocket: readers and
// further relays would not take it either.
func (pb *publisher) fits(ev *nostr.Event) error {
	most := int(pb.event.Load()) - envelope
	if len(wire.AppendEvent(nil, ev)) > most {
		return Refuse(TooLarge, "the event has more than %d bytes, the signature and what JSON escapes counted", most)
	}
	return nil
}

// signed signs an event for an identity whose key the server holds, dated later
// than a time in Unix seconds.
func (pb *publisher) signed(ctx context.Context, pubkey string, after int64, ev nostr.Event) (*nostr.Event, error) {
	now := pb.clock().Unix()
	at := max(now, after+1)
	ahead := maxAhead
	if ev.Kind == niptemp.KindState {
		ahead = maxStateAhead
	}
	if at > now+int64(ahead/time.Second) {
		return nil, Refuse(RateLimited, "too many events in a short time; wait a little")
	}
	ev.PubKey, ev.CreatedAt = pubkey, nostr.Timestamp(at)
	if err := pb.salted(ctx, &ev); err != nil {
		return nil, err
	}
	if err := pb.signer.Sign(ctx, &ev); err != nil {
		return nil, err
	}
	if ev.ID != wire.ID(&ev) {
		return nil, errors.New("the signer changed the event")
	}
	return &ev, pb.fits(&ev)
}

// submit hands an event to the relay in its author's name, which the caller, or
// the server's own signature, has proved. An event that the relay stores is
// queued for the further relays in the same commit, so that no crash comes
// between the two.
func (pb *publisher) submit(ctx context.Context, ev *nostr.Event) relay.Answer {
	sub := relay.Submission{Event: ev}
	if pb.outbox != nil {
		sub.Forward = pb.outbox.Targets()
	}
	return pb.relay.Submit(relay.AsAuthor(ctx, ev), sub)
}

// refusal returns the relay's refusal of an event as an Error.
func refusal(a relay.Answer) *Error {
	if a.Why != nil {
		switch text := a.Why.Text; a.Why.Prefix {
		case nip01.PrefixInvalid:
			return Wrong("event", "%s", text)
		case nip01.PrefixRateLimited:
			return Refuse(RateLimited, "%s", text)
		case nip01.PrefixRestricted, nip01.PrefixAuthRequired:
			return Refuse(Forbidden, "the relay refuses the event: %s", text)
		case nip01.PrefixBlocked:
			return Refuse(Conflict, "the relay refuses the event: %s", text)
		}
	}
	return Refuse(Unavailable, "the relay could not take the event")
}

// stateContent is the content of a kind-30091 event.
type stateContent struct {
	ContractID     string         `json:"contract_id"`
	Status         niptemp.Status `json:"status"`
	PreviousStatus niptemp.Status `json:"previous_status,omitempty"`
	PosterAgentID  string         `json:"poster_agent_id"`
	WorkerAgentID  *string        `json:"worker_agent_id"`
	AmountSats     int64          `json:"amount_sats"`
	Description    string         `json:"description"`
	TransitionAt   string         `json:"transition_at"`
	Note           string         `json:"note,omitempty"`
}

// stateEvent returns a state without author, time and signature.
func (pb *publisher) stateEvent(c stateContent, to ...string) (nostr.Event, error) {
	c.TransitionAt = pb.clock().UTC().Format(time.RFC3339)
	content, err := json.Marshal(c)
	if err != nil {
		return nostr.Event{}, fmt.Errorf("contract state: %w", err)
	}
	tags := nostr.Tags{{"d", c.ContractID}}
	for _, key := range to {
		tags = append(tags, nostr.Tag{"p", key})
	}
	return nostr.Event{Kind: niptemp.KindState, Content: string(content), Tags: tags}, nil
}

// entryContent is the content of a kind-30090 event, as NIP-TEMP prints it.
type entryContent struct {
	Type        string   `json:"type"`
	Content     string   `json:"content"`
	Attachments []string `json:"attachments,omitempty"`
	ContractID  string   `json:"contract_id,omitempty"` // of a sealed one, with EntryID
	EntryID     string   `json:"entry_id,omitempty"`
}

// entryEvent returns a shared entry without author, time and signature. What
// will be sealed names its contract and its entry.
func entryEvent(contract, entryID, agentID, to string, r EntryRequest) (nostr.Event, error) {
	said := entryContent{Type: r.Type, Content: r.Content, Attachments: r.Attachments}
	if r.Encrypted {
		said.ContractID, said.EntryID = contract, entryID
	}
	content, err := json.Marshal(said)
	if err != nil {
		return nostr.Event{}, fmt.Errorf("contract entry: %w", err)
	}
	tags := nostr.Tags{
		{"d", contract}, {"t", r.Type}, {"p", to},
		{"agentry:contract", contract}, {"agentry:entry", entryID}, {"agentry:author", agentID},
	}
	return nostr.Event{Kind: niptemp.KindEntry, Content: string(content), Tags: tags}, nil
}

// says checks that a signed state says what a request says.
func (c Caller) says(t niptemp.StateText, contract, to string, status, previous niptemp.Status, note string) error {
	switch {
	case t.Contract != contract:
		return Wrong("event", "its d tag is not the contract's id")
	case t.To != to:
		return Wrong("event", "its p tag is not the counterparty's key")
	case t.Status != status:
		return Wrong("event", "its status is not that of the request")
	case t.Previous != previous && (t.Previous != "" || status != niptemp.Open):
		return Wrong("event", "its previous_status is not the contract's status")
	case note != "" && t.Note != note:
		return Wrong("event", "its note is not that of the request")
	}
	return nil
}

// saysEntry checks that a signed entry says what a request says. A sealed one
// says it where only the parties can read: the request's content is the payload.
func saysEntry(e niptemp.EntryText, contract, to string, r EntryRequest, c Caller) error {
	switch {
	case e.Contract != contract:
		return Wrong("event", "its d tag is not the contract's id")
	case e.To != to:
		return Wrong("event", "its p tag is not the counterparty's key")
	case e.Type != r.Type:
		return Wrong("event", "its t tag is not the type of the request")
	case e.Content != r.Content:
		return Wrong("event", "its content is not that of the request")
	case !e.Sealed && !slices.Equal(e.Attachments, r.Attachments):
		return Wrong("event", "its attachments are not those of the request")
	case e.AuthorAgentID != "" && e.AuthorAgentID != c.Agent() && e.AuthorAgentID != c.PubKey:
		return Wrong("event", "its author is not the caller's agent id")
	case r.EntryID != "" && r.EntryID != e.EntryID:
		return Wrong("entry_id", "it is not that of the event")
	case e.EntryID != "" && !store.IsEntryID(e.EntryID):
		return Wrong("event", "its entry id must be mem_ and 12 lower-case hex digits")
	}
	return nil
}

// random reads n random bytes.
func (pb *publisher) random(n int) ([]byte, error) {
	b := make([]byte, n)
	_, err := io.ReadFull(pb.rand, b)
	return b, err
}
