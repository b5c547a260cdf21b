package engine

import (
	"errors"
	"fmt"
	"os"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine/highwater"
)

// The mark file says how far the database is. It is written after what it names
// is durable, so that no loss of power makes a whole database look like one that
// lost something; and before the first answer of each generation of the
// write-ahead log, for what is in a log alone is lost with it.

// How far a database is, in the table meta: a process's own, which nodes of a
// cluster do not have in common.
const (
	metaID      = "mark.id"
	metaCommits = "mark.commits"
	sqlCommits  = `INSERT INTO meta(key, value) VALUES ('` + metaCommits + `', 1) ON CONFLICT (key) DO UPDATE SET value = value + 1`
)

// standing is how far a database is. Each commit that changes something raises
// one of the two: a commit that gives numbers is told by these, so that the most
// frequent one, of an event alone, writes no page of meta.
type standing struct {
	Seq     int64 // the last number given
	Commits int64 // that gave none
}

// behind reports whether a database at s is not one that was at other.
func (s standing) behind(other standing) bool {
	return s.Seq < other.Seq || s.Commits < other.Commits
}

// counter counts commits.
type counter struct {
	at     standing // durable
	raised bool     // the transaction under way raises at.Commits
}

// marker keeps the mark file.
type marker struct {
	path string // "": none is kept
	file *highwater.File
	wal  *os.File // read for its salt
	id   [16]byte
	err  error // the file could not be written since
}

// endCount counts the transaction under way, at its end. One that has changed
// nothing stays one that writes nothing.
func (w *Writer) endCount() (err error) {
	if w.raised = w.touched && w.applier.Number() <= w.at.Seq; w.raised {
		_, err = w.c.Exec(sqlCommits)
	}
	return err
}

// counted notes that it is durable.
func (w *Writer) counted() {
	if w.raised {
		w.at.Commits++
	}
	w.at.Seq = max(w.at.Seq, w.applier.Number())
}

// openMark begins to keep the mark file of an open database. One that has none
// gets it, and an id of its own: it may be a copy.
func (w *Writer) openMark(f found) error {
	m, o := &w.marker, &w.db.o
	if m.path = o.Mark; m.path == "" {
		return nil
	}
	var err error
	if m.wal, err = os.Open(w.db.path + "-wal"); err != nil {
		return err
	}
	if m.id = f.mark.ID; f.marked != nil || f.accepted {
		m.id = highwater.NewID()
		if _, err := w.Step(func() (bool, error) { return false, w.SetMeta(metaID, m.id[:]) }); err != nil {
			return fmt.Errorf("name the database: %w", err)
		}
		switch {
		case f.fresh || f.accepted:
		case errors.Is(f.marked, os.ErrNotExist):
			o.Log.Info("the database has no mark file yet: it is taken as it is, and gets one", "file", m.path)
		default:
			o.Log.Warn("the mark file is made anew: whether the database lost something cannot be told", "err", f.marked)
		}
	} else if m.file, err = highwater.Open(m.path); err != nil {
		m.err = err
	}
	if err := w.writeMark(); err != nil {
		o.Log.Warn("the mark file cannot be written: writes are refused until it can", "err", err)
	}
	if f.commits > 0 {
		o.Log.Info("the write-ahead log was read", "commits", f.commits, "last", w.at.Seq)
	}
	return nil
}

// writeMark writes how far the database is, all of which is durable.
func (w *Writer) writeMark() (err error) {
	m := &w.marker
	if m.path == "" {
		return nil
	}
	mark := highwater.Mark{ID: m.id, Commits: w.at.Commits, Salt: m.salt()}
	if w.db.o.Last != "" {
		mark.Seq, err = w.c.Number(w.db.o.Last)
	}
	if err != nil {
		m.err = err
		return err
	}
	if m.file == nil {
		m.file, err = highwater.Make(m.path, mark)
	} else {
		err = m.file.Write(mark)
	}
	m.err = err
	return err
}

// salt is that of the write-ahead log in use; zero: it is empty.
func (m *marker) salt() (salt [8]byte) {
	_, _ = m.wal.ReadAt(salt[:], 16)
	return salt
}

// followLog writes the mark when a commit was the first one of its log. What is
// durable is answered so even if that fails: what comes after it is refused.
func (w *Writer) followLog() {
	if m := &w.marker; m.file != nil && m.file.Last().Salt != m.salt() {
		w.noteLog()
	}
}

// noteLog writes the mark of a log that is begun, or was written back.
func (w *Writer) noteLog() {
	if w.marker.file == nil || w.marker.err != nil {
		return
	}
	if err := w.writeMark(); err != nil {
		w.db.o.Log.Error("the mark file cannot be written: writes are refused until it can", "err", err)
	}
}

// marked fails as a full disk does while the mark file cannot be written.
func (w *Writer) marked() error {
	if w.marker.err == nil {
		return nil
	}
	if err := w.writeMark(); err != nil {
		return fmt.Errorf("%w: its mark file cannot be written: %w", store.ErrFull, err)
	}
	w.db.o.Log.Info("the mark file is written again")
	return nil
}

// closeMark writes the mark of a database that is about to be closed.
func (w *Writer) closeMark() error {
	m := &w.marker
	if m.path == "" || m.wal == nil {
		return nil
	}
	var err error
	if m.err == nil {
		err = w.writeMark()
	}
	_ = m.wal.Close() // only read
	if m.file != nil {
		_ = m.file.Close() // what was written was synced
	}
	return err
}
