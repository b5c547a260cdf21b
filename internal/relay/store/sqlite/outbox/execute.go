package outbox

import "engramd/internal/relay/store"

// Open has nothing to read.
func (w *Writer) Open() error { return nil }

// Vanished takes what an author has on its way off all lists, and forgets who
// refused it.
func (w *Writer) Vanished(author []byte, until int64) (more bool, err error) {
	for _, text := range []string{sqlVanishOutboxFor, sqlVanishOutbox, sqlVanishRefusals} {
		if _, err := w.Exec(text, author, until); err != nil {
			return false, err
		}
	}
	return false, nil
}

// Execute executes the commands on the outbox.
func (w *Writer) Execute(c store.Command) (answer any, handled bool, err error) {
	switch c := c.(type) {
	case store.QueueEvent:
		err = w.queue(c)
	case store.OutboxDone:
		err = w.removeFromOutbox(c.Target, c.Numbers)
	case store.OutboxForget:
		answer, err = w.forgetOutbox(c.Target, c.Until)
	case store.OutboxWithdraw:
		err = w.withdrawFromOutbox(c.EventID)
	case store.OutboxKeep:
		err = w.keepOutbox(c.Targets)
	case store.OutboxRefused:
		err = w.noteRefusal(c)
	default:
		return nil, false, nil
	}
	return answer, true, err
}
