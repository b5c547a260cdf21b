package contracts

import (
	"context"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/fairness"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/nips/niptemp"
)

// role is the part that a caller has in a contract.
type role int

const (
	nobody   role = iota // proved nothing
	stranger             // a key that has no part in it
	poster
	worker
	arbitrator
	operator
	decider // the decider on whom the parties agreed, who is not an operator of this relay
)

// party reports whether the role is one of the two.
func (r role) party() bool { return r == poster || r == worker }

// view is one contract as its caller sees it.
type view struct {
	*store.ContractPair
	caller Caller
	role   role
	keys   map[string][32]byte // NIP-44 conversation keys of a caller whose key the server keeps, by the other party; see unlock
	named  bool                // naming the contract is enough to read its shared entries
}

// register finds contracts for their callers and shows them.
type register struct {
	store   Store
	agents  *directory
	mover   *mover
	table   func() *gate.Table
	guesses *fairness.Guesses
}

// find looks up a contract for a caller, moves it if its deadline has come, and
// determines the caller's role. It returns errNotFound for a contract that does
// not exist or is not shown, and errNobody for a caller who proved nothing
// where nobody is shown anything.
func (rg *register) find(ctx context.Context, c Caller, id string) (*view, error) {
	v := &view{caller: c, named: rg.named(c, id)}
	if c.Nobody() && !v.named {
		return nil, errNobody()
	}
	var err error
	if v.ContractPair, err = rg.pair(ctx, c, id); err != nil {
		return nil, err
	}
	if v.ContractPair == nil {
		return nil, rg.missed(ctx, c)
	}
	if rg.mover.isDue(v.ContractPair) {
		if v.ContractPair, err = rg.mover.expire(ctx, v.ContractPair); err != nil {
			return nil, err
		}
	}
	switch {
	case c.PubKey == "" && !c.Operator:
		v.role = nobody
	case c.PubKey == v.Poster:
		v.role = poster
	case c.PubKey != "" && c.PubKey == v.Worker:
		v.role = worker
	case c.PubKey != "" && c.PubKey == v.Arbitrator:
		v.role = arbitrator
	case c.Operator:
		v.role = operator
	default:
		_, agreed, err := rg.store.TermsOf(ctx, v.ContractPair)
		if err != nil {
			return nil, err
		}
		if v.role = stranger; c.PubKey == agreed.Decider {
			v.role = decider
		}
	}
	if !v.named && (v.role == stranger || v.role == nobody) {
		return nil, rg.missed(ctx, c)
	}
	return v, nil
}

// named reports whether the gate lets a reader ask for a contract by its id.
func (rg *register) named(c Caller, id string) bool {
	_, err := rg.table().ScopeFor(gate.NewReader(c.PubKey), nostr.Filter{
		Kinds: []int{niptemp.KindEntry}, Tags: nostr.TagMap{"d": {id}},
	})
	return err == nil
}

// open reports whether the contract is an offer that anybody may accept.
func (v *view) open() bool { return v.Worker == "" && v.status() == niptemp.Open }

// talk reports whether only entries of the contract are known.
func (v *view) talk() bool { return v.Status == "" }

func (v *view) status() niptemp.Status { return niptemp.Status(v.Status) }

// other returns the key that the caller's events name: the counterparty; the
// caller's own while there is none; and the poster's for a caller who accepts
// an offer.
func (v *view) other() string {
	if v.caller.PubKey == v.Poster && v.Worker != "" {
		return v.Worker
	}
	return v.Poster
}

// state returns the contract's state as a value of the protocol.
func (v *view) state() *niptemp.State {
	return &niptemp.State{
		Contract: v.Contract, Poster: v.Poster, Worker: v.Worker, Status: v.status(), CreatedAt: v.MovedAt, EventID: v.EventID,
	}
}

// whole reports whether the caller reads all of the thread: withdrawn entries,
// gaps, and the numbers, which tell of both.
func (v *view) whole() bool {
	return v.role.party() || v.role == arbitrator || (v.role == operator || v.role == decider) && v.status() == niptemp.Disputed
}

// thread returns the selection of entries that the caller may read.
func (v *view) thread(private bool) store.Thread {
	t := store.Thread{Contract: v.Contract, Poster: v.Poster, Worker: v.Worker, Talk: v.talk(), Party: v.role.party(), Sealed: v.role == arbitrator, Whole: v.whole()}
	if t.Party && private {
		t.Reader = v.caller.PubKey
	}
	return t
}

// conflict returns an error that says which state the contract is in, and what
// follows from that.
func (v *view) conflict(what string) *Error {
	return Refuse(Conflict, "Contract is in '%s' state. %s", v.Status, what)
}
