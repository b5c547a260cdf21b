package sqlite

import (
	"engramd/internal/store"
	"engramd/internal/store/sqlite/engine"
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

// participants are all of them. Who vanishes is forgotten in their order.
type participants struct {
	admin      *admin
	outbox     *outbox
	identities *identities
	contracts  *contracts
}

func (w *writer) addParticipants() error {
	p := part{w.Writer, w.c}
	w.parts = participants{
		admin:      &admin{part: p, events: w},
		outbox:     &outbox{part: p, log: w.s.log},
		contracts:  &contracts{part: p, events: w, live: w.s.live.Load},
		identities: &identities{part: p, others: privateEntries{}},
	}
	for _, p := range w.parts.all() {
		if err := p.Open(); err != nil {
			return err
		}
	}
	return nil
}

func (p *participants) all() []participant {
	return []participant{p.admin, p.outbox, p.identities, p.contracts}
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

// nextSeq is the number that the event at hand gets when it is stored.
func (w *writer) nextSeq() int64 { return w.seq + 1 }

// part is what a participant writes with: the transaction under way, and the
// connection.
type part struct {
	*engine.Writer
	c *engine.Conn
}

// asks is what a participant reads with, and has its commands executed.
type asks struct {
	db *engine.DB
	orderer
}
