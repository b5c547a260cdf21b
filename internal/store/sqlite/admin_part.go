package sqlite

import "engramd/internal/store"

// admin are the tables of the management API as the writer has them: lists, the
// audit of its calls, and the calls of the HTTP API that were used.
type admin struct {
	part
	events adminEvents
	bans   bool // the list of events may have some that are banned
}

// adminEvents is what a change to a list asks of events.
type adminEvents interface {
	// removeBanned takes an event out of the database.
	removeBanned(id []byte) error
}

// adminStore reads these tables, and has the commands executed that are about
// them.
type adminStore struct{ asks }

const (
	sqlAnyBanned = `SELECT 1 FROM admin_lists WHERE list = 'event' AND verdict = 'banned' LIMIT 1`
	sqlIsBanned  = `SELECT 1 FROM admin_lists WHERE list = 'event' AND key = ? AND verdict = 'banned'`
)

// Open reads whether any event is banned.
func (w *admin) Open() (err error) {
	w.bans, err = w.c.Exists(sqlAnyBanned)
	return err
}

// Banned reports whether the operator has banned the event of an id, whoever
// brings it.
func (w *admin) Banned(id []byte) (bool, error) {
	if !w.bans {
		return false, nil
	}
	return w.c.Exists(sqlIsBanned, id)
}

// Vanished forgets nothing: what stands in lists and in the audit is the
// operator's.
func (w *admin) Vanished([]byte, int64) (more bool, err error) { return false, nil }

// Execute executes the commands of managing keys, and those about calls.
func (w *admin) Execute(c store.Command) (answer any, mine bool, err error) {
	switch c := c.(type) {
	case store.Administer:
		err = w.administer(c)
	case store.UseCalls:
		answer, err = w.useCalls(c.Calls, c.Before)
	default:
		return nil, false, nil
	}
	return answer, true, err
}
