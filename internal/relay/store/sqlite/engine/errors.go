package engine

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/mattn/go-sqlite3"

	"engramd/internal/relay/store"
)

// What opening a database, and writing a file beside it, may end with.
var (
	// ErrOlder means that the database lacks migrations and was opened for
	// reading only, without Scratch or AsIs.
	ErrOlder = errors.New("the database is of an older version: start engramd serve once to bring it up to date")
	// ErrNewer means that the database was written by a newer engramd. It is
	// wrapped with both versions.
	ErrNewer = errors.New("the database is newer than this program")
	// ErrForeign means that the file is an SQLite database of something else.
	ErrForeign = errors.New("not an engramd database")
	// ErrLocked means that another process holds the data folder. *LockedError
	// names it.
	ErrLocked = errors.New("the data folder is in use")
	// ErrExists means that a file that would be written is there already.
	ErrExists = errors.New("the file exists already")
)

// readError turns the error of a read under ctx (made from the caller's parent)
// into what callers may rely on: ErrTimeout for the time limit, the parent's
// error when the caller went away, and everything else as it is.
func readError(parent, ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(parent.Err(), context.Canceled):
		return parent.Err()
	case errors.Is(err, store.ErrEnded), errors.Is(err, store.ErrClosed), errors.Is(err, store.ErrTimeout):
		return err
	case ctx.Err() != nil || isCode(err, sqlite3.ErrInterrupt):
		return fmt.Errorf("%w: %w", store.ErrTimeout, err)
	}
	return err
}

// WriteError names the errors of a write that an operator can do something
// about. SQLite calls a full disk full, but not one on which a quota is
// reached, or the file that connections share cannot grow.
func WriteError(err error) error {
	var e sqlite3.Error
	if !errors.As(err, &e) || errors.Is(err, store.ErrFull) {
		return err
	}
	full := e.Code == sqlite3.ErrFull || e.Code == sqlite3.ErrIoErr && (e.SystemErrno == syscall.ENOSPC || e.SystemErrno == syscall.EDQUOT)
	if full {
		return fmt.Errorf("%w: %w", store.ErrFull, err)
	}
	return err
}

// Causes of failed writes, for the observer.
const (
	causeFull    = "full"
	causeIO      = "io"
	causeCorrupt = "corrupt"
	causeOther   = "database" // anything else that SQLite says
	causeFault   = "fault"    // of the program
)

// causeOf is why a write failed, in a word.
func causeOf(err error) string {
	var e sqlite3.Error
	switch {
	case errors.Is(err, store.ErrFull):
		return causeFull
	case !errors.As(err, &e):
		return causeFault
	case e.Code == sqlite3.ErrIoErr || e.Code == sqlite3.ErrCantOpen || e.Code == sqlite3.ErrReadonly:
		return causeIO
	case e.Code == sqlite3.ErrCorrupt || e.Code == sqlite3.ErrNotADB:
		return causeCorrupt
	}
	return causeOther
}

// Unreadable reports whether a read failed for a page that cannot be read, or is not
// what SQLite writes.
func Unreadable(err error) bool {
	var e sqlite3.Error
	return errors.As(err, &e) && (e.Code == sqlite3.ErrIoErr || e.Code == sqlite3.ErrCorrupt)
}

// isCode reports whether err is the SQLite error with this primary result code.
func isCode(err error, code sqlite3.ErrNo) bool {
	var e sqlite3.Error
	return errors.As(err, &e) && e.Code == code
}

// OutOfRoom reports whether a write failed for want of disk or memory, and not
// because something is broken.
func OutOfRoom(err error) bool {
	return isCode(err, sqlite3.ErrFull) || isCode(err, sqlite3.ErrIoErr) || isCode(err, sqlite3.ErrNomem)
}

// Corrupt reports whether SQLite found that its file does not hang together.
func Corrupt(err error) bool { return isCode(err, sqlite3.ErrCorrupt) }

// failure is the result for an error of the store; nil makes an empty one.
func failure(err error) store.Result {
	if err == nil {
		return store.Result{}
	}
	return store.Result{Outcome: store.Failed, Err: err}
}
