package contracts

import (
	"context"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store"
	"engramd/nips/niptemp"
)

// Store keeps contracts; *sqlite.Store implements it.
type Store interface {
	// ContractPair finds what a contract id means to a key, nil for nothing.
	ContractPair(ctx context.Context, contract, key, poster string) (out *store.ContractPair, err error)
	// ContractBetween returns the state of a contract between a poster and a
	// worker ("" while none is named), nil if there is none.
	ContractBetween(ctx context.Context, contract, poster, worker string) (out *store.ContractPair, err error)
	// Contracts returns the contracts of which a key is a party or the
	// arbitrator, newest first, and how many there are; only those in one
	// status unless it is "".
	Contracts(ctx context.Context, key, status string, limit, offset int) (out []store.ContractPair, total int, err error)
	// ContractTalk finds what a contract id without any known state means to a
	// key that wrote or received something under it, nil for nothing.
	ContractTalk(ctx context.Context, contract, key string) (out *store.ContractPair, err error)
	// ContractTalks returns the contracts of a key of which only entries are
	// known, newest first, and how many there are.
	ContractTalks(ctx context.Context, key string, limit, offset int) (out []store.ContractPair, total int, err error)
	// ContractSalt returns the salt that proves that a poster made a contract's
	// id, nil if that is not known.
	ContractSalt(ctx context.Context, contract, poster string) (salt []byte, err error)
	// ContractDecision returns the last decision on a pair, nil for none.
	ContractDecision(ctx context.Context, p *store.ContractPair) (out *store.ContractDecision, err error)
	// ContractStates returns the state events of a contract by one author,
	// roughly newest first.
	ContractStates(ctx context.Context, contract, author string) (states [][]byte, err error)
	// LastState returns the created_at of the last state of a contract that a
	// key signed, between whatever keys, 0 for none.
	LastState(ctx context.Context, contract, author string) (at int64, err error)
	// TermsOf returns who decides about a contract between two keys: what the
	// poster has offered, and what both have agreed on.
	TermsOf(ctx context.Context, p *store.ContractPair) (offered, agreed niptemp.Terms, err error)

	// Tell has a command executed: SetContractTerms, DecideContract,
	// LookAtDeadline, AddPrivateEntry, AddWaitingEntry.
	Tell(ctx context.Context, c store.Command) error
	// DueContracts returns up to limit pairs whose deadline is to be checked.
	DueContracts(ctx context.Context, now int64, limit int) (out []store.ContractPair, err error)
	// NextDue returns when the first deadline is to be checked, 0 for never.
	NextDue(ctx context.Context) (at int64, err error)

	// ThreadPage returns entries of a thread, in the order of their numbers,
	// and how many match.
	ThreadPage(ctx context.Context, t store.Thread, limit, offset, maxBytes int) (out []store.ThreadEntry, total int, err error)
	// ThreadNext returns up to limit entries after one (by its CreatedAt and
	// ID), in their order; from the start when after is nil.
	ThreadNext(ctx context.Context, t store.Thread, after *store.ThreadEntry, limit, maxBytes int) (out []store.ThreadEntry, err error)
	// ThreadEntry returns the first entry that arrived with an id; nil for
	// none.
	ThreadEntry(ctx context.Context, t store.Thread, entry string) (out *store.ThreadEntry, err error)
	// ThreadGroups counts the entries of a thread by part, form and type.
	ThreadGroups(ctx context.Context, t store.Thread) (out []store.ThreadGroup, err error)
	// ThreadOrder calls fn with all numbers of a thread, in order and as of one
	// moment.
	ThreadOrder(ctx context.Context, t store.Thread, fn func(store.OrderItem) error) error
	// ContractMoves returns the states of a pair and of the offer that it
	// accepted, in the order of arrival, and how many there are; withdrawn ones
	// only if whole is true.
	ContractMoves(ctx context.Context, p *store.ContractPair, whole bool, limit, offset, maxBytes int) (out []store.ThreadMove, total int, err error)
	// PlaceEntry finds an entry by its author, counterparty, time and id, and
	// fills in what it got when it arrived: its numbers, the time, and whether
	// the relay has its event, as head or as history.
	PlaceEntry(ctx context.Context, contract string, e *store.ThreadEntry) (here bool, err error)
	// EntryTaken reports whether the thread between two keys has another entry
	// with this id.
	EntryTaken(ctx context.Context, contract, author, other, entry string, id []byte) (taken bool, err error)
	// WaitingEntries calls fn with the events that the relay has not taken, in
	// the order in which they came.
	WaitingEntries(ctx context.Context, fn func(*nostr.Event) error) error
	// Withdrawal returns the signed request by which something of a contract was
	// withdrawn, if everything that it names, by e and by a, is of this
	// contract; nil otherwise, and where it is not here.
	Withdrawal(ctx context.Context, contract string, request []byte) (json []byte, err error)
	// ContractRefusals returns which relays refused the events with these ids
	// (32 bytes each), in the order of the ids.
	ContractRefusals(ctx context.Context, ids [][]byte) (out [][]store.ContractRefusal, err error)
}
