package sealedfile

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/ncruces/go-sqlite3"
)

const (
	busyTimeout   = 10 * time.Second
	pageBytes     = 4096 // what Adiantum encrypts at once
	maxStatements = 64   // prepared ones that a connection keeps
)

// conn is one connection, used by one goroutine at a time.
type conn struct {
	db       *sqlite3.Conn
	round    int // of the file: see File.Mended
	prepared map[string]*sqlite3.Stmt
}

// dial opens a connection.
func (f *File) dial(ctx context.Context) (*conn, error) {
	name := ":memory:"
	if !f.inMemory() {
		name = uri(f.path, f.vfs)
	}
	db, err := sqlite3.OpenContext(ctx, name)
	if err != nil {
		return nil, damage(err)
	}
	c := &conn{db: db, prepared: map[string]*sqlite3.Stmt{}}
	if _, err := db.Config(sqlite3.DBCONFIG_NO_CKPT_ON_CLOSE, true); err != nil {
		c.close()
		return nil, damage(err)
	}
	sync := "NORMAL"
	if f.o.Durable {
		sync = "FULL"
	}
	settings := []string{"PRAGMA temp_store=memory", "PRAGMA synchronous=" + sync, "PRAGMA cell_size_check=ON", "PRAGMA foreign_keys=ON",
		"PRAGMA trusted_schema=OFF", fmt.Sprintf("PRAGMA wal_autocheckpoint=%d", logBytes/pageBytes), fmt.Sprintf("PRAGMA journal_size_limit=%d", logBytes)}
	if f.o.MaxBytes > 0 {
		settings = append(settings, fmt.Sprintf("PRAGMA max_page_count=%d", max(f.o.MaxBytes/pageBytes, 1)))
	}
	if err := db.BusyTimeout(busyTimeout); err != nil {
		c.close()
		return nil, damage(err)
	}
	for _, s := range settings {
		if err := c.exec(s); err != nil {
			c.close()
			return nil, err
		}
	}
	db.SetInterrupt(context.Background())
	return c, nil
}

// uri names the file for SQLite; new files get the permissions of the first.
func uri(path, vfs string) string {
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // a drive's letter
	}
	u := url.URL{Scheme: "file", Path: slashed, RawQuery: "vfs=" + vfs + "&modeof=" + strings.ReplaceAll(url.QueryEscape(path), "+", "%20")}
	return u.String()
}

// prepare brings a file that was just opened to what this program needs.
func (f *File) prepare(ctx context.Context, c *conn) error {
	fresh, err := c.number("SELECT count(*) = 0 FROM sqlite_schema")
	if err != nil {
		return err
	}
	if fresh == 1 && !f.inMemory() {
		if err := c.db.EnableChecksums("main"); err != nil {
			return damage(err)
		}
	}
	if !f.inMemory() {
		if err := c.summed(); err != nil {
			return err
		}
	}
	if err := c.exec("PRAGMA journal_mode=wal"); err != nil {
		return err
	}
	if err := f.named(); err != nil {
		return err
	}
	if fresh == 0 {
		// Most files are as they must be: who opens one waits for no writer.
		done, err := f.settled(ctx, c)
		if done || err != nil {
			return err
		}
	}
	return c.transact(ctx, "BEGIN IMMEDIATE", func(tx *Tx) error {
		if err := f.migrate(tx, fresh == 1); err != nil {
			return err
		}
		return f.check(tx)
	}, noGuard)
}

// settled checks a file whose schema is this program's; false if it is another.
func (f *File) settled(ctx context.Context, c *conn) (done bool, err error) {
	err = c.transact(ctx, "BEGIN", func(tx *Tx) error {
		kind, has := tx.version()
		if tx.err != nil || kind != int64(f.o.Application) || has != int64(len(f.o.Schema)) {
			return tx.err
		}
		done = true
		return f.check(tx)
	}, noGuard)
	if errors.Is(err, sqlite3.BUSY) { // the check writes, and so does another
		return false, nil
	}
	return done, err
}

func (f *File) check(tx *Tx) error {
	if f.o.Check == nil {
		return nil
	}
	return f.o.Check(tx)
}

func noGuard() error { return nil }

// version returns what kind of file it is, and how many steps of its schema it
// has.
func (t *Tx) version() (kind, has int64) {
	return t.Int("PRAGMA application_id"), t.Int("PRAGMA user_version")
}

// migrate runs the steps of the schema that the file lacks.
func (f *File) migrate(tx *Tx, fresh bool) error {
	kind, has := tx.version()
	if tx.err != nil {
		return tx.err
	}
	if !fresh && kind != int64(f.o.Application) {
		return ErrForeign
	}
	if has > int64(len(f.o.Schema)) {
		return ErrNewer
	}
	if has == int64(len(f.o.Schema)) {
		return nil
	}
	for _, step := range f.o.Schema[max(has, 0):] {
		if err := tx.c.exec(step); err != nil {
			return err
		}
	}
	return tx.c.exec(fmt.Sprintf("PRAGMA application_id=%d; PRAGMA user_version=%d", f.o.Application, len(f.o.Schema)))
}

// summed fails unless pages get checksums, and theirs are looked at.
func (c *conn) summed() error {
	on, err := c.number("PRAGMA checksum_verification")
	if err == nil && on != 1 {
		err = fmt.Errorf("%w (it has no checksums)", ErrDamaged)
	}
	return err
}

func (c *conn) exec(sql string) error { return damage(c.db.Exec(sql)) }

// number returns the one number that a statement answers.
func (c *conn) number(sql string) (n int64, err error) {
	tx := &Tx{c: c}
	n = tx.Int(sql)
	return n, tx.err
}

func (c *conn) close() error {
	for _, s := range c.prepared {
		s.Close()
	}
	return c.db.Close()
}

// damage makes ErrDamaged of errors that say that the bytes are not what was
// written. Messages of SQLite may repeat names of tables, but no values.
func damage(err error) error {
	for _, code := range []error{sqlite3.NOTADB, sqlite3.CORRUPT, sqlite3.FORMAT, sqlite3.IOERR_DATA, sqlite3.IOERR_SHORT_READ} {
		if errors.Is(err, code) {
			return fmt.Errorf("%w (%w)", ErrDamaged, err)
		}
	}
	return err
}
