package contracts

import (
	"context"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/store"
	"engramd/nips/niptemp"
)

// Store is where contracts are kept; *sqlite.Store is one.
type Store interface {
	Pairs
	Moves
	Threads
}

// Pairs tells where contracts stand.
type Pairs interface {
	// ContractPair finds what a contract id means to a key, nil for nothing.
	ContractPair(ctx context.Context, contract, key, poster string) (out *store.ContractPair, err error)
	// ContractBetween is the state of a contract between a poster and a worker
	// ("" while none is named), nil for none.
	ContractBetween(ctx context.Context, contract, poster, worker string) (out *store.ContractPair, err error)
	// Contracts lists the contracts of a key as party or arbitrator, those in
	// one status when it is not "", the newest first, and how many there are.
	Contracts(ctx context.Context, key, status string, limit, offset int) (out []store.ContractPair, total int, err error)
	// ContractTalk finds what a contract id of which no state is known means to
	// one who has said or heard something under it, nil for nothing.
	ContractTalk(ctx context.Context, contract, key string) (out *store.ContractPair, err error)
	// ContractTalks lists the contracts of a key of which only entries are
	// known, the newest first, and how many there are.
	ContractTalks(ctx context.Context, key string, limit, offset int) (out []store.ContractPair, total int, err error)
	// ContractSalt is the salt that shows that a poster made a contract's id,
	// nil if that is not known.
	ContractSalt(ctx context.Context, contract, poster string) (salt []byte, err error)
	// ContractDecision is the last decision on a pair, nil for none.
	ContractDecision(ctx context.Context, p *store.ContractPair) (out *store.ContractDecision, err error)
	// ContractStates are the state events of a contract by one author, about the
	// newest first.
	ContractStates(ctx context.Context, contract, author string) (states [][]byte, err error)
	// LastState is the created_at of the last state that a key signed of a
	// contract, between whatever keys, 0 for none.
	LastState(ctx context.Context, contract, author string) (at int64, err error)
	// TermsOf are who decides about a contract between two keys: what the poster
	// has offered, and what both have agreed on.
	TermsOf(ctx context.Context, p *store.ContractPair) (offered, agreed niptemp.Terms, err error)
}

// Moves writes what the API alone knows of contracts, and their deadlines.
type Moves interface {
	// SetContractTerms writes down what was agreed through the API on a pair
	// that has no terms yet.
	SetContractTerms(ctx context.Context, contract, poster, worker string, t store.ContractTerms) error
	// DecideContract makes a move that no party makes, if the pair is still in
	// the state d.Was, and records it.
	DecideContract(ctx context.Context, p *store.ContractPair, d store.ContractDecision) error
	// DueContracts lists up to limit pairs whose deadline is to be looked at.
	DueContracts(ctx context.Context, now int64, limit int) (out []store.ContractPair, err error)
	// NextDue is when the first deadline is to be looked at, 0 for never.
	NextDue(ctx context.Context) (at int64, err error)
	// LookAtDeadline says when a pair's deadline is to be looked at again, 0 for
	// never.
	LookAtDeadline(ctx context.Context, p *store.ContractPair, at int64) error
}

// Threads reads and writes the entries of contracts.
type Threads interface {
	// ThreadPage lists entries of a thread, in the order of their numbers, and
	// how many match.
	ThreadPage(ctx context.Context, t store.Thread, limit, offset, maxBytes int) (out []store.ThreadEntry, total int, err error)
	// ThreadNext lists up to limit entries behind one (its CreatedAt and ID) in
	// their order; from the start when after is nil.
	ThreadNext(ctx context.Context, t store.Thread, after *store.ThreadEntry, limit, maxBytes int) (out []store.ThreadEntry, err error)
	// ThreadEntry finds an entry by its id, the first that came with it; nil for
	// none.
	ThreadEntry(ctx context.Context, t store.Thread, entry string) (out *store.ThreadEntry, err error)
	// ThreadGroups counts the entries of a thread by part, form and type.
	ThreadGroups(ctx context.Context, t store.Thread) (out []store.ThreadGroup, err error)
	// ThreadOrder gives fn all numbers of a thread, as of one moment and in
	// order.
	ThreadOrder(ctx context.Context, t store.Thread, fn func(store.OrderItem) error) error
	// ContractMoves lists the states of a pair and of the offer it accepted, in
	// the order of arrival, and how many there are; without whole, those that
	// were not withdrawn.
	ContractMoves(ctx context.Context, p *store.ContractPair, whole bool, limit, offset, maxBytes int) (out []store.ThreadMove, total int, err error)
	// PlaceEntry fills in what an entry, found by its author, counterparty, time
	// and id, got when it came: whether the relay has its event, as head or as
	// history, its numbers and the time.
	PlaceEntry(ctx context.Context, contract string, e *store.ThreadEntry) (here bool, err error)
	// EntryTaken reports whether the thread between two keys has another entry
	// with this id.
	EntryTaken(ctx context.Context, contract, author, other, entry string, id []byte) (taken bool, err error)
	// AddPrivateEntry keeps a private entry, sealed in e.Data, for its author:
	// e.Author, e.Other, e.CreatedAt, e.Type and e.Entry are used.
	AddPrivateEntry(ctx context.Context, contract string, e store.ThreadEntry, most int) error
	// AddWaitingEntry keeps the signed event of a shared entry that the relay
	// has not taken, until it does.
	AddWaitingEntry(ctx context.Context, contract string, e store.ThreadEntry) error
	// WaitingEntries gives fn the events that the relay has not taken, in the
	// order in which they came.
	WaitingEntries(ctx context.Context, fn func(*nostr.Event) error) error
	// Withdrawal returns the signed request by which something of a contract was
	// withdrawn, if everything that it names, by e and by a, is of this
	// contract; nil otherwise, and where it is not here.
	Withdrawal(ctx context.Context, contract string, request []byte) (json []byte, err error)
	// ContractRefusals lists what relays refused the events with these ids (32
	// bytes), in the order of the ids.
	ContractRefusals(ctx context.Context, ids [][]byte) (out [][]store.ContractRefusal, err error)
}
