package sqlite

import (
	"context"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/gate"
	"engramd/internal/store"
	"engramd/internal/store/sqlite/engine"
	"engramd/nips/nip01"
)

// What has tables of its own beside events takes part in their transactions: it
// executes the commands that are about it, and is told what becomes of events.

// participant is what each of them does.
type participant interface {
	// Open reads what it has to know of its tables, before the first write.
	Open() error
	// Execute does what a command of its own says. mine is false for all
	// others.
	Execute(c store.Command) (answer any, mine bool, err error)
	// Vanished forgets an author who asked to vanish, as of a time, and reports
	// whether there may be more to forget: then it is called again.
	Vanished(author []byte, until int64) (more bool, err error)
}

// contractMemory is what becomes of events of contract memory beside events.
type contractMemory interface {
	participant
	// Judge judges an event before it is stored, in the transaction that stores
	// it. A refusal is for the client.
	Judge(ev *nostr.Event, opts store.PutOptions) (*nip01.Refusal, error)
	// Stored is told what is stored under seq, as an event or in history.
	Stored(ev *nostr.Event, class gate.Class, seq int64) error
	// Removed is told that it is gone for good. For what history held, kind may
	// be anyKind.
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

// anyKind is the kind of a version whose kind is not known.
const anyKind = -1

// banning says which events the operator has banned.
type banning interface {
	participant
	Banned(id []byte) (bool, error)
}

// forwarding queues what is to be sent on, in the transaction that stores it.
type forwarding interface {
	participant
	Forward(ev *nostr.Event, json []byte, targets []string) error
}

// participants are all of them. Who vanishes is forgotten in their order.
type participants struct {
	admin      banning
	outbox     forwarding
	identities participant
	contracts  contractMemory
}

func (p *participants) all() []participant {
	return []participant{p.admin, p.outbox, p.identities, p.contracts}
}

// open opens all of them.
func (p *participants) open() error {
	for _, one := range p.all() {
		if err := one.Open(); err != nil {
			return err
		}
	}
	return nil
}

// execute has a command executed by the one that it is about.
func (p *participants) execute(c store.Command) (answer any, mine bool, err error) {
	for _, one := range p.all() {
		if answer, mine, err = one.Execute(c); mine {
			return answer, true, err
		}
	}
	return nil, false, nil
}

// vanished has all of them forget an author, and reports whether there may be
// more to forget.
func (p *participants) vanished(author []byte, until int64) (more bool, err error) {
	for _, one := range p.all() {
		if more, err = one.Vanished(author, until); err != nil || more {
			return more, err
		}
	}
	return false, nil
}

// check is a participant's own part of Check.
type check func(ctx context.Context, c *engine.Conn, report *store.Report) error
