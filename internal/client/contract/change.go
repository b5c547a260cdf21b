package contract

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip44"

	"engramd/internal/client"
	"engramd/nips/nipae"
	"engramd/nips/niptemp"
)

func identityPath(name string) string { return "/api/identities/" + url.PathEscape(name) }

func isNoAPI(err error) bool { return errors.Is(err, client.ErrNoAPI) }

// refusedEvent makes a relay's refusal for a contract's state a conflict:
// another move or the end of the contract came first.
func refusedEvent(err error, published []client.PublishStatus) error {
	if err == nil || errors.Is(err, client.ErrConflict) {
		return err
	}
	for _, p := range published {
		if refusal, ok := errors.AsType[*client.RefusalError](p.Err); ok && refusal.Prefix() == "blocked" {
			return &client.ConflictError{Reason: refusal.Message}
		}
	}
	return err
}

// Move moves a contract's state machine. with is as in Thread. event, if not
// nil, is a signed 30091 to be sent in place of one of our own signing. The
// arbitrator and the decider whom the parties agreed on sign their decision;
// the operator of the relay that is the decider signs no event: that needs the
// API.
//
// ErrConflict says that the contract is in a state from which that move does
// not lead, or that somebody else was faster; ErrAuth that it is not this key's
// move.
func (cs *Contracts) Move(ctx context.Context, id, with, to, note string, event *nostr.Event) (Contract, client.Status, error) {
	return cs.move(ctx, id, with, to, note, event, false)
}

// move is Move, or Decide for others than the parties.
func (cs *Contracts) move(ctx context.Context, id, with, to, note string, event *nostr.Event, others bool) (Contract, client.Status, error) {
	ctx, cancel := cs.c.Operation(ctx)
	defer cancel()
	if !validStatus(to) {
		return Contract{}, client.Status{}, fmt.Errorf("%w: status: %q is none of %v", client.ErrInvalid, client.Printable(to), niptemp.Statuses())
	}
	t, status, err := cs.thread(ctx, id, with)
	if err != nil {
		return Contract{}, status, err
	}
	c := t.Contract
	if others && c.party(cs.PubKey()) {
		return c, status, fmt.Errorf("%w: a party does not decide; contract move is its own word", client.ErrAuth)
	}
	accepts := c.Worker.PubKey == "" && to == string(niptemp.Accepted)
	ev := event
	switch {
	case ev != nil:
		err = cs.given(ev, kindState, id)
	case cs.c.HTTP().ByToken() && t.API: // the relay signs
	case cs.c.HTTP().ByToken():
		err = errTokenNeedsAPI
	case c.party(cs.PubKey()) || accepts:
		ev, err = cs.moving(t, to, note)
	case cs.PubKey() != "" && (cs.PubKey() == c.Agreed.Arbitrator || cs.PubKey() == c.Agreed.Decider):
		ev, err = deciding(cs, t, to, note)
	case !t.API:
		err = fmt.Errorf("%w: this key is no party of the contract, and only an API takes the word of others", client.ErrNoAPI)
	}
	if err != nil {
		return c, status, err
	}
	if !t.API {
		if err := allowed(t, ev); err != nil {
			return c, status, err
		}
		c.Status, c.UpdatedAt = to, int64(ev.CreatedAt)
		return c, status, cs.publish(ctx, ev, nil, &status)
	}
	request := map[string]any{"status": to}
	if note != "" {
		request["note"] = note
	}
	if ev != nil {
		request["event"] = raw(ev)
	}
	home := relayAt(c.Home)
	moved, err := cs.postContract(ctx, home, contractPath(id, "transitions"), request, &status)
	if err != nil || ev == nil {
		return moved, status, err
	}
	return moved, status, cs.publish(ctx, ev, &home, &status)
}

// Decide ends a dispute of others, as Move does for its arbitrator, its decider
// or the operator of a relay. A party is ErrAuth: it moves the contract by its
// own word.
func (cs *Contracts) Decide(ctx context.Context, id, with, to, note string, event *nostr.Event) (Contract, client.Status, error) {
	return cs.move(ctx, id, with, to, note, event, true)
}

func relayAt(at string) client.Target { return client.TargetsOf([]string{at})[0] }

// moving signs the 30091 that moves a contract on.
func (cs *Contracts) moving(t Thread, to, note string) (*nostr.Event, error) {
	c := t.Contract
	// It is later than our last and, where the other's clock is ahead, not much
	// earlier than what it follows.
	at, err := cs.c.After(max(t.last[kindState], c.UpdatedAt-aheadToFollow-1))
	if err != nil {
		return nil, err
	}
	body := stateBody{ContractID: c.ID, Status: to, PreviousStatus: c.Status, PosterAgentID: c.agentID(c.Poster.PubKey), WorkerAgentID: c.agentID(c.Worker.PubKey),
		AmountSats: c.AmountSats, Description: c.Description, Deadline: rfc3339(c.Deadline), Note: note, TransitionAt: rfc3339(at)}
	if c.Worker.PubKey == "" && cs.PubKey() != c.Poster.PubKey {
		body.WorkerAgentID = cs.PubKey() // whoever accepts becomes the worker
	}
	tags := slices.Clone(t.salt)
	if to == string(niptemp.Accepted) && cs.PubKey() != c.Poster.PubKey {
		// Who accepts agrees to what the offer says of who decides.
		tags = append(tags, c.Offered.Without(c.Poster.PubKey, cs.PubKey()).Tags()...)
	}
	return cs.state(body, c.other(cs.PubKey()), at, tags...)
}

// allowed judges a move by the state events that were seen, as a relay does.
func allowed(t Thread, ev *nostr.Event) error {
	c := t.Contract
	if c.Stateless {
		return nil
	}
	state := &niptemp.State{Contract: c.ID, Poster: c.Poster.PubKey, Worker: c.Worker.PubKey, Status: niptemp.Status(c.Status), CreatedAt: c.UpdatedAt}
	if _, decision, err := decide(state, ev, c.Offered, c.Agreed); decision {
		if err != nil {
			return &client.ConflictError{Reason: fmt.Sprintf("the contract is %s: %v", c.Status, err)}
		}
		return nil
	}
	if _, err := niptemp.Next(state, ev); err != nil {
		theirs := *ev
		if theirs.PubKey = ev.Tags.Find("p").Value(); theirs.PubKey != ev.PubKey {
			theirs.Tags = nostr.Tags{{"d", c.ID}, {"p", ev.PubKey}}
			if _, others := niptemp.Next(state, &theirs); others == nil {
				return fmt.Errorf("%w: the contract is %s: %w", client.ErrAuth, c.Status, err)
			}
		}
		return &client.ConflictError{Reason: fmt.Sprintf("the contract is %s: %v", c.Status, err)}
	}
	return nil
}

// Saying is an entry to be written.
type Saying struct {
	Type        string // message, revision, deliverable, note, attachment
	Visibility  string // shared (also ""), private, poster_only, worker_only
	Content     string
	Attachments []string // absolute http(s) URLs
	// Sealed encrypts a shared entry between the parties (NIP-44): relays keep it
	// and cannot read it. It is sent as an event.
	Sealed bool
	// Event is a signed 30090 to be sent in place of one of our own signing; the
	// other fields are taken from it.
	Event *nostr.Event
}

// Say writes an entry. with is as in Thread. Private entries are never signed
// and need the API (ErrNoAPI). ErrConflict says that the contract takes none
// any more, or not yet from this key.
func (cs *Contracts) Say(ctx context.Context, id, with string, s Saying) (Entry, client.Status, error) {
	ctx, cancel := cs.c.Operation(ctx)
	defer cancel()
	if err := s.check(); err != nil {
		return Entry{}, client.Status{}, err
	}
	t, status, err := cs.thread(ctx, id, with)
	if err != nil {
		return Entry{}, status, err
	}
	if s.Visibility, err = visibility(cs, t.Contract, s.Visibility); err != nil {
		return Entry{}, status, err
	}
	if s.Visibility != VisibilityShared {
		if !t.API && status.Partial {
			return Entry{}, status, client.Failures(client.ErrPartial, status.Relays)
		}
		if !t.API {
			return Entry{}, status, fmt.Errorf("%w: private entries are in it and nowhere else", client.ErrNoAPI)
		}
		e, err := cs.postEntry(ctx, t, s, nil, &status)
		return e, status, err
	}
	if cs.c.HTTP().ByToken() && s.Event == nil {
		e, err := sayByToken(ctx, cs, t, s, &status)
		return e, status, err
	}
	ev := s.Event
	switch {
	case ev != nil:
		err = cs.given(ev, kindEntry, id)
	case !t.Contract.party(cs.PubKey()):
		err = fmt.Errorf("%w: this key is no party of the contract: its poster and its worker write", client.ErrAuth)
	case niptemp.Status(t.Contract.Status).Final():
		// A relay would take it for one that comes late, if it is of the same second.
		err = &client.ConflictError{Reason: "the contract is " + t.Contract.Status + ": no entries are taken any more"}
	default:
		ev, err = cs.entry(t, s)
	}
	if err != nil {
		return Entry{}, status, err
	}
	e, ok := entryOfEvent(cs.c, ev)
	if !ok {
		return e, status, fmt.Errorf("%w: event: it is no entry", client.ErrInvalid)
	}
	e.Author = named(t.Contract, e.Author)
	if !t.API {
		return e, status, cs.publish(ctx, ev, nil, &status)
	}
	s.Type, s.Content, s.Attachments = e.Type, e.Content, e.Attachments
	if e.Sealed {
		s.Content, s.Attachments = ev.Content, nil
	}
	if e, err = cs.postEntry(ctx, t, s, ev, &status); err != nil {
		return e, status, err
	}
	home := relayAt(t.Contract.Home)
	return e, status, cs.publish(ctx, ev, &home, &status)
}

func (s Saying) check() error {
	switch {
	case s.Event != nil:
		return nil
	case !slices.Contains(niptemp.EntryTypes(), s.Type):
		return fmt.Errorf("%w: type: %q is none of %s", client.ErrInvalid, client.Printable(s.Type), strings.Join(niptemp.EntryTypes(), ", "))
	case s.Content == "":
		return client.ErrEmpty
	case s.Sealed && s.Visibility != "" && s.Visibility != VisibilityShared:
		return fmt.Errorf("%w: only shared entries are encrypted between the parties", client.ErrInvalid)
	}
	return nil
}

// visibility returns what is meant by a word, for this key.
func visibility(cs *Contracts, c Contract, word string) (string, error) {
	role := c.Role(cs.PubKey())
	switch word {
	case "", VisibilityShared:
		return VisibilityShared, nil
	case VisibilityPoster, VisibilityWorker:
		return word, nil
	case VisibilityPrivate:
		if role == "poster" || role == "worker" {
			return role + "_only", nil
		}
		return "", fmt.Errorf("%w: this key is no party of the contract, and has no private entries", client.ErrAuth)
	}
	return "", fmt.Errorf("%w: visibility: %q is none of shared, private, poster_only, worker_only", client.ErrInvalid, client.Printable(word))
}

// entry signs the 30090 of a shared entry, dated now: what the second has
// besides stands in the thread all the same.
func (cs *Contracts) entry(t Thread, s Saying) (*nostr.Event, error) {
	c, me := t.Contract, cs.PubKey()
	// The name that the API knows this key by, else the key: the other party's name
	// for it is not used.
	label := me
	if t.API {
		label = c.agentID(me)
	}
	nonce, err := cs.c.Options().Random(6)
	if err != nil {
		return nil, err
	}
	id := "mem_" + hex.EncodeToString(nonce)
	body := entryBody{Type: s.Type, Content: s.Content, Visibility: VisibilityShared, ContractID: c.ID, EntryID: id, AuthorAgentID: label, Attachments: s.Attachments}
	text, err := content(body)
	if err != nil {
		return nil, err
	}
	ev := &nostr.Event{Kind: kindEntry, CreatedAt: nostr.Timestamp(cs.c.Now()), Content: text,
		Tags: nostr.Tags{{"d", c.ID}, {"t", s.Type}, {"p", c.other(me)}, {"agentry:contract", c.ID}, {"agentry:entry", id}, {"agentry:author", label}}}
	ev.Tags = append(ev.Tags, t.salt...)
	if s.Sealed {
		if err := seal(cs, ev, c.other(me)); err != nil {
			return nil, err
		}
	}
	if err := cs.c.Identity().Sign(ev); err != nil {
		return nil, err
	}
	if err := niptemp.CheckEntry(ev); err != nil {
		return nil, fmt.Errorf("%w: %w", client.ErrInvalid, err)
	}
	return ev, nil
}

// seal encrypts the content of an entry between us and another, and commits to
// its message keys.
func seal(cs *Contracts, ev *nostr.Event, other string) error {
	nonce, err := cs.c.Options().Random(32)
	if err != nil {
		return err
	}
	key, err := conversation(cs.c, other)
	if err != nil {
		return fmt.Errorf("%w: the counterparty's key is none", client.ErrInvalid)
	}
	if ev.Content, err = nip44.Encrypt(ev.Content, key, nip44.WithCustomNonce(nonce)); err != nil {
		return client.ErrTooLarge
	}
	tag, err := nipae.Commit(key, nonce)
	ev.Tags = append(ev.Tags, tag)
	return err
}

// postEntry sends an entry to the API of the contract's relay.
func (cs *Contracts) postEntry(ctx context.Context, t Thread, s Saying, ev *nostr.Event, status *client.Status) (Entry, error) {
	request := map[string]any{"type": s.Type, "visibility": s.Visibility, "content": s.Content}
	if len(s.Attachments) > 0 {
		request["attachments"] = s.Attachments
	}
	if ev != nil {
		request["event"] = raw(ev)
	}
	home := relayAt(t.Contract.Home)
	var w wireEntry
	call := client.Call{Method: http.MethodPost, Path: contractPath(t.Contract.ID, "memory"), Query: byPoster(cs.poster), Body: request}
	if err := post(ctx, cs, home, call, &w, status); err != nil {
		return Entry{}, err
	}
	e := w.entry()
	e.Author = named(t.Contract, e.Author)
	if ev != nil {
		if signed, ok := entryOfEvent(cs.c, ev); ok {
			signed.Author, signed.ArrivedAt, signed.N = named(t.Contract, signed.Author), e.ArrivedAt, e.N
			return signed, nil
		}
	}
	return e, nil
}
