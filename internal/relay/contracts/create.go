package contracts

import (
	"bytes"
	"context"
	"errors"
	"strings"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store"
	"engramd/nips/nip01"
	"engramd/nips/niptemp"
)

// offer is a CreateRequest, checked.
type offer struct {
	CreateRequest
	worker, arbitrator string // pubkeys, "" for none
}

// Create offers a contract, of which the caller is the poster. Sending the same
// signed event again is no error.
func (s *Service) Create(ctx context.Context, c Caller, r CreateRequest) (Contract, error) {
	if c.PubKey == "" {
		return Contract{}, errNobody()
	}
	o, err := s.checkOffer(ctx, c, r)
	if err != nil {
		return Contract{}, err
	}
	ev, err := s.openEvent(ctx, c, o)
	if err != nil {
		return Contract{}, err
	}
	if err := c.spend(ctx); err != nil {
		return Contract{}, err
	}
	id := ev.Tags.GetD()
	defer s.lock(id)()
	before, err := s.store.ContractBetween(ctx, id, c.PubKey, o.worker)
	if err != nil {
		return Contract{}, err
	}
	if before != nil && before.EventID != ev.ID {
		return Contract{}, Refuse(Conflict, "Contract is in '%s' state. It exists already.", before.Status)
	}
	answer := s.submit(ctx, ev)
	p, err := s.store.ContractBetween(ctx, id, c.PubKey, o.worker)
	switch {
	case err != nil:
		return Contract{}, err
	case p == nil || p.EventID != ev.ID:
		return Contract{}, refusal(answer)
	}
	said, err := niptemp.TermsOf(ev)
	if err != nil {
		return Contract{}, eventFault(err)
	}
	terms := store.ContractTerms{Deadline: said.Deadline}
	if err := s.store.Tell(ctx, store.SetContractTerms{Contract: id, Poster: c.PubKey, Worker: o.worker, Terms: terms}); err != nil {
		return Contract{}, err
	}
	if p, err = s.store.ContractBetween(ctx, id, c.PubKey, o.worker); err != nil {
		return Contract{}, err
	}
	s.publish(ctx, ev, answer)
	s.awake()
	return s.contract(ctx, p, s.names())
}

// checkOffer checks what does not depend on the event.
func (s *Service) checkOffer(ctx context.Context, c Caller, r CreateRequest) (offer, error) {
	o := offer{CreateRequest: r}
	if err := c.claimed("poster_agent_id", r.PosterAgentID); err != nil {
		return o, err
	}
	switch {
	case strings.TrimSpace(r.Description) == "":
		return o, Wrong("description", "is missing")
	case len(r.Description) > s.limits.Content:
		return o, Refuse(TooLarge, "description has more than %d bytes", s.limits.Content)
	case r.AmountSats < 0:
		return o, Wrong("amount_sats", "must be 0 or more")
	case r.ContractID != "" && !isUUID(r.ContractID):
		return o, Wrong("contract_id", "must be a UUID version 4 in lower case")
	case r.Deadline != nil && !r.Deadline.After(s.publisher.clock()):
		return o, Wrong("deadline", "must be in the future")
	case r.Deadline != nil && r.Deadline.Year() > 9999:
		return o, Wrong("deadline", "is no time")
	case r.WorkerPubKey != "" && !nostr.IsValid32ByteHex(r.WorkerPubKey):
		return o, Wrong("worker_pubkey", "must be 64 lower-case hex digits")
	}
	var err error
	if o.worker, err = s.agent(ctx, "worker_agent_id", r.WorkerAgentID); err != nil {
		return o, err
	}
	if o.worker != "" && r.WorkerPubKey != "" && o.worker != r.WorkerPubKey {
		return o, Wrong("worker_pubkey", "is not the key of worker_agent_id")
	}
	if r.WorkerPubKey != "" {
		o.worker = r.WorkerPubKey
	}
	if o.arbitrator, err = s.agent(ctx, "arbitrator_agent_id", r.ArbitratorAgentID); err != nil {
		return o, err
	}
	switch {
	case o.worker == c.PubKey:
		return o, Wrong("worker_agent_id", "is the poster")
	case o.arbitrator != "" && (o.arbitrator == c.PubKey || o.arbitrator == o.worker):
		return o, Wrong("arbitrator_agent_id", "is a party")
	}
	return o, nil
}

// agent returns the pubkey of an agent that a request names, "" if it names
// none.
func (a *directory) agent(ctx context.Context, field, agentID string) (string, error) {
	if agentID == "" {
		return "", nil
	}
	key, err := a.pubkeyOf(ctx, agentID)
	if err == nil && key == "" {
		err = Wrong(field, "there is no such agent")
	}
	return key, err
}

// openEvent returns the kind-30091 open: the one received, or one signed here.
func (s *Service) openEvent(ctx context.Context, c Caller, o offer) (*nostr.Event, error) {
	to := o.worker
	if to == "" {
		to = c.PubKey
	}
	if len(o.Event) > 0 || !c.Provisioned {
		ev, err := s.received(c, o.Event, niptemp.KindState)
		if err != nil {
			return nil, err
		}
		t, err := niptemp.ReadState(ev)
		if err != nil {
			return nil, eventFault(err)
		}
		switch {
		case !isUUID(t.Contract):
			return nil, Wrong("event", "its d tag must be a UUID version 4 in lower case")
		case o.ContractID != "" && t.Contract != o.ContractID:
			return nil, Wrong("contract_id", "is not the d tag of the event")
		case t.Description != o.Description:
			return nil, Wrong("event", "its description is not that of the request")
		case t.AmountSats != o.AmountSats:
			return nil, Wrong("event", "its amount_sats is not that of the request")
		case o.arbitrator != "" && t.Terms.Arbitrator != o.arbitrator:
			return nil, Wrong("event", "its arbitrator tag is not that of the request")
		case o.Deadline != nil && t.Terms.Deadline != o.Deadline.Unix():
			return nil, Wrong("event", "its deadline tag is not that of the request, in Unix seconds")
		}
		return ev, c.says(t, t.Contract, to, niptemp.Open, "", "")
	}
	id := o.ContractID
	var salt []byte
	if id == "" {
		var err error
		if salt, err = s.random(niptemp.SaltSize); err != nil {
			return nil, err
		}
		if id, err = niptemp.NewID(c.PubKey, salt); err != nil {
			return nil, err
		}
	}
	content := stateContent{
		ContractID: id, Status: niptemp.Open, PosterAgentID: c.Agent(), AmountSats: o.AmountSats, Description: o.Description,
	}
	if o.WorkerAgentID != "" || o.worker != "" {
		known := s.names()
		content.WorkerAgentID = new(known.of(ctx, o.worker))
		if known.fail != nil {
			return nil, known.fail
		}
	}
	ev, err := s.stateEvent(content, to)
	if err != nil {
		return nil, err
	}
	if salt != nil {
		ev.Tags = append(ev.Tags, niptemp.SaltTag(salt))
	}
	ev.Tags = append(ev.Tags, s.offering(c, o).Tags()...)
	return s.signed(ctx, c.PubKey, 0, ev)
}

// offering returns the terms of an offer that is signed here: this relay ends a
// dispute that no arbitrator ends, and signs the order of arrival and that the
// deadline is over.
func (s *Service) offering(c Caller, o offer) niptemp.Terms {
	t := niptemp.Terms{Arbitrator: o.arbitrator, Deadline: deadlineOf(o.Deadline)}
	if s.mover.relayKeys != nil {
		t.Order = s.mover.relayKeys.PubKey()
		if t.Decider = t.Order; t.Deadline != 0 {
			t.Expirer = t.Decider
		}
	}
	return t.Without(c.PubKey, o.worker)
}

// eventFault returns an error of niptemp as an error of the field "event".
func eventFault(err error) error {
	var r *nip01.Refusal
	if errors.As(err, &r) {
		return Wrong("event", "%s", r.Text)
	}
	return err
}

// isUUID reports whether id is a UUID version 4 in lower case.
func isUUID(id string) bool {
	parts := strings.Split(id, "-")
	if len(parts) != 5 || len(id) != 36 {
		return false
	}
	for i, n := range [...]int{8, 4, 4, 4, 12} {
		if len(parts[i]) != n || strings.Trim(parts[i], "0123456789abcdef") != "" {
			return false
		}
	}
	return parts[2][0] == '4' && bytes.IndexByte([]byte("89ab"), parts[3][0]) >= 0
}
