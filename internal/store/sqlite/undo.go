package sqlite

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"runtime/debug"

	"engramd/internal/store"
)

// The members of a batch share a transaction, but one that fails is undone
// alone.

var (
	// errLost marks the error of a transaction that SQLite gave up before
	// COMMIT.
	errLost = errors.New("transaction rolled back")
	// errRedo says that a member must be undone which has no savepoint.
	errRedo = errors.New("batch to be done again with savepoints")
)

// risky reports whether a member may be refused after it changed something: by
// a quota that is only known to be exceeded when it is clear what the write
// frees.
func (w *writer) risky(p *Pending) bool {
	return (p.rec.d != nil || p.rec.ev.Kind == kindDeletion) && w.mayExceed(p.rec)
}

// unguarded applies one member without a savepoint. The error is errRedo, or
// errLost for a transaction that is gone.
func (w *writer) unguarded(p *Pending) (store.Result, error) {
	m := w.mark()
	w.dirty = false
	r := w.protected(func() (store.Result, error) { return w.apply(p) })
	switch {
	case r.Outcome != store.Failed && r.Outcome != store.Refused:
		return r, nil
	case w.c.db.AutoCommit():
		return store.Result{}, fmt.Errorf("%w: %w", errLost, r.Err)
	case w.dirty:
		return store.Result{}, errRedo
	}
	w.undo(m)
	return r, nil
}

// guarded applies one member in its own savepoint. The error is errLost.
func (w *writer) guarded(p *Pending) (store.Result, error) {
	var r store.Result
	m := w.mark()
	err := w.InSavepoint(func() error {
		r = w.protected(func() (store.Result, error) { return w.apply(p) })
		switch r.Outcome {
		case store.Failed:
			return fmt.Errorf("%w: %w", ErrUndo, r.Err)
		case store.Refused:
			return ErrUndo
		}
		return nil
	})
	switch {
	case err == nil:
		return r, nil
	case w.c.db.AutoCommit() || !errors.Is(err, ErrUndo):
		return store.Result{}, fmt.Errorf("%w: %w", errLost, err)
	}
	w.undo(m)
	return r, nil
}

// errUndo rolls a savepoint back, as any error does, where it is not an error.
var ErrUndo = errors.New("undo")

// inSavepoint runs fn in a savepoint, which is rolled back when fn fails. The
// error is fn's, or that of a transaction that is lost.
func (w *writer) InSavepoint(fn func() error) error {
	if _, err := w.c.Exec("SAVEPOINT op"); err != nil {
		return err
	}
	failed := fn()
	if failed != nil {
		if w.c.db.AutoCommit() {
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

// exec changes the database. What an event changes goes through here, so that
// it is known whether there is anything to undo.
func (w *writer) Exec(text string, args ...driver.Value) (int64, error) {
	w.dirty = true
	return w.c.Exec(text, args...)
}

// protected turns an error or a panic into a failure of the one event that
// caused it.
func (w *writer) protected(fn func() (store.Result, error)) (r store.Result) {
	defer func() {
		if v := recover(); v != nil {
			w.s.log.Error("panic while writing", "panic", v, "stack", string(debug.Stack()))
			r = store.Result{Outcome: store.Failed, Err: fmt.Errorf("panic while writing: %v", v)}
		}
	}()
	r, err := fn()
	if err != nil {
		return store.Result{Outcome: store.Failed, Err: WriteError(err)}
	}
	return r
}
