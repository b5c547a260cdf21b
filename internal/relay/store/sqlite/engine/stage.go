package engine

// mark is a point in the transaction to which undo returns.
type mark struct{ jobs, after int }

func (w *Writer) mark() mark {
	w.applier.Mark()
	return mark{len(w.begun), len(w.after)}
}

// undo forgets what was staged since m.
func (w *Writer) undo(m mark) {
	w.applier.Undo()
	w.begun, w.after = w.begun[:m.jobs], w.after[:m.after]
}

// After notes what becomes true when the transaction is durable.
func (w *Writer) After(fn func()) { w.after = append(w.after, fn) }
