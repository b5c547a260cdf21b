package engine

import (
	"errors"

	"github.com/mattn/go-sqlite3"

	"engramd/internal/relay/store"
)

// A database may be one of several that apply the same members in the same
// order (Options.Halt). Then nothing may depend on where transactions begin and
// end, or on the disk: what was begun is finished before the next member, and
// where a member cannot be applied, none is from then on.

func (w *Writer) strict() bool { return w.db.o.Halt != nil }

// Halt has nothing more applied, and tells of it once.
func (w *Writer) Halt(err error) {
	if w.halted == nil {
		w.halted = err
		w.db.o.Halt(err)
	}
}

// Halted is why nothing more is applied, nil while members are.
func (w *Writer) Halted() error { return w.halted }

// finishJobs does what members began, before the next one is applied.
func (w *Writer) finishJobs() {
	for w.strict() && w.halted == nil && w.Busy() {
		if _, err := w.Step(w.GoOn); err != nil {
			w.GiveUp(err)
			w.Halt(err)
		}
	}
}

// Broken reports whether an error is the machine's or the program's: one that
// another database need not have met. Any other follows from what is stored and
// what was asked for.
func Broken(err error) bool {
	var e sqlite3.Error
	return errors.As(err, &e) || errors.Is(err, errPanic) || errors.Is(err, errLost) || errors.Is(err, store.ErrFull) || errors.Is(err, store.ErrClosed)
}
