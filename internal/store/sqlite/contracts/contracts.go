// Package contracts keeps the tables of contract memory (NIP-TEMP): threads and
// their order, the states of pairs, terms and decisions, and the private entries
// of the API. It takes part in what the writer does: it is told of each event of
// contract memory before it is stored (Judge), when it is (Stored), when it is
// withdrawn (Withdrawn and its likes), and when it is gone for good (Removed);
// and it executes the commands about contracts.
//
// It writes to no table but contract_*, and asks events for what has to happen
// to others. It reads the text of an event by its seq.
package contracts

import (
	"engramd/internal/store"
	"engramd/internal/store/sqlite/engine"
)

// Writer is what the writer does to these tables. It is used on the writer's
// goroutine alone.
type Writer struct {
	*engine.Writer
	c          *engine.Conn
	events     Events
	live       func() *store.Live
	forgetting bool            // contract_forgetting may have rows
	done       store.FinalPair // see Prune
}

// Events is what contracts ask of events.
type Events interface {
	// NextSeq is the number that what is judged gets when it is stored.
	NextSeq() int64
	// SomeVanished reports whether anybody asked to vanish, and EverVanished
	// whether a key did, at whatever time.
	SomeVanished() bool
	EverVanished(key []byte) (bool, error)
	// RemoveBetween removes what history holds of a contract by one key that is
	// addressed to another.
	RemoveBetween(contract string, from, to []byte) error
}

// NewWriter returns the part of w that is about these tables. Call Open before
// anything else. live are the options in force.
func NewWriter(w *engine.Writer, events Events, live func() *store.Live) *Writer {
	return &Writer{Writer: w, c: w.Conn(), events: events, live: live}
}

// Store reads these tables, and has the commands executed that are about them.
type Store struct {
	db       *engine.DB
	orders   store.Orders
	requests Withdrawals
}

// Withdrawals reads the signed request by which something of a contract was
// withdrawn, if everything that it names is of this contract; nil otherwise.
type Withdrawals func(c *engine.Conn, contract string, request []byte) (json []byte, err error)

// NewStore returns the contracts of a database.
func NewStore(db *engine.DB, orders store.Orders, requests Withdrawals) *Store {
	return &Store{db, orders, requests}
}

// Open reads whether there is anybody to be forgotten.
func (w *Writer) Open() (err error) {
	w.forgetting, err = w.c.Exists(sqlForgetLater)
	return err
}

// Vanished forgets the private entries of an author, and him where nothing of
// his is left. States stay: they belong to the pair and hold no content.
func (w *Writer) Vanished(author []byte, until int64) (more bool, err error) {
	if _, err := w.Exec(sqlVanishPrivate, author, until); err != nil {
		return false, err
	}
	return w.forgetStep(partyChunk)
}

// Execute executes the commands on contracts.
func (w *Writer) Execute(c store.Command) (answer any, mine bool, err error) {
	switch c := c.(type) {
	case store.SetContractTerms:
		err = w.setTerms(c)
	case store.DecideContract:
		err = w.decideContract(c)
	case store.LookAtDeadline:
		err = w.lookAtDeadline(c)
	case store.AddPrivateEntry:
		err = w.addPrivate(c.Contract, c.Entry, c.Most)
	case store.AddWaitingEntry:
		err = w.addWaiting(c.Contract, c.Entry)
	case store.ForgetParties:
		answer, err = w.forgetParties()
	default:
		return nil, false, nil
	}
	return answer, true, err
}
