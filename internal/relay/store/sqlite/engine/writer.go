package engine

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/mattn/go-sqlite3"

	"engramd/internal/relay/store"
)

// Writer is the actor that owns the only connection that writes. Nothing
// outside its goroutine touches it.
type Writer struct {
	Now   int64 // Unix seconds, the same throughout a transaction
	Extra int   // cost of what was done beside the members' own, ever: it ends a transaction as theirs does

	changes
	jobs
	marks   marks
	db      *DB
	applier Applier
	after   []func()       // what becomes true with the commit
	broken  error          // why a member could not be stored, as long as none has been since
	tried   *Member        // that one, nil for none
	halved  bool           // a batch is tried again in halves
	results []store.Result // of the batch under way
	keeper  keeper
	halted  error // why nothing more is applied, nil while it is
}

// changes are how the database is changed, on one connection.
type changes struct {
	c     *Conn
	log   *slog.Logger
	dirty bool // the current member has changed something, or tried

	// touched: the current transaction has changed rows. One that has not is counted by
	// nothing, and writes nothing: a start needs no room.
	touched bool
}

// Conn is the connection that writes. What a member changes goes through
// Writer.Exec.
func (w *changes) Conn() *Conn { return w.c }

// LimitSize bounds the database file to a number of bytes, 0 for SQLite's own
// limit. SQLite never cuts what is there: with less than that nothing can be
// added until rows are deleted or the limit is raised.
func (w *changes) LimitSize(bytes int64) error {
	pages := int64(4294967294)
	if bytes > 0 {
		size, err := w.c.Number("PRAGMA page_size")
		if err != nil {
			return err
		}
		pages = max(1, bytes/size)
	}
	_, err := w.c.Number(fmt.Sprintf("PRAGMA max_page_count=%d", pages))
	return err
}

// close checkpoints, marks, and closes the connection.
func (w *Writer) close() error {
	err := w.c.Script("PRAGMA wal_checkpoint(TRUNCATE)")
	return errors.Join(err, w.marks.close(), w.c.Close())
}

// SQLMeta reads a value of the table meta.
const SQLMeta = `SELECT value FROM meta WHERE key = ?`

const sqlSetMeta = `INSERT INTO meta(key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = ?2`

// Meta reads a text of the table meta, "" when it is not there.
func (c *Conn) Meta(name string) (string, error) {
	return c.Text(SQLMeta, name)
}

// SetMeta writes a value of the table meta.
func (w *changes) SetMeta(name string, value Value) error {
	return w.Do(sqlSetMeta, name, value)
}

// DropMeta removes a value of the table meta.
func (w *changes) DropMeta(name string) error {
	return w.Do(`DELETE FROM meta WHERE key = ?`, name)
}

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
