package engine

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"engramd/internal/platform/files"
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
// From when the mark names the new database until that is in place, a start is
// refused: interrupted anywhere, it is done again.
func Place(o Options, database, aside string) (kept bool, err error) {
	mark, err := renamed(database)
	if err != nil {
		return false, err
	}
	if kept, err = keep(o.Path, aside); err != nil {
		return false, fmt.Errorf("keep what was here: %w", err)
	}
	f, err := highwater.Make(o.Mark, mark)
	if err != nil {
		return kept, fmt.Errorf("write the mark file: %w", err)
	}
	dir := filepath.Dir(o.Path)
	for _, path := range []string{o.Path + "-wal", o.Path + "-shm", Unread(o.Path)} {
		if e := os.Remove(path); e != nil && !errors.Is(e, os.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	// The old log would be read into the new database.
	if err = errors.Join(err, f.Close(), files.SyncDir(dir)); err != nil {
		return kept, err
	}
	if err := os.Rename(database, o.Path); err != nil {
		return kept, err
	}
	return kept, files.SyncDir(dir)
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

// keep gives a database and its log a second name each in a folder, durably.
func keep(path, aside string) (kept bool, err error) {
	for _, end := range []string{"", "-wal"} {
		if size, err := sizeOf(path + end); err != nil || size <= 0 {
			if err != nil {
				return kept, err
			}
			continue
		}
		if err := makeDir(aside); err != nil {
			return kept, err
		}
		if err := os.Link(path+end, filepath.Join(aside, filepath.Base(path)+end)); err != nil {
			return kept, err
		}
		kept = true
	}
	if !kept {
		return false, nil
	}
	return true, files.SyncDir(aside)
}
