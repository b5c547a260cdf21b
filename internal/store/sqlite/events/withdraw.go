package events

// withdrawHead makes history of a head. What was superseded before stays what
// it is, and does not become head.
func (w *writer) withdrawHead(seq int64) error {
	if _, err := w.Exec(sqlHeadToHistory, seq, w.Now); err != nil {
		return err
	}
	w.known.history = true
	return w.dropEvent(seq, nil, false, nil)
}

// keepWithdrawn stores what comes after the request that takes it back.
func (w *writer) keepWithdrawn(r *record, request []byte) error {
	if err := w.keepVersion(r); err != nil {
		return err
	}
	return w.parts.Contracts.Withdrawn(request, w.seq)
}
