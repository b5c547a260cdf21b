package events

// End writes what a transaction has collected, at its end.
func (w *writer) End() error {
	if err := w.Stage.End(w.SetMeta); err != nil {
		return err
	}
	return w.s.several.noteState(w.Done)
}

// Durable has readers see up to the last number.
func (w *writer) Durable() {
	w.Stage.Durable()
	w.s.lastSeq.Store(w.Seq)
	if len(w.Done) > 0 {
		w.s.several.to.Durable()
	}
}

// Announce counts what was removed, and sends what was stored to live readers.
func (w *writer) Announce() { w.Stage.Announce(w.s.observe, w.s.onCommit) }

// Reclaimable reports whether texts that were deleted still take room in the
// full-text index.
func (w *writer) Reclaimable() bool { return w.Text.Purging }

// Reclaim takes them out.
func (w *writer) Reclaim() { w.Text.PurgeNow() }

// Tight has what a deletion takes out of the full-text index leave it at once.
func (w *writer) Tight(on bool) { w.Tx.Tight = on }

// Closing takes out what it can.
func (w *writer) Closing() { w.Text.PurgeNow() }
