package storetest

import (
	"bytes"
	"crypto/rand"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/mattn/go-sqlite3"

	"engramd/migrations"
)

// New puts a database with nothing in it at the path where there is no file: what
// Open makes of nothing, but for the key of the parties' names, which every
// database has of its own. Migrating one takes most of the time of opening it,
// and tests open thousands; TestTemplateIsWhatOpenMakes compares.
func New(tb testing.TB, path string) {
	tb.Helper()
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	t, err := template()
	if err != nil {
		tb.Fatal(err)
	}
	file := bytes.Clone(t.file)
	if _, err := rand.Read(file[t.parties : t.parties+partiesBytes]); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(path, file, 0o600); err != nil {
		tb.Fatal(err)
	}
}

const (
	templatePragmas = "PRAGMA page_size=8192; PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF; PRAGMA secure_delete=ON"
	partiesBytes    = 32
)

// migrated is a database's file, and where the key of the parties' names lies in it.
type migrated struct {
	file    []byte
	parties int
}

// template is made once in each process.
var template = sync.OnceValues(func() (t migrated, err error) {
	dir, err := os.MkdirTemp("", "engramd-template-")
	if err != nil {
		return t, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "engramd.db")
	key, err := migrateAll(path)
	if err != nil {
		return t, err
	}
	if t.file, err = os.ReadFile(path); err != nil {
		return t, err
	}
	if len(key) != partiesBytes || bytes.Count(t.file, key) != 1 {
		return t, fmt.Errorf("the key of the parties' names is not %d bytes at one place", partiesBytes)
	}
	t.parties = bytes.Index(t.file, key)
	return t, nil
})

// migrateAll makes the file and returns its key of the parties' names.
func migrateAll(path string) (key []byte, err error) {
	all, err := migrations.All()
	if err != nil {
		return nil, err
	}
	c, err := (&sqlite3.SQLiteDriver{}).Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	script := templatePragmas + "; BEGIN;\n"
	for _, m := range all {
		for _, step := range m.Steps() {
			if !step.Ranged { // of no rows there is no range
				script += step.SQL + ";\n"
			}
		}
	}
	script += fmt.Sprintf("PRAGMA application_id=%d; PRAGMA user_version=%d; COMMIT", migrations.ApplicationID, len(all))
	if _, err := c.(*sqlite3.SQLiteConn).Exec(script, nil); err != nil {
		return nil, err
	}
	rows, err := c.(*sqlite3.SQLiteConn).Query("SELECT value FROM meta WHERE key = 'parties'", nil)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	value := make([]driver.Value, 1)
	if err := rows.Next(value); err != nil {
		return nil, err
	}
	key, _ = value[0].([]byte)
	return key, nil
}
