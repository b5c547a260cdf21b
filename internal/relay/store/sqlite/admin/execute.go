package admin

import "engramd/internal/relay/store"

// Vanished forgets nothing: what stands in lists and in the audit is the
// operator's.
func (w *Writer) Vanished([]byte, int64) (more bool, err error) { return false, nil }

// Execute executes the commands of managing keys, and those about calls.
func (w *Writer) Execute(c store.Command) (answer any, handled bool, err error) {
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
