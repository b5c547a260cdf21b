package contract

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/protocol/wire"
	"engramd/nips/niptemp"
)

// Offer is a contract to be made. The caller is its poster.
type Offer struct {
	Worker string // pubkey in hex, or an agent id that the API knows; "" for whoever accepts
	// Who decides, as the signed open says it: pubkeys in hex, or agent ids that
	// the API knows. Decider and Expirer may be Relay.
	Arbitrator, Decider, Expirer string
	Description                  string
	AmountSats                   int64
	Deadline                     int64 // Unix seconds; 0 for none
	// Event is a signed open to be sent in place of one of our own signing.
	Event *nostr.Event
}

// New makes a contract. Errors are ErrInvalid, ErrNoAPI where the offer needs
// the API, and those of Client.Publish.
func (cs *Contracts) New(ctx context.Context, o Offer) (Contract, client.Status, error) {
	ctx, cancel := cs.c.Operation(ctx)
	defer cancel()
	if o.Description == "" || o.AmountSats < 0 {
		return Contract{}, client.Status{}, fmt.Errorf("%w: description must not be empty, amount_sats not negative", client.ErrInvalid)
	}
	if s, err := known(ctx, cs); err != nil {
		return Contract{}, s, err
	}
	home, status, err := cs.home(ctx)
	if err != nil {
		return Contract{}, status, err
	}
	if cs.c.HTTP().ByToken() {
		made, err := newByToken(ctx, cs, home, o, &status)
		return made, status, err
	}
	name := !nostr.IsValid32ByteHex(o.Worker) && o.Worker != ""
	if home == nil && o.needsAPI() {
		if status.Partial {
			return Contract{}, status, client.Failures(client.ErrPartial, status.Relays)
		}
		return Contract{}, status, fmt.Errorf("%w: names of agents, and the relay's own, need it", client.ErrNoAPI)
	}
	worker := o.Worker
	if name {
		if worker, err = resolve(ctx, cs, *home, o.Worker); err != nil {
			return Contract{}, status, err
		}
	}
	ev := o.Event
	if ev == nil {
		terms, err := terms(ctx, cs, o, home)
		if err != nil {
			return Contract{}, status, err
		}
		if terms.Order == worker || terms.Order == cs.PubKey() {
			terms.Order = "" // a party's word on the order is no relay's
		}
		if ev, err = cs.open(o, worker, terms); err != nil {
			return Contract{}, status, err
		}
	} else if err := cs.given(ev, kindState, ""); err != nil {
		return Contract{}, status, err
	}
	said, err := niptemp.TermsOf(ev)
	if err != nil {
		return Contract{}, status, fmt.Errorf("%w: event: %w", client.ErrInvalid, err)
	}
	c := Contract{ID: ev.Tags.GetD(), Offered: said, Deadline: said.Deadline, Status: string(niptemp.Open), Poster: Party{PubKey: ev.PubKey}, Worker: Party{PubKey: worker},
		AmountSats: o.AmountSats, Description: o.Description, CreatedAt: int64(ev.CreatedAt), UpdatedAt: int64(ev.CreatedAt)}
	if home == nil {
		return c, status, cs.publish(ctx, ev, nil, &status)
	}
	request := o.request()
	request["event"] = raw(ev)
	made, err := cs.postContract(ctx, *home, contractsPath, request, &status)
	if err != nil {
		return c, status, err
	}
	return made, status, cs.publish(ctx, ev, home, &status)
}

// request returns what the API is told of an offer.
func (o Offer) request() map[string]any {
	request := map[string]any{"description": o.Description, "amount_sats": o.AmountSats}
	if o.Worker != "" {
		request["worker_agent_id"] = o.Worker
	}
	if o.Arbitrator != "" {
		request["arbitrator_agent_id"] = o.Arbitrator
	}
	if o.Deadline != 0 {
		request["deadline"] = rfc3339(o.Deadline)
	}
	return request
}

// open returns the signed 30091 of a new contract.
func (cs *Contracts) open(o Offer, worker string, terms niptemp.Terms) (*nostr.Event, error) {
	salt, err := cs.c.Options().Random(niptemp.SaltSize)
	if err != nil {
		return nil, err
	}
	id, err := niptemp.NewID(cs.PubKey(), salt)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", client.ErrInvalid, err)
	}
	now := cs.c.Now()
	body := stateBody{ContractID: id, Status: string(niptemp.Open), PosterAgentID: cs.PubKey(), WorkerAgentID: worker,
		AmountSats: o.AmountSats, Description: o.Description, Deadline: rfc3339(o.Deadline), TransitionAt: rfc3339(now)}
	return cs.state(body, cmp.Or(worker, cs.PubKey()), now, append(terms.Tags(), niptemp.SaltTag(salt))...)
}

// state signs a 30091, with further tags.
func (cs *Contracts) state(body stateBody, to string, at int64, more ...nostr.Tag) (*nostr.Event, error) {
	text, err := content(body)
	if err != nil {
		return nil, err
	}
	ev := &nostr.Event{Kind: kindState, CreatedAt: nostr.Timestamp(at), Content: text, Tags: append(nostr.Tags{{"d", body.ContractID}, {"p", to}}, more...)}
	if err := cs.c.Identity().Sign(ev); err != nil {
		return nil, err
	}
	if err := niptemp.CheckStateShape(ev); err != nil {
		return nil, fmt.Errorf("%w: %w", client.ErrInvalid, err)
	}
	return ev, nil
}

// home returns the first relay that has the API, nil if none has. It is
// ErrNoRelay if no relay answers.
func (cs *Contracts) home(ctx context.Context) (*client.Target, client.Status, error) {
	asking, cancel := client.Part(ctx, 0.4)
	defer cancel()
	targets := cs.c.WriteTargets()
	all := client.Each(asking, targets,
		func(ctx context.Context, t client.Target) client.RelayStatus {
			err := probe(ctx, cs.c, t)
			return client.RelayStatus{URL: t.URL, Err: err, Complete: err == nil}
		},
		func(t client.Target, err error) client.RelayStatus { return client.RelayStatus{URL: t.URL, Err: err} })
	status := client.Status{}
	i := slices.IndexFunc(all, func(s client.RelayStatus) bool { return s.Err == nil })
	for _, s := range all {
		if isNoAPI(s.Err) {
			s.Err, s.Complete = nil, true
		}
		status.Relays = append(status.Relays, s)
	}
	status.Partial = client.Partial(status.Relays)
	switch {
	case i >= 0:
		return &targets[i], status, nil
	case client.Answered(status.Relays) == 0: // or none is configured
		return nil, status, client.NoRelay(status.Relays)
	}
	return nil, status, nil
}

// resolve asks an API for the key of an agent's name.
func resolve(ctx context.Context, cs *Contracts, t client.Target, name string) (string, error) {
	var identity struct {
		PubKey string `json:"pubkey"`
		Npub   string `json:"npub"`
	}
	if err := cs.c.HTTP().API(ctx, t, client.Call{Path: identityPath(name)}, &identity); err != nil {
		return "", fmt.Errorf("agent %q: %w", client.Printable(name), err)
	}
	key := cmp.Or(PubKeyOf(identity.PubKey), PubKeyOf(identity.Npub))
	if key == "" {
		return "", fmt.Errorf("%w: what it calls an identity is none", client.ErrMisbehaved)
	}
	return key, nil
}

// postContract sends a change of a contract to its API.
func (cs *Contracts) postContract(ctx context.Context, t client.Target, path string, request map[string]any, status *client.Status) (Contract, error) {
	var w wireContract
	if err := post(ctx, cs, t, client.Call{Method: http.MethodPost, Path: path, Query: byPoster(cs.poster), Body: request}, &w, status); err != nil {
		return Contract{}, err
	}
	return w.contract(t.URL)
}

// post makes a call to the API of a relay that changes something.
func post(ctx context.Context, cs *Contracts, t client.Target, call client.Call, out any, status *client.Status) error {
	err := cs.c.HTTP().API(ctx, t, call, out)
	status.Published = append(status.Published, client.PublishStatus{URL: t.URL, Accepted: err == nil, Err: err, Message: "contract API"})
	if err != nil {
		return fmt.Errorf("%s: %w", client.Printable(t.URL), err)
	}
	return nil
}

// publish sends what was signed to all relays but the one that took it over its
// API. If one did, that others do not is no error; Status says which.
func (cs *Contracts) publish(ctx context.Context, ev *nostr.Event, home *client.Target, status *client.Status) error {
	targets := cs.c.WriteTargets()
	if home != nil {
		targets = slices.DeleteFunc(targets, func(t client.Target) bool { return t.Canonical == home.Canonical })
		if len(targets) == 0 {
			return nil
		}
	}
	published, err := cs.c.PublishThose(ctx, targets, ev, client.TimedOut(status.Relays))
	status.Sent(published)
	if home != nil {
		return nil
	}
	return refusedEvent(err, published)
}

// given checks an event that somebody else's program signed with our key.
func (cs *Contracts) given(ev *nostr.Event, kind int, id string) error {
	if err := wire.Verify(ev); err != nil {
		return fmt.Errorf("%w: event: %w", client.ErrInvalid, err)
	}
	switch {
	case ev.Kind != kind:
		return fmt.Errorf("%w: event: its kind is %d, not %d", client.ErrInvalid, ev.Kind, kind)
	case ev.PubKey != cs.PubKey():
		return fmt.Errorf("%w: event: another key signed it", client.ErrInvalid)
	case id != "" && ev.Tags.GetD() != id:
		return fmt.Errorf("%w: event: it is of another contract", client.ErrInvalid)
	}
	check := niptemp.CheckEntry
	if kind == kindState {
		check = niptemp.CheckStateShape
	}
	if err := check(ev); err != nil {
		return fmt.Errorf("%w: event: %w", client.ErrInvalid, err)
	}
	return nil
}

// seconds that a state may be older than the one it follows (NIP-TEMP).
const aheadToFollow = 60

func raw(ev *nostr.Event) json.RawMessage { return wire.AppendEvent(nil, ev) }
