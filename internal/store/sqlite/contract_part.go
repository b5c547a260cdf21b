package sqlite

import (
	"engramd/internal/store"
	"engramd/internal/store/sqlite/engine"
)

// contracts are the tables of contract memory as the writer has them: threads,
// states, terms, decisions. It is told of each event of contract memory before
// it is stored (Judge), when it is (Stored), when it is withdrawn, and when it
// is gone for good (Removed).
type contracts struct {
	part
	events     contractEvents
	live       func() *store.Live
	forgetting bool            // contract_forgetting may have rows
	done       store.FinalPair // see Prune
}

// contractEvents is what contracts ask of events.
type contractEvents interface {
	// nextSeq is the number that what is judged gets when it is stored.
	nextSeq() int64
	// someVanished reports whether anybody asked to vanish, and everVanished
	// whether a key did, at whatever time.
	someVanished() bool
	everVanished(key []byte) (bool, error)
	// removeBetween removes what history holds of a contract by one key that is
	// addressed to another.
	removeBetween(contract string, from, to []byte) error
}

// contractStore reads the tables of contract memory, and has the commands
// executed that are about them.
type contractStore struct {
	asks
	requests withdrawals
}

// withdrawals reads the signed request by which something of a contract was
// withdrawn, if everything that it names is of this contract; nil otherwise.
type withdrawals func(c *engine.Conn, contract string, request []byte) (json []byte, err error)

// Open reads whether there is anybody to be forgotten.
func (w *contracts) Open() (err error) {
	w.forgetting, err = w.c.Exists(sqlForgetLater)
	return err
}

// Vanished forgets the private entries of an author, and him where nothing of
// his is left. States stay: they belong to the pair and hold no content.
func (w *contracts) Vanished(author []byte, until int64) (more bool, err error) {
	if _, err := w.Exec(sqlVanishPrivate, author, until); err != nil {
		return false, err
	}
	return w.forgetStep(partyChunk)
}

// Execute executes the commands on contracts.
func (w *contracts) Execute(c store.Command) (answer any, mine bool, err error) {
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
