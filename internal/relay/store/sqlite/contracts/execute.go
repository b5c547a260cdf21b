package contracts

import "engramd/internal/relay/store"

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
func (w *Writer) Execute(c store.Command) (answer any, handled bool, err error) {
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
