package engine

import (
	"context"

	"engramd/internal/relay/store"
)

// begin starts a new transaction's stage.
func (w *Writer) begin() {
	w.beginTransaction()
	w.after = nil
	w.applier.Begin()
	w.Now = w.db.o.Clock().Unix()
}

// concluded makes known what a transaction did, or forgets it when it failed.
func (w *Writer) concluded(err error) {
	if err != nil {
		w.applier.RolledBack()
		w.rolledBack()
		w.after = nil
		return
	}
	w.applier.Durable()
	for _, fn := range w.after {
		fn()
	}
	w.list = append(w.list, w.begun...)
	w.applier.Announce()
	if w.ended != nil {
		w.endJob()
	}
}

// Step runs one step in a transaction of its own.
func (w *Writer) Step(step func() (more bool, err error)) (more bool, err error) {
	w.begin()
	err = WriteError(w.c.Transaction(func() error {
		r := w.protected(func() (store.Result, error) {
			var err error
			more, err = step()
			return store.Result{}, err
		})
		if r.Err != nil {
			return r.Err
		}
		return w.applier.End()
	}))
	w.concluded(err)
	return more, err
}

// Finish runs steps until there are no more: at open, when nobody else writes.
func (w *Writer) Finish(ctx context.Context, step func() (bool, error)) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if more, err := w.Step(step); err != nil || !more {
			return err
		}
	}
}
