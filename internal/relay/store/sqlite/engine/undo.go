package engine

import (
	"errors"
	"fmt"
	"runtime/debug"

	"engramd/internal/relay/store"
)

// The members of a batch share a transaction, but one that fails is undone
// alone.

var (
	// errLost marks the error of a transaction that SQLite gave up before
	// COMMIT.
	errLost = errors.New("transaction rolled back")
	// errRedo says that a member must be undone which has no savepoint.
	errRedo = errors.New("batch to be done again with savepoints")
	// errUndo rolls a savepoint back, as any error does, where it is not an
	// error.
	errUndo = errors.New("undo")
	// errPanic marks the failure of what panicked.
	errPanic = errors.New("panic while writing")
)

// unguarded applies one member without a savepoint. The error is errRedo, or
// errLost for a transaction that is gone.
func (w *Writer) unguarded(m *Member) (store.Result, error) {
	was := w.mark()
	w.dirty = false
	r := w.protected(func() (store.Result, error) { return w.applier.Apply(m) })
	switch {
	case r.Outcome != store.Failed && r.Outcome != store.Refused:
		return r, nil
	case w.Lost() || r.Outcome == store.Failed && w.strict():
		return store.Result{}, fmt.Errorf("%w: %w", errLost, r.Err)
	case w.dirty:
		return store.Result{}, errRedo
	}
	w.undo(was)
	return r, nil
}

// guarded applies one member in its own savepoint. The error is errLost.
func (w *Writer) guarded(m *Member) (store.Result, error) {
	return w.Guarded(func() (store.Result, error) { return w.applier.Apply(m) })
}

// Guarded runs fn in a savepoint and undoes all of it when it fails or its
// result is a refusal. The error is that of a transaction that is lost.
func (w *Writer) Guarded(fn func() (store.Result, error)) (store.Result, error) {
	var r store.Result
	was := w.mark()
	err := w.InSavepoint(func() error {
		r = w.protected(fn)
		switch r.Outcome {
		case store.Failed:
			return fmt.Errorf("%w: %w", errUndo, r.Err)
		case store.Refused:
			return errUndo
		}
		return nil
	})
	switch {
	case err == nil:
		return r, nil
	case w.Lost() || !errors.Is(err, errUndo) || r.Outcome == store.Failed && w.strict():
		return store.Result{}, fmt.Errorf("%w: %w", errLost, err)
	}
	w.undo(was)
	return r, nil
}

// InSavepoint runs fn in a savepoint, which is rolled back when fn fails. The
// error is fn's, or that of a transaction that is lost.
func (w *changes) InSavepoint(fn func() error) error {
	if _, err := w.c.Exec("SAVEPOINT op"); err != nil {
		return err
	}
	failed := fn()
	if failed != nil {
		if w.Lost() {
			return errors.Join(errors.New("SQLite rolled the transaction back"), failed)
		}
		if _, err := w.c.Exec("ROLLBACK TO op"); err != nil {
			return err
		}
	}
	if _, err := w.c.Exec("RELEASE op"); err != nil {
		return err
	}
	return failed
}

// Lost reports whether SQLite gave the transaction under way up.
func (w *changes) Lost() bool { return w.c.db.AutoCommit() }

// Exec changes the database. What a member changes goes through here, so that
// it is known whether there is anything to undo.
func (w *changes) Exec(text string, args ...Value) (int64, error) {
	w.dirty = true
	n, err := w.c.Exec(text, args...)
	w.touched = w.touched || n > 0 || err != nil
	return n, err
}

// Do is Exec for who does not ask how many rows it changed.
func (w *changes) Do(text string, args ...Value) error {
	_, err := w.Exec(text, args...)
	return err
}

// Statement is a statement with its arguments.
type Statement struct {
	text string
	args []Value
}

// Do returns a statement.
func Do(text string, args ...Value) Statement { return Statement{text, args} }

// Run executes statements one after the other, until one fails.
func (w *changes) Run(list ...Statement) error {
	for _, one := range list {
		if err := w.Do(one.text, one.args...); err != nil {
			return err
		}
	}
	return nil
}

// protected turns an error or a panic into a failure of the one member that
// caused it.
func (w *changes) protected(fn func() (store.Result, error)) (r store.Result) {
	defer func() {
		if v := recover(); v != nil {
			w.log.Error("panic while writing", "panic", v, "stack", string(debug.Stack()))
			r = store.Result{Outcome: store.Failed, Err: fmt.Errorf("%w: %v", errPanic, v)}
		}
	}()
	r, err := fn()
	if err != nil {
		return failure(WriteError(err))
	}
	return r
}
