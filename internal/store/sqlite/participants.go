package sqlite

import (
	"context"
	"database/sql/driver"

	"engramd/internal/store"
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
	p := part{writes: w, c: w.c}
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

// part is what a participant writes with: the connection, and the transaction
// under way on it.
type part struct {
	writes
	c *Conn
}

// writes is the transaction under way.
type writes interface {
	// Exec changes the database, so that it is known whether there is anything
	// to undo.
	Exec(text string, args ...driver.Value) (int64, error)
	// Each walks the rows of a query, which may be changed meanwhile.
	Each(text string, args []driver.Value, fn func(row []driver.Value) error) error
	SetMeta(name string, value driver.Value) error
	// After notes what becomes true when the transaction is durable.
	After(fn func())
	// time is Unix seconds, the same throughout a transaction.
	time() int64
}

func (w *writer) nextSeq() int64 { return w.seq + 1 }

// time is the time of the transaction under way.
func (w *writer) time() int64 { return w.Now }

// asks is what a participant reads with, and has its commands executed.
type asks interface {
	orderer
	read(ctx context.Context, how Effort, fn func(ctx context.Context, c *Conn) error) error
	snapshot(ctx context.Context, how Effort, fn func(ctx context.Context, c *Conn) error) error
	wholeSnapshot(ctx context.Context, fn func(ctx context.Context, c *Conn) error) error
}
