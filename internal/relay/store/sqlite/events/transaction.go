package events

// Begin starts a new transaction's stage. What was handed to OnCommit is not
// reused.
func (w *writer) Begin() {
	w.stage = stage{before: w.seq}
	for _, p := range w.parts {
		p.Begin()
	}
}

// Mark notes where a member begins.
func (w *writer) Mark() {
	s := &w.stage
	s.marked = mark{len(s.committed), s.removed, w.seq}
	for _, p := range w.parts {
		p.Mark()
	}
}

// Undo forgets what was staged since the mark, and gives its sequence numbers
// back.
func (w *writer) Undo() {
	s, m := &w.stage, &w.stage.marked
	s.committed, s.removed, w.seq = s.committed[:m.committed], m.removed, m.seq
	for _, p := range w.parts {
		p.Undo()
	}
}

// RolledBack forgets what a transaction would have meant.
func (w *writer) RolledBack() {
	w.seq = w.stage.before
	w.stage = stage{}
	for _, p := range w.parts {
		p.RolledBack()
	}
}

// End writes what a transaction has collected, at its end.
func (w *writer) End() error {
	for _, p := range w.parts {
		if err := p.End(); err != nil {
			return err
		}
	}
	if w.stage.seqGone {
		if err := w.SetMeta(metaLastSeq, w.seq); err != nil {
			return err
		}
	}
	return w.noteState()
}

// metaLastSeq is the last sequence number that was given out, in the table meta,
// as of the last time that something with one went: the last one is this or the
// highest in use.
const metaLastSeq = "last_seq"

// Durable has readers see up to the last number.
func (w *writer) Durable() {
	for _, p := range w.parts {
		p.Durable()
	}
	w.s.lastSeq.Store(w.seq)
	if len(w.stage.done) > 0 {
		w.s.several.to.Durable()
	}
}

// Announce counts what was removed, and sends what was stored to live readers.
func (w *writer) Announce() {
	for why, n := range w.stage.removed {
		if n > 0 {
			w.s.observe.Removed(reason(why).String(), n)
		}
	}
	if len(w.stage.committed) > 0 {
		w.s.onCommit(w.stage.committed)
	}
}

// Reclaimable reports whether texts that were deleted still take room in the
// full-text index.
func (w *writer) Reclaimable() bool { return w.text.Purging }

// Reclaim takes them out.
func (w *writer) Reclaim() { w.text.PurgeNow() }

// Tight has what a deletion takes out of the full-text index leave it at once.
func (w *writer) Tight(on bool) { w.Tx.Tight = on }

// Closing takes out what it can.
func (w *writer) Closing() { w.text.PurgeNow() }
