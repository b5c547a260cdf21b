package apply

import (
	"context"
	"errors"
	"log/slog"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/nips/nip01"
)

// What has tables of its own beside events takes part in their transactions: it
// executes the commands that are about it, and is told what becomes of events.

// A Participant is what each of them does. Some have an Open, which reads what
// they have to know of their tables before the first write, or a Vanished, which
// forgets an author who asked to vanish, as of a time.
type Participant interface {
	// Execute does what a command of its own says. handled is false for all
	// others.
	Execute(c store.Command) (answer any, handled bool, err error)
}

// ContractMemory is what becomes of events of contract memory beside events.
type ContractMemory interface {
	Participant
	Open() error
	// Vanished reports whether there may be more to forget: then it is called
	// again.
	Vanished(author []byte, until int64) (more bool, err error)
	// Judge judges an event before it is stored, in the transaction that stores
	// it. A refusal is for the client.
	Judge(ev *nostr.Event, opts store.PutOptions) (*nip01.Refusal, error)
	// Stored is told what is stored under seq, as an event or in history.
	Stored(ev *nostr.Event, class gate.Class, seq int64) error
	// Removed is told that it is gone for good. For what history held, kind may
	// be column.AnyKind.
	Removed(kind int, seq int64) error
	// Withdrawn is told that its author took back what is stored under seq, with
	// the request's id where it is known; WithdrawnAddress, what has an address,
	// up to a time; WithdrawnWaiting, what is no event here yet. Waiting reports
	// whether an author has any of that.
	Withdrawn(request []byte, seq int64) error
	WithdrawnAddress(request, author []byte, kind int, d engine.Value, until int64) error
	WithdrawnWaiting(request, author, id []byte) error
	Waiting(author []byte) (bool, error)
	// Prune removes what history holds of up to limit contracts that ended too
	// long ago, and returns of how many; Done is the last that it went through.
	Prune(limit int, after store.FinalPair) (int, error)
	Done() store.FinalPair
	// Forgetting reports whether store.ForgetParties may have anything to do,
	// PutOff that it failed.
	Forgetting() bool
	PutOff()
}

// Banning says which events the operator has banned.
type Banning interface {
	Participant
	Open() error
	Banned(id []byte) (bool, error)
}

// Naming says who is who.
type Naming interface {
	Participant
	Vanished(author []byte, until int64) error
	// Provisioned reports whether the operator had a key made for an agent.
	Provisioned(key []byte) (bool, error)
}

// Forwarding queues what is to be sent on, in the transaction that stores it.
type Forwarding interface {
	Participant
	Vanished(author []byte, until int64) error
	Forward(ev *nostr.Event, json []byte, targets []string) error
}

// Participants are all of them.
type Participants struct {
	Admin      Banning
	Outbox     Forwarding
	Identities Naming
	Contracts  ContractMemory
}

// Parts are what participants do for a store.
type Parts struct {
	// Write returns what takes part in the writer's transactions, and may ask h.
	// It is called before the first of them.
	Write func(w *engine.Writer, h Host) Participants
	// Checks are their parts of Store.Check.
	Checks []func(ctx context.Context, c *engine.Conn, report *store.Report) error
	// Arrivals adds to versions of contract memory their numbers and when they
	// came.
	Arrivals func(ctx context.Context, rows []store.Row) error
}

// Host is what participants may ask of events, in a transaction.
type Host interface {
	// Live are the options in force, Log what is logged to.
	Live() *store.Live
	Log() *slog.Logger
	// NextSeq is the number that the event at hand gets when it is stored.
	NextSeq() int64
	// SomeVanished reports whether anybody asked to vanish, and EverVanished
	// whether a key did, at whatever time.
	SomeVanished() bool
	EverVanished(key []byte) (bool, error)
	// RemoveBetween removes what history holds of a contract by one key that is
	// addressed to another.
	RemoveBetween(contract string, from, to []byte) error
	// RemoveBanned takes an event out of the database.
	RemoveBanned(id []byte) error
}

var _ Host = (*remover)(nil)

// Live are the options in force.
func (rm *remover) Live() *store.Live { return rm.Options() }

// Log is what is logged to.
func (rm *remover) Log() *slog.Logger { return rm.Logger }

// NextSeq is the number that the event at hand gets when it is stored.
func (rm *remover) NextSeq() int64 { return rm.Seq + 1 }

// Open opens those that have something to read.
func (p *Participants) Open() error { return errors.Join(p.Admin.Open(), p.Contracts.Open()) }

// Execute has a command executed by the one that it is about.
func (p *Participants) Execute(c store.Command) (answer any, handled bool, err error) {
	for _, one := range []Participant{p.Admin, p.Outbox, p.Identities, p.Contracts} {
		if answer, handled, err = one.Execute(c); handled {
			return answer, true, err
		}
	}
	return nil, false, nil
}

// vanished has all of them forget an author, and reports whether there may be
// more to forget.
func (p *Participants) vanished(author []byte, until int64) (more bool, err error) {
	if err := p.Outbox.Vanished(author, until); err != nil {
		return false, err
	}
	if err := p.Identities.Vanished(author, until); err != nil {
		return false, err
	}
	return p.Contracts.Vanished(author, until)
}
