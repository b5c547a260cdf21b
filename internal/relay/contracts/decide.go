package contracts

import (
	"context"
	"errors"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store"
	"engramd/nips/niptemp"
)

// decide resolves a dispute for a caller who is not a party: the arbitrator or
// the decider on whom the parties agreed, with their own signature, or with the
// relay's where the relay itself is the decider. A decision that nobody agreed
// to holds on this relay only and has no event. Nothing is ever signed with a
// party's key.
func (m *mover) decide(ctx context.Context, v *view, r MoveRequest) error {
	_, agreed, err := m.store.TermsOf(ctx, v.ContractPair)
	if err != nil {
		return err
	}
	ev, err := m.decision(ctx, v, agreed, r)
	if err != nil {
		return err
	}
	if err := v.caller.spend(ctx); err != nil {
		return err
	}
	var after *store.ContractPair
	if ev == nil {
		after, err = m.decideHere(ctx, v.ContractPair, store.ContractDecision{
			Was: v.Status, Status: string(r.Status), By: v.decidesAs(), Key: v.caller.PubKey, Note: r.Note, At: m.clock().Unix(),
		})
	} else {
		after, err = m.moveBy(ctx, v.ContractPair, ev)
	}
	if err != nil {
		return err
	}
	v.ContractPair = after
	if v.Status != string(r.Status) {
		return v.conflict("It was moved by another request.")
	}
	return nil
}

// decidesAs returns the role under which the caller's decision is recorded.
func (v *view) decidesAs() string {
	if v.role == arbitrator {
		return "arbitrator"
	}
	return "operator"
}

// decision returns the event of a decision: the one received, or one signed
// here; nil for a decision that holds on this relay only.
func (m *mover) decision(ctx context.Context, v *view, agreed niptemp.Terms, r MoveRequest) (*nostr.Event, error) {
	c := v.caller
	mine := c.PubKey != "" && (c.PubKey == agreed.Decider || c.PubKey == agreed.Arbitrator)
	switch {
	case mine && (len(r.Event) > 0 || !c.Provisioned):
		return m.receivedDecision(v, r)
	case len(r.Event) > 0:
		return nil, Wrong("event", "the parties did not agree that the caller's key decides")
	case mine:
		ev, err := m.decisionEvent(ctx, v.ContractPair, r.Status, r.Note)
		if err != nil {
			return nil, err
		}
		return m.pub.signed(ctx, c.PubKey, 0, ev)
	case v.role == arbitrator || agreed.Decider == "":
		return nil, nil // only this relay's API was told of the arbitrator, or the operator decides
	}
	ev, err := m.signedAs(ctx, agreed.Decider, 0, v.ContractPair, r.Status, r.Note)
	if errors.Is(err, errNotOurs) {
		return nil, Refuse(Forbidden, "the parties agreed that another key decides; a signed event of its, in event, does it")
	}
	return ev, err
}

// receivedDecision reads the signed event of an arbitrator or a decider who
// holds their own key.
func (m *mover) receivedDecision(v *view, r MoveRequest) (*nostr.Event, error) {
	ev, err := m.pub.received(v.caller, r.Event, niptemp.KindState)
	if err != nil {
		return nil, err
	}
	d, ok := niptemp.DecisionOf(ev)
	switch {
	case !ok:
		return nil, Wrong("event", "a decision has two p tags, the poster's key and the worker's, and goes from disputed to completed or cancelled")
	case d.Contract != v.Contract:
		return nil, Wrong("event", "its d tag is not the contract's id")
	case d.Poster != v.Poster || d.Worker != v.Worker:
		return nil, Wrong("event", "its p tags are not the poster's key and the worker's, in this order")
	case d.Status != r.Status:
		return nil, Wrong("event", "its status is not that of the request")
	}
	if r.Note != "" {
		if said, err := niptemp.ReadState(ev); err != nil || said.Note != r.Note {
			return nil, Wrong("event", "its note is not that of the request")
		}
	}
	return ev, nil
}

// errNotOurs says that the relay does not have the secret of a key.
var errNotOurs = errors.New("not a key of this relay")

// signedAs signs a decision with the relay's own key, dated at notBefore or
// later.
func (m *mover) signedAs(ctx context.Context, key string, notBefore int64, p *store.ContractPair, to niptemp.Status, note string) (*nostr.Event, error) {
	if m.relayKeys == nil || key == "" {
		return nil, errNotOurs
	}
	ev, err := m.decisionEvent(ctx, p, to, note)
	if err != nil {
		return nil, err
	}
	last, err := m.store.LastState(ctx, p.Contract, key)
	if err != nil {
		return nil, err
	}
	ev.PubKey, ev.CreatedAt = key, nostr.Timestamp(max(m.clock().Unix(), notBefore, last+1))
	if err := m.relayKeys.SignAs(key, &ev); err != nil {
		return nil, errors.Join(errNotOurs, err)
	}
	return &ev, m.pub.fits(&ev)
}

// decisionEvent returns a decision without author, time and signature. An offer
// that nobody has accepted has one p tag.
func (m *mover) decisionEvent(ctx context.Context, p *store.ContractPair, to niptemp.Status, note string) (nostr.Event, error) {
	content, err := m.content(ctx, p, p.Worker, to, note)
	if err != nil {
		return nostr.Event{}, err
	}
	if p.Worker != "" && p.Status != string(niptemp.Open) {
		return m.pub.stateEvent(content, p.Poster, p.Worker)
	}
	return m.pub.stateEvent(content, p.Poster)
}

// moveBy publishes a decision and returns the state after it, which is not the
// decision's if a party was faster.
func (m *mover) moveBy(ctx context.Context, p *store.ContractPair, ev *nostr.Event) (*store.ContractPair, error) {
	answer := m.pub.submit(ctx, ev)
	after, err := m.store.ContractBetween(ctx, p.Contract, p.Poster, p.Worker)
	if err != nil {
		return nil, err
	}
	switch {
	case after != nil && after.EventID == ev.ID:
		m.pub.publish(ctx, ev, answer)
	case after == nil || after.Status == p.Status:
		return nil, refusal(answer)
	}
	return after, nil
}

// decideHere makes a move that holds on this relay only. It returns the state
// after it, which is not the decision's if a party was faster.
func (m *mover) decideHere(ctx context.Context, p *store.ContractPair, d store.ContractDecision) (*store.ContractPair, error) {
	err := m.store.Tell(ctx, store.DecideContract{Contract: p.Contract, Poster: p.Poster, Worker: p.Worker, Decision: d})
	if err != nil && !errors.Is(err, store.ErrContractMoved) {
		return nil, err
	}
	return m.store.ContractBetween(ctx, p.Contract, p.Poster, p.Worker)
}

// expire moves a contract whose deadline has come and returns what became of
// it. Where this relay is the agreed expirer, or the one that an offer names,
// it signs the move; else the contract expires on this relay only.
func (m *mover) expire(ctx context.Context, p *store.ContractPair) (*store.ContractPair, error) {
	offered, agreed, err := m.store.TermsOf(ctx, p)
	if err != nil {
		return nil, err
	}
	if p.Status == string(niptemp.Open) {
		agreed = offered
	}
	if agreed.Expirer != "" && agreed.Deadline != 0 {
		ev, err := m.signedAs(ctx, agreed.Expirer, agreed.Deadline, p, niptemp.Expired, "")
		if err == nil {
			var after *store.ContractPair
			if after, err = m.moveBy(ctx, p, ev); err == nil {
				return after, nil
			}
		}
		if CodeOf(err) == 0 && !errors.Is(err, errNotOurs) {
			return nil, err
		}
		// The deadline is over, whether or not an event can say so.
	}
	return m.decideHere(ctx, p, store.ContractDecision{
		Was: p.Status, Status: string(niptemp.Expired), By: "deadline", At: p.Deadline,
	})
}

// shownTerms returns terms as the API shows them.
func shownTerms(t niptemp.Terms) Terms {
	text := func(key string) *string {
		if key == "" {
			return nil
		}
		return &key
	}
	return Terms{Arbitrator: text(t.Arbitrator), Decider: text(t.Decider), Expirer: text(t.Expirer), Order: text(t.Order), Deadline: unixOrNil(t.Deadline)}
}
