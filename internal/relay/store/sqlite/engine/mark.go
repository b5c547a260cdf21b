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

// marks counts commits, and keeps the mark file.
type marks struct {
	o      *Options // Mark is "" where no file is kept
	c      *Conn
	at     standing // durable
	raised bool     // the transaction under way raises at.Commits

	id    [16]byte
	named bool // it is in the database
	file  *highwater.File
	wal   *os.File // read for its salt
	err   error    // the file could not be written since
}

// count counts the transaction under way, at its end, by the last number that it
// has given.
func (m *marks) count(number int64) (err error) {
	if m.raised = number <= m.at.Seq; m.raised {
		_, err = m.c.Exec(sqlCommits)
	}
	return err
}

// durable notes that it is durable. Where it was the first one of its log, the
// mark is written. That it is durable is answered even if that fails: what comes
// after it is refused.
func (m *marks) durable(number int64) {
	if m.raised {
		m.at.Commits++
	}
	m.at.Seq = max(m.at.Seq, number)
	if m.file != nil && m.file.Last().Salt != m.salt() {
		m.note()
	}
}

// open begins to keep the mark file of an open database. One that has none gets
// it, and an id of its own: it may be a copy. Where there is no room for that the
// database can be read.
func (m *marks) open(f found) (err error) {
	if m.o.Mark == "" {
		return nil
	}
	if m.wal, err = os.Open(m.o.Path + "-wal"); err != nil {
		return err
	}
	if m.id, m.named = f.mark.ID, true; f.marked != nil || f.accepted {
		m.id, m.named = highwater.NewID(), false
		switch {
		case f.fresh || f.accepted:
		case errors.Is(f.marked, os.ErrNotExist):
			m.o.Log.Info("the database has no mark file yet: it is taken as it is, and gets one", "file", m.o.Mark)
		default:
			m.o.Log.Warn("the mark file is made anew: whether the database lost something cannot be told", "err", f.marked)
		}
	} else {
		m.file, m.err = highwater.Open(m.o.Mark)
	}
	if err := m.write(); err != nil {
		m.o.Log.Warn("the mark file cannot be written: writes are refused until it can", "err", err)
	}
	if f.commits > 0 {
		m.o.Log.Info("the write-ahead log was read", "commits", f.commits, "last", m.at.Seq)
	}
	return nil
}

// write writes how far the database is, all of which is durable.
func (m *marks) write() error {
	m.err = m.written()
	return m.err
}

func (m *marks) written() (err error) {
	if !m.named {
		if err := m.c.Transaction(func() error { _, err := m.c.Exec(sqlSetMeta, metaID, m.id[:]); return err }); err != nil {
			return err
		}
		m.named = true
	}
	mark := highwater.Mark{ID: m.id, Commits: m.at.Commits, Salt: m.salt()}
	if m.o.Last != "" {
		if mark.Seq, err = m.c.Number(m.o.Last); err != nil {
			return err
		}
	}
	if m.file == nil {
		m.file, err = highwater.Make(m.o.Mark, mark)
		return err
	}
	return m.file.Write(mark)
}

// salt is that of the write-ahead log in use; zero: it is empty.
func (m *marks) salt() (salt [8]byte) {
	_, _ = m.wal.ReadAt(salt[:], 16)
	return salt
}

// note writes the mark of a log that is begun, or was written back.
func (m *marks) note() {
	if m.file == nil || m.err != nil {
		return
	}
	if err := m.write(); err != nil {
		m.o.Log.Error("the mark file cannot be written: writes are refused until it can", "err", err)
	}
}

// writable fails as a full disk does while the mark file cannot be written. No
// transaction is open.
func (m *marks) writable() error {
	if m.err == nil {
		return nil
	}
	if err := m.write(); err != nil {
		return fmt.Errorf("%w: its mark file cannot be written: %w", store.ErrFull, err)
	}
	m.o.Log.Info("the mark file is written again")
	return nil
}

// close writes the mark of a database that is about to be closed.
func (m *marks) close() (err error) {
	if m.wal == nil {
		return nil
	}
	if m.err == nil {
		err = m.write()
	}
	_ = m.wal.Close() // only read
	if m.file != nil {
		_ = m.file.Close() // what was written was synced
	}
	return err
}
