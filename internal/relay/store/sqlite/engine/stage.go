package engine

// stage is what the current transaction will mean to the writer once it is
// durable. A member that is undone takes its part with it.
type stage struct {
	jobs    []*Job   // work to go on with after the commit
	ended   *Job     // the oldest one is done
	restore []func() // takes jobs back to where they were, if the transaction fails
	after   []func() // what becomes true with the commit
}

// mark is a point in the transaction to which undo returns.
type mark struct{ jobs, after int }

func (w *Writer) mark() mark {
	w.applier.Mark()
	return mark{len(w.stage.jobs), len(w.stage.after)}
}

// undo forgets what was staged since m.
func (w *Writer) undo(m mark) {
	w.applier.Undo()
	w.stage.jobs = w.stage.jobs[:m.jobs]
	w.stage.after = w.stage.after[:m.after]
}

// After notes what becomes true when the transaction is durable.
func (w *Writer) After(fn func()) { w.stage.after = append(w.stage.after, fn) }
