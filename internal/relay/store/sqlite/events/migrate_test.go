package events_test

import (
	"bytes"
	"database/sql/driver"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mattn/go-sqlite3"
	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/events"
	"engramd/internal/relay/store/sqlite/storetest"
	"engramd/migrations"
)

// beforeNumbers is the last version in which indexes held keys in full.
const beforeNumbers = 3

// What the tables of either format say, keys in full.
const (
	sqlAllEvents = `SELECT concat_ws('|', seq, kind, created_at, class, quote(d), typeof(readers), quote(CASE typeof(readers)
		WHEN 'integer' THEN (SELECT key FROM pubkeys WHERE num = readers) ELSE readers END), expires_at, arrived_at,
		hex((SELECT key FROM pubkeys WHERE num = author)), hex(json)) FROM events ORDER BY seq`
	sqlAllTags = `SELECT concat_ws('|', name, quote(CASE WHEN name IN ('p', 'pp') AND typeof(value) = 'integer'
		THEN (SELECT key FROM pubkeys WHERE num = value) ELSE value END), typeof(value), class, created_at, seq, kind) FROM tags ORDER BY 1`
	sqlAllKeys    = `SELECT hex(key) FROM pubkeys ORDER BY key`
	sqlAllHistory = `SELECT concat_ws('|', seq, kind, quote(d), quote(readers), hex(json)) FROM history ORDER BY seq`
	sqlWholeSpec  = `SELECT concat_ws('|', type, name, sql) FROM sqlite_schema ORDER BY type, name`
)

// database is a connection on a file that is not the store's.
func database(t testing.TB, path string) *sqlite3.SQLiteConn {
	t.Helper()
	c, err := (&sqlite3.SQLiteDriver{}).Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c.(*sqlite3.SQLiteConn)
}

func run(t testing.TB, c *sqlite3.SQLiteConn, statements ...string) {
	t.Helper()
	for _, text := range statements {
		if _, err := c.Exec(text, nil); err != nil {
			t.Fatalf("%.60s: %v", text, err)
		}
	}
}

// version is what the file at path says of itself.
func version(t *testing.T, path string) int64 {
	t.Helper()
	c := database(t, path)
	rows, err := c.Query("PRAGMA user_version", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	v := make([]driver.Value, 1)
	if err := rows.Next(v); err != nil && err != io.EOF {
		t.Fatal(err)
	}
	return v[0].(int64)
}

// oldWorld is a store of random events, and a file at the path that holds the
// same in the format without numbers.
func oldWorld(t *testing.T, events int) (*world, string) {
	t.Helper()
	w := newWorld(t, 99, events)
	for i, p := range []string{"5", "1", "", bob.Pub} { // TEXT that reads like a number is none
		put(t, w.store, alice.Note(int64(i), "hi", nostr.Tag{"p", p}), store.Stored)
	}
	if err := w.store.Sweep(t.Context()); err != nil { // keys of random events that are gone already
		t.Fatal(err)
	}
	today := filepath.Join(t.TempDir(), "today.db")
	if err := w.store.Backup(t.Context(), today); err != nil {
		t.Fatal(err)
	}
	all, err := migrations.All()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "engramd.db")
	c := database(t, path)
	run(t, c, "PRAGMA page_size=8192", "PRAGMA journal_mode=WAL")
	for _, m := range all[:beforeNumbers] {
		run(t, c, m.SQL)
	}
	run(t, c, "ATTACH '"+today+"' AS n",
		`INSERT INTO events(seq, kind, created_at, class, d, readers, expires_at, arrived_at, json) SELECT seq, kind, created_at,
			class, d, CASE typeof(readers) WHEN 'integer' THEN (SELECT key FROM n.pubkeys WHERE num = readers) ELSE readers END,
			expires_at, arrived_at, json FROM n.events`,
		`INSERT INTO tags SELECT name, CASE WHEN name = 'p' AND typeof(value) = 'integer'
			THEN (SELECT key FROM n.pubkeys WHERE num = value) ELSE value END, created_at, seq, kind FROM n.tags WHERE name <> 'pp'`,
		`INSERT INTO history(seq, kind, created_at, class, d, readers, expires_at, arrived_at, superseded_at, json)
			SELECT seq, kind, created_at, class, d, readers, expires_at, arrived_at, superseded_at, json FROM n.history`,
		`INSERT INTO deleted_ids SELECT id, pubkey FROM n.deleted_ids`, `INSERT INTO deleted_addresses SELECT kind, pubkey, d, until FROM n.deleted_addresses`,
		`INSERT INTO vanished SELECT * FROM n.vanished`, `INSERT INTO meta SELECT * FROM n.meta WHERE key = 'gate'`,
		`INSERT INTO contract_states SELECT contract, a, b, poster, status, created_at, event FROM n.contract_states`,
		"DETACH n", fmt.Sprintf("PRAGMA application_id=%d", migrations.ApplicationID),
		fmt.Sprintf("PRAGMA user_version=%d", beforeNumbers))
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	return w, path
}

// wantSame compares what an opened store holds with what the world's does.
func wantSame(t *testing.T, w *world, path string) {
	t.Helper()
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Path, o.Table, o.Clock = path, w.table, w.clock.Now })
	for _, text := range []string{sqlAllEvents, sqlAllTags, sqlAllKeys, sqlAllHistory, sqlWholeSpec} {
		want, err := events.OnReader(t.Context(), w.store, text)
		if err != nil || len(want) == 0 {
			t.Fatalf("%s: %d rows, %v", text, len(want), err)
		}
		got, err := events.OnReader(t.Context(), s, text)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %d rows, want %d, or other ones", text, len(got), len(want))
		}
	}
	wantWhole(t, s)
	for _, f := range []nostr.Filter{
		{}, {Authors: []string{alice.Pub}}, {Tags: nostr.TagMap{"p": {bob.Pub}}}, {Tags: nostr.TagMap{"p": {"5"}}},
		{Tags: nostr.TagMap{"p": {"1", "", bob.Pub}}},
	} {
		if got, want := visible(t, s, f), visible(t, w.store, f); len(want) == 0 || !slices.Equal(got, want) {
			t.Errorf("%s: %d events, want %d", f, len(got), len(want))
		}
	}
	put(t, s, bob.Note(99, "life goes on", nostr.Tag{"p", carol.Pub}), store.Stored)
	wantWhole(t, s)
}

// A database from before is after its migration what it would be had it always
// been of today's version.
func TestNumbersComeToAnOldDatabase(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine asks much")
	}
	w, path := oldWorld(t, 800)
	wantSame(t, w, path)
}

// TestNumbersAfterACrash cuts the migration short: before its commit, with
// pages in the log already, and at places of the log in the middle of the
// commit. What is found then is the database before or after, and opening it
// ends the same.
func TestNumbersAfterACrash(t *testing.T) {
	w, path := oldWorld(t, 300)
	all, err := migrations.All()
	if err != nil {
		t.Fatal(err)
	}
	c := database(t, path)
	everySeq := strings.NewReplacer("?1", "0", "?2", "1000000").Replace(all[beforeNumbers].SQL)
	run(t, c, "PRAGMA cache_size=8", "PRAGMA wal_autocheckpoint=0", "BEGIN IMMEDIATE", everySeq,
		fmt.Sprintf("PRAGMA user_version=%d", beforeNumbers+1))
	file := readFile(t, path)
	if log := readFile(t, path+"-wal"); len(log) == 0 {
		t.Fatal("nothing of the migration is in the log")
	} else {
		wantSame(t, w, crashed(t, file, log, beforeNumbers))
	}
	run(t, c, "COMMIT")
	log := readFile(t, path+"-wal")
	if !bytes.Equal(file, readFile(t, path)) {
		t.Fatal("the file changed before the log was complete")
	}
	for _, left := range []int{0, len(log) / 3, len(log) - 1} {
		wantSame(t, w, crashed(t, file, log[:left], beforeNumbers))
	}
	wantSame(t, w, crashed(t, file, log, beforeNumbers+1))
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// crashed writes a database and its log as a crash may have left them, and
// checks which version that is.
func crashed(t *testing.T, file, log []byte, want int64) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "engramd.db")
	look := filepath.Join(t.TempDir(), "look.db")
	for _, p := range []string{path, look} {
		for name, b := range map[string][]byte{p: file, p + "-wal": log} {
			if err := os.WriteFile(name, b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := version(t, look); got != want {
		t.Errorf("a log of %d bytes makes version %d, want %d", len(log), got, want)
	}
	return path
}
