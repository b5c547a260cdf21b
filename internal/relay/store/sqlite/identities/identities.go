// Package identities keeps the tables of who is who: agents' names and tokens,
// the relay's own keys, and the check value of the master key that kept keys are
// sealed with. It takes part in what the writer does: it executes the commands
// about them.
package identities

import (
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine"
)

// Writer is what the writer does to these tables. It is used on the writer's
// goroutine alone.
type Writer struct {
	*engine.Writer
	c      *engine.Conn
	others Sealed
}

// NewWriter returns the part of w that is about these tables. others is what
// else is sealed with the master key.
func NewWriter(w *engine.Writer, others Sealed) *Writer { return &Writer{w, w.Conn(), others} }

// Store reads these tables, and has the commands executed that are about them.
type Store struct {
	db     *engine.DB
	orders store.Orders
	others Sealed
}

// NewStore returns who is who in a database. others is what else is sealed with
// the master key.
func NewStore(db *engine.DB, orders store.Orders, others Sealed) *Store {
	return &Store{db, orders, others}
}

// Open has nothing to read.
func (w *Writer) Open() error { return nil }

// Vanished forgets the agent of a key that asked to vanish.
func (w *Writer) Vanished(author []byte, until int64) (more bool, err error) {
	return false, w.vanishAgent(author, until)
}

// Execute executes the commands on identities.
func (w *Writer) Execute(c store.Command) (answer any, handled bool, err error) {
	switch c := c.(type) {
	case store.AddAgent:
		answer, err = w.addAgent(c.Agent, c.Token)
	case store.ReplaceToken:
		err = w.replaceToken(c.ID, c.Hash)
	case store.DropTokens:
		err = w.dropTokens(c.ID)
	case store.ForgetKey:
		err = w.forgetKey(c.ID, c.Sealed)
	case store.DropAgent:
		err = w.dropAgent(c.ID, c.WithKey)
	case store.SetVaultCheck:
		answer, err = w.setVaultCheck(c.Check)
	case store.SetRelayKey:
		err = w.setRelayKey(c.PubKey, c.Revoke)
	case store.RevokeRelayKey:
		answer, err = w.revokeRelayKey(c.PubKey)
	default:
		return nil, false, nil
	}
	return answer, true, err
}
