package contracts

import (
	"context"
	"hash/fnv"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/fairness"
	"engramd/internal/relay/store"
	"engramd/nips/niptemp"
)

// mover moves contracts: for their parties, for who decides a dispute, and when
// their deadline has come.
type mover struct {
	store     Store
	agents    *directory
	pub       *publisher
	relayKeys RelayKeys
	turns     *fairness.Turns // for parsing, which is work of a processor
	clock     func() time.Time
	confirmed func() bool // the clock may be gone by
	log       *slog.Logger

	// locks put the moves of one contract, and the events that the server signs
	// for one author in it, in an order, so that created_at rises.
	locks [256]sync.Mutex
	// wake tells Run of a new deadline.
	wake chan struct{}
}

// lock makes callers that give the same names wait for each other.
func (m *mover) lock(names ...string) (unlock func()) {
	h := fnv.New32a()
	for _, name := range names {
		_, _ = io.WriteString(h, name) // a hash never fails
	}
	one := &m.locks[h.Sum32()%uint32(len(m.locks))]
	one.Lock()
	return one.Unlock
}

// Move moves a contract to another state. Of several moves at the same time one
// wins, and the others are a Conflict.
func (s *Service) Move(ctx context.Context, c Caller, id string, r MoveRequest) (Contract, error) {
	if c.Nobody() {
		return Contract{}, errNobody()
	}
	defer s.lock(id)()
	v, err := s.find(ctx, c, id)
	if err != nil {
		return Contract{}, err
	}
	switch {
	case !r.Status.Valid() || r.Status == niptemp.Open:
		return Contract{}, Wrong("status", "must be accepted, submitted, disputed, completed or cancelled")
	case len(r.Note) > s.limits.Content:
		return Contract{}, Refuse(TooLarge, "note has more than %d bytes", s.limits.Content)
	}
	if v.talk() {
		return Contract{}, Refuse(Conflict, "No state of the contract is known: it begins with an open, which creates it.")
	}
	if s.isOver(v.ContractPair) { // else it would have expired by now
		return Contract{}, errUndecided()
	}
	byParty, err := s.mayMove(ctx, v, r.Status)
	if err != nil {
		return Contract{}, err
	}
	if byParty {
		err = s.moveByEvent(ctx, v, r)
	} else {
		err = s.decide(ctx, v, r)
	}
	if err != nil {
		return Contract{}, err
	}
	return s.contract(ctx, v.ContractPair, s.names())
}

// mayMove reports whether the caller may make a move, and whether they make it
// as a party, with an event of theirs; else they resolve a dispute.
func (m *mover) mayMove(ctx context.Context, v *view, to niptemp.Status) (byParty bool, err error) {
	from := v.status()
	byPoster, byWorker := niptemp.Movers(from, to)
	if v.role == stranger {
		if v.open() && to == niptemp.Accepted {
			return true, nil
		}
		if to == niptemp.Accepted {
			offer, err := m.store.ContractBetween(ctx, v.Contract, v.Poster, "")
			if err != nil {
				return false, err
			}
			if offer != nil {
				return false, v.conflict("Somebody else has accepted it.")
			}
		}
		return false, Refuse(Forbidden, "only the poster, the worker, a named arbitrator and the operator move this contract")
	}
	resolves := from == niptemp.Disputed && (to == niptemp.Completed || to == niptemp.Cancelled)
	switch {
	case !byPoster && !byWorker:
		return false, v.conflict("It does not go to '" + string(to) + "' from there.")
	case to == niptemp.Expired:
		return false, Refuse(Forbidden, "nobody moves a contract to expired: it expires at its deadline, by the word of its expirer")
	case v.role == poster && byPoster:
		// Without a worker an offer can be cancelled; every other move needs
		// one.
		return true, nil
	case v.role == worker && byWorker:
		return true, nil
	case resolves && (v.role == arbitrator || v.role == operator || v.role == decider):
		return false, nil
	}
	return false, Refuse(Forbidden, "only %s may move the contract from %s to %s", movers(byPoster, byWorker, resolves), from, to)
}

// movers returns the names of the roles that may make a move.
func movers(byPoster, byWorker, resolves bool) string {
	who := "the worker"
	switch {
	case byPoster && byWorker:
		who = "the poster or the worker"
	case byPoster:
		who = "the poster"
	}
	if resolves {
		who += ", a named arbitrator or the operator"
	}
	return who
}

// moveByEvent moves the contract by the kind-30091 of the caller, and leaves
// the new state in v.
func (m *mover) moveByEvent(ctx context.Context, v *view, r MoveRequest) error {
	ev, err := m.moveEvent(ctx, v, r)
	if err != nil {
		return err
	}
	if err := v.caller.spend(ctx); err != nil {
		return err
	}
	worker := v.Worker
	if worker == "" && v.caller.PubKey != v.Poster {
		worker = v.caller.PubKey
	}
	answer := m.pub.submit(ctx, ev)
	after, err := m.store.ContractBetween(ctx, v.Contract, v.Poster, worker)
	switch {
	case err != nil:
		return err
	case after != nil && after.EventID == ev.ID && after.Status == string(r.Status):
		v.ContractPair = after
		m.pub.publish(ctx, ev, answer)
		return nil
	case after != nil && (after.EventID != v.EventID || after.Status != v.Status):
		v.ContractPair = after
		return v.conflict("It was moved by another request.")
	}
	return refusal(answer)
}

// moveEvent returns the event of a move: the one received, or one signed here.
func (m *mover) moveEvent(ctx context.Context, v *view, r MoveRequest) (*nostr.Event, error) {
	c := v.caller
	if len(r.Event) > 0 || !c.Provisioned {
		ev, err := m.pub.received(c, r.Event, niptemp.KindState)
		if err != nil {
			return nil, err
		}
		t, err := niptemp.ReadState(ev)
		if err != nil {
			return nil, eventFault(err)
		}
		return ev, c.says(t, v.Contract, v.other(), r.Status, v.status(), r.Note)
	}
	return m.signedMove(ctx, v.ContractPair, c.PubKey, v.other(), r)
}

// signedMove signs a move with a key that the server holds.
func (m *mover) signedMove(ctx context.Context, p *store.ContractPair, author, to string, r MoveRequest) (*nostr.Event, error) {
	worker := p.Worker
	if worker == "" && author != p.Poster {
		worker = author
	}
	content, err := m.content(ctx, p, worker, r.Status, r.Note)
	if err != nil {
		return nil, err
	}
	ev, err := m.pub.stateEvent(content, to)
	if err != nil {
		return nil, err
	}
	if r.Status == niptemp.Accepted && author != p.Poster {
		// An acceptance agrees to what the offer says about who decides.
		offered, _, err := m.store.TermsOf(ctx, p)
		if err != nil {
			return nil, err
		}
		ev.Tags = append(ev.Tags, offered.Without(p.Poster, author).Tags()...)
	}
	last, err := m.store.LastState(ctx, p.Contract, author)
	if err != nil {
		return nil, err
	}
	return m.pub.signed(ctx, author, last, ev)
}

// content is what a state event says of a move.
func (m *mover) content(ctx context.Context, p *store.ContractPair, worker string, to niptemp.Status, note string) (stateContent, error) {
	terms, _, err := m.terms(ctx, p)
	if err != nil {
		return stateContent{}, err
	}
	known := m.agents.names()
	c := stateContent{
		ContractID: p.Contract, Status: to, PreviousStatus: niptemp.Status(p.Status), Note: note,
		PosterAgentID: known.of(ctx, p.Poster), AmountSats: terms.AmountSats, Description: terms.Description,
	}
	if worker != "" {
		c.WorkerAgentID = new(known.of(ctx, worker))
	}
	return c, known.fail
}
