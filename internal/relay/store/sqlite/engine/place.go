package engine

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"engramd/internal/platform/journal"
	"engramd/internal/relay/store/sqlite/engine/highwater"
)

// CopyBackup copies a database that nobody writes to another name, with the
// write-ahead log that a copy of a whole folder has beside it.
func CopyBackup(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no file", from)
	}
	if err := copyFile(from, to); err != nil {
		return err
	}
	if wal, err := sizeOf(from + "-wal"); err != nil || wal <= 0 {
		return err
	}
	o := Options{Path: from}
	report, err := o.scanned(highwater.Mark{})
	if err == nil && report.Damaged {
		err = fmt.Errorf("the write-ahead log %s-wal is damaged at byte %d", from, report.At)
	}
	if err != nil {
		return err
	}
	return copyFile(from+"-wal", to+"-wal")
}

// Place puts a database in the place of the one that o names, which with its
// write-ahead log stays in the folder aside, if there is any: kept says so. The
// caller holds the Lock of the folder, in which both are.
//
// Interrupted anywhere, it is finished by the journal that it writes first.
func Place(o Options, database, aside, command string) (kept bool, err error) {
	j, err := placing(o, database, aside, command)
	if err == nil {
		err = j.Write(filepath.Dir(o.Path))
	}
	if err == nil {
		_, err = journal.Finish(filepath.Dir(o.Path))
	}
	return err == nil && j.Moves[0].To != filepath.Base(o.Mark), err
}

// placing makes what is moved beside the database, and says what moves.
func placing(o Options, database, aside, command string) (*journal.Journal, error) {
	mark, err := renamed(database)
	if err != nil {
		return nil, err
	}
	f, err := highwater.Make(database+".mark", mark)
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("write the mark file: %w", err)
	}
	moves, err := journal.Aside(filepath.Dir(o.Path), aside, Files(o.Path)...)
	moves = append(moves, journal.Move{From: filepath.Base(database) + ".mark", To: filepath.Base(o.Mark), Over: true},
		journal.Move{From: filepath.Base(database), To: filepath.Base(o.Path)})
	return &journal.Journal{Command: command, Moves: moves}, err
}

// Files are the names of a database, and of what SQLite and a relay have beside it.
func Files(path string) []string {
	name := filepath.Base(path)
	return []string{name, name + "-wal", name + "-shm", filepath.Base(Unread(path))}
}

// renamed gives a database an id of its own, in one file without a log, and
// returns its mark.
func renamed(path string) (m highwater.Mark, err error) {
	c, err := connect(path, url.Values{}, []string{"synchronous=FULL", "trusted_schema=OFF", "journal_mode=DELETE"})
	if err != nil {
		return m, err
	}
	m.ID = highwater.NewID()
	w := changes{c: c}
	if err = c.Transaction(func() error { return w.SetMeta(metaID, m.ID[:]) }); err == nil {
		var at standing
		_, at, err = readStanding(c, "")
		m.Commits = at.Commits
	}
	if err = errors.Join(err, c.Close()); err != nil {
		return m, err
	}
	return m, syncPath(path)
}
