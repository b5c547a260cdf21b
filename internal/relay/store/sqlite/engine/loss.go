package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"engramd/internal/platform/journal"
	"engramd/internal/relay/store/sqlite/engine/highwater"
	"engramd/internal/relay/store/sqlite/engine/walscan"
)

// A database that is gone, or is not what it was, opens like any other one, and
// what it lacks would be taken for never written. So before SQLite touches
// anything it is held against what lies beside it: the mark file, the
// write-ahead log, and what only a relay with a database makes.

// ErrLoss means that a database lacks what it had. *LossError says what.
var ErrLoss = errors.New("the database lacks what it had")

// LossError says what a database lacks; errors.Is(err, ErrLoss) is true.
type LossError struct {
	What string
	Word string // of this loss only: Options.AcceptLoss
	keep func(path string) error
}

// Error says what to do, too.
func (e *LossError) Error() string {
	return fmt.Sprintf("%s; with the relay stopped, put a backup in its place (engramd restore FILE), or give up what is lost (engramd check --accept-loss %s)", e.What, e.Word)
}

// Is makes a LossError an ErrLoss.
func (e *LossError) Is(target error) bool { return target == ErrLoss }

// lost makes the error; with is what tells this loss from others, whatever name
// the folder is called by.
func lost(what string, with ...any) *LossError {
	sum := sha256.Sum256(fmt.Appendln(nil, with...))
	return &LossError{What: what, Word: hex.EncodeToString(sum[:6])}
}

// found is what lies in the folder of a database before it is opened.
type found struct {
	mark     highwater.Mark
	marked   error // why there is no mark: os.ErrNotExist, highwater.ErrUnreadable
	fresh    bool  // there is no database
	commits  int   // in the write-ahead log
	accepted bool  // a loss was
}

// MarkFile is the path of the mark file in a data folder.
func MarkFile(dir string) string { return filepath.Join(dir, "engramd.mark") }

// look holds the database against what lies beside it. The error is a
// *LossError where it lacks something and that was not accepted.
func (db *DB) look() (found, error) {
	if db.o.Mark == "" {
		return found{marked: os.ErrNotExist}, nil
	}
	f, loss, err := db.o.compare()
	if err != nil {
		return f, err
	}
	switch {
	case loss == nil && db.o.AcceptLoss != "":
		return f, errors.New("nothing is lost here that could be accepted")
	case loss == nil:
		if f.fresh {
			db.o.warnOfKeys()
		}
		return f, nil
	case loss.Word != db.o.AcceptLoss:
		return f, loss
	}
	if loss.keep != nil {
		if err := loss.keep(db.path + "-wal"); err != nil {
			return f, fmt.Errorf("keep the write-ahead log: %w", err)
		}
	}
	db.o.Log.Warn("a loss is accepted", "what", loss.What)
	f.accepted = true
	return f, nil
}

// warnOfKeys tells that a new database is made beside keys, which may have been
// put there for it, or be all that is left of another one.
func (o *Options) warnOfKeys() {
	for _, path := range o.Keys {
		if _, err := os.Stat(path); err == nil {
			o.Log.Warn("there is a key here and no database: a new one is made", "key", path)
		}
	}
}

// Lost is the error that Open would have for a database that lacks something,
// nil for any other.
func Lost(o Options) error {
	_, loss, err := o.compare()
	if loss != nil {
		return loss
	}
	return err
}

func (o *Options) compare() (f found, loss *LossError, err error) {
	if j, err := journal.Read(filepath.Dir(o.Path)); err != nil {
		return f, nil, err
	} else if j != nil && len(j.Moves) > 0 {
		return f, nil, fmt.Errorf("%s was interrupted, and the next start of the relay finishes it", j.Command)
	}
	f.mark, f.marked = highwater.Read(o.Mark)
	size, err := sizeOf(o.Path)
	if err != nil {
		return f, nil, err
	}
	wal, err := sizeOf(o.Path + "-wal")
	if err != nil {
		return f, nil, err
	}
	if f.fresh = size < 0 || size == 0 && wal <= 0; f.fresh {
		return f, o.missing(f, size, wal), nil
	}
	if wal > 0 {
		if loss, err = o.scan(&f, wal); loss != nil || err != nil {
			return f, loss, err
		}
	}
	if f.marked != nil {
		return f, nil, nil
	}
	id, at, err := o.standing()
	if err != nil { // opening it says the same
		return f, nil, nil
	}
	was := standing{f.mark.Seq, f.mark.Commits}
	switch {
	case id != f.mark.ID && id != [16]byte{}:
		return f, lost(fmt.Sprintf("%s is another database than the one that was here, which had stored %d events", o.Path, was.Seq), "another", f.mark, id, at), nil
	case id != f.mark.ID || at.behind(was):
		return f, lost(fmt.Sprintf("%s is behind: it had stored %d events and made %d other changes, and has %d and %d, so it is an older copy, or its write-ahead log is gone", o.Path, was.Seq, was.Commits, at.Seq, at.Commits), "behind", f.mark, id, at), nil
	}
	return f, nil, nil
}

// sizeOf is the size of a file, -1 of one that is not there.
func sizeOf(path string) (int64, error) {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return -1, nil
	}
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// missing is the loss of a database that is not there, although something tells
// that it was. One that a start made and did not come to fill is none.
func (o *Options) missing(f found, size, wal int64) *LossError {
	var signs []string
	var with []any
	tell := func(path string) {
		info, err := os.Stat(path)
		if err == nil {
			signs, with = append(signs, filepath.Base(path)), append(with, info.Size(), info.ModTime().UnixNano())
		}
	}
	tell(o.Mark)
	if wal > 0 {
		tell(o.Path + "-wal")
	}
	for _, path := range o.Signs {
		tell(path)
	}
	if len(signs) == 0 {
		return nil
	}
	what := fmt.Sprintf("the database %s is missing, and what is beside it tells that there was one: %s", o.Path, strings.Join(signs, ", "))
	loss := lost(what, append(with, "missing", signs, f.mark, size)...)
	if wal > 0 {
		loss.keep = func(path string) error { return os.Rename(path, path+".lost-"+loss.Word) }
	}
	return loss
}

// scan reads the write-ahead log. A relay that runs, and changes it meanwhile,
// has done so when it began.
func (o *Options) scan(f *found, size int64) (*LossError, error) {
	report, err := o.scanned(f.mark)
	if report.Damaged && o.ReadOnly {
		lock, e := Lock(filepath.Dir(o.Path))
		if held := new(LockedError); errors.As(e, &held) && held.PID != os.Getpid() {
			return nil, nil
		}
		if e == nil {
			report, err = o.scanned(f.mark)
			err = errors.Join(err, lock.Unlock())
		}
	}
	f.commits = report.Commits
	if err != nil || !report.Damaged {
		return nil, err
	}
	loss := lost(fmt.Sprintf("the write-ahead log %s-wal is damaged at byte %d, and %d commits that lie there or behind it cannot be read", o.Path, report.At, report.Lost), "log", report, size)
	loss.keep = func(path string) error { return copyFile(path, path+".lost-"+loss.Word) }
	return loss, nil
}

func (o *Options) scanned(m highwater.Mark) (report walscan.Report, err error) {
	f, err := os.Open(o.Path + "-wal")
	if err != nil {
		return report, err
	}
	defer f.Close()
	return walscan.Scan(f, walscan.Hint{Salt: m.Salt, PageSize: pageSize})
}

// standing reads the id of a database and how far it is, by a connection that
// cannot even write its log back when it is closed.
func (o *Options) standing() (id [16]byte, at standing, err error) {
	c, err := connect(o.Path, url.Values{"mode": {"ro"}}, []string{"trusted_schema=OFF"})
	if err != nil {
		return id, at, err
	}
	defer c.Close()
	if there, err := c.Exists(`SELECT 1 FROM sqlite_schema WHERE name = 'meta'`); err != nil || !there {
		return id, at, err
	}
	return readStanding(c, o.Last)
}

// readStanding reads it where there are the tables. A database that was never told
// has no id; what it has given is not asked for.
func readStanding(c *Conn, last string) (id [16]byte, at standing, err error) {
	b, err := c.Blob(SQLMeta, metaID)
	if err != nil {
		return id, at, err
	}
	copy(id[:], b)
	if at.Commits, err = c.Number(SQLMeta, metaCommits); err == nil && last != "" && len(b) > 0 {
		at.Seq, err = c.Number(last)
	}
	return id, at, err
}
