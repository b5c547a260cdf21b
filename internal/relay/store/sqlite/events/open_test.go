package events_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/storetest"
)

func closed(t *testing.T, o sqlite.Options) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// A start with nothing to do writes nothing: on a full disk it must not fail.
func TestOpenWritesNothing(t *testing.T) {
	o := storetest.Options(t)
	o.After = func(time.Duration) <-chan time.Time { return nil }
	closed(t, o)
	s, err := sqlite.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	log, err := os.Stat(o.Path + "-wal")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	if err == nil && log.Size() > 0 {
		t.Errorf("the log has %d bytes", log.Size())
	}
}

func TestOpenRefusesANewerDatabase(t *testing.T) {
	o := storetest.Options(t)
	closed(t, o)
	outside(t, o.Path, "PRAGMA user_version = 99")
	_, err := sqlite.Open(t.Context(), o)
	if !errors.Is(err, engine.ErrNewer) || !strings.Contains(err.Error(), "version 99") || !strings.Contains(err.Error(), "up to ") {
		t.Errorf("error %v", err)
	}
	o.ReadOnly = true
	if _, err := sqlite.Open(t.Context(), o); !errors.Is(err, engine.ErrNewer) {
		t.Errorf("for reading: %v", err)
	}
}

func TestOpenRefusesForeignFiles(t *testing.T) {
	for name, statements := range map[string][]string{
		"tables without a version": {"CREATE TABLE t(x)"},
		"another application":      {"PRAGMA application_id = 7"},
		"a version of another":     {"PRAGMA user_version = 1"},
	} {
		o := storetest.Options(t)
		outside(t, o.Path, statements...)
		if _, err := sqlite.Open(t.Context(), o); !errors.Is(err, engine.ErrForeign) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	o := storetest.Options(t)
	if err := os.WriteFile(o.Path, []byte(strings.Repeat("no database at all ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Open(t.Context(), o); err == nil {
		t.Error("opened a text file")
	}
}

func TestOpenNeedsPathAndTable(t *testing.T) {
	if _, err := sqlite.Open(t.Context(), sqlite.Options{}); err == nil {
		t.Error("opened")
	}
}

func TestSequenceGoesOnAfterOpening(t *testing.T) {
	o := storetest.Options(t)
	s, err := sqlite.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, alice.Engram(bob, 0, "mem/a"), store.Stored)
	head := put(t, s, alice.Engram(bob, 1, "mem/a"), store.Replaced)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = sqlite.Open(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if s.LastSeq() != head.Seq {
		t.Errorf("LastSeq %d, want %d", s.LastSeq(), head.Seq)
	}
	// What the writer knows of its tables is read again: history still holds
	// the first version.
	put(t, s, alice.Engram(bob, 0, "mem/a"), store.Duplicate)
	if r := put(t, s, alice.Note(0, "x"), store.Stored); r.Seq <= head.Seq {
		t.Errorf("seq %d is not after %d", r.Seq, head.Seq)
	}
}

func TestTombstonesOutliveTheProcess(t *testing.T) {
	o := storetest.Options(t)
	s, err := sqlite.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	note, engram := alice.Note(0, "x"), alice.Engram(bob, 0, "mem/a")
	put(t, s, alice.Delete(1, note.ID, storetest.Address(engram)), store.Stored)
	put(t, s, bob.Vanish(5), store.Stored)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again := storetest.MustOpen(t, func(n *sqlite.Options) { *n = o })
	put(t, again, note, store.Deleted)
	put(t, again, engram, store.Deleted)
	put(t, again, bob.Note(5, "x"), store.Deleted)
}

func TestReadOnlyBesideTheWriter(t *testing.T) {
	o := storetest.Options(t)
	read := o
	read.ReadOnly = true
	if _, err := sqlite.Open(t.Context(), read); err == nil {
		t.Fatal("opened a database that is not there")
	}
	if _, err := os.Stat(o.Path); !errors.Is(err, os.ErrNotExist) {
		t.Error("opening for reading created the file")
	}
	s := storetest.MustOpen(t, func(n *sqlite.Options) { *n = o })
	put(t, s, alice.Note(0, "x"), store.Stored)
	beside, err := sqlite.Open(t.Context(), read)
	if err != nil {
		t.Fatal(err)
	}
	defer beside.Close()
	if beside.LastSeq() != s.LastSeq() || rows(t, beside, "events") != 1 || beside.SearchEnabled() != s.SearchEnabled() {
		t.Error("it does not see what the writer wrote")
	}
	if r := beside.Put(t.Context(), alice.Note(1, "y"), store.PutOptions{}); !errors.Is(r.Err, store.ErrReadOnly) {
		t.Errorf("write: %+v", r)
	}
	put(t, s, alice.Note(1, "y"), store.Stored)
	wantWhole(t, beside)
	if err := beside.Close(); err != nil {
		t.Error(err)
	}
	put(t, s, alice.Note(2, "z"), store.Stored)
}

func TestReadOnlyNeedsAnUpToDateDatabase(t *testing.T) {
	o := storetest.Options(t, func(o *sqlite.Options) { o.ReadOnly = true })
	outside(t, o.Path, "PRAGMA user_version = 0", "VACUUM")
	if _, err := sqlite.Open(t.Context(), o); !errors.Is(err, engine.ErrOlder) {
		t.Errorf("error %v", err)
	}
}

func TestCheckTableKeepsClasses(t *testing.T) {
	s := storetest.MustOpen(t)
	if err := s.CheckTable(storetest.MustTable(t, gate.Options{Wildcard: gate.WildcardExclude})); err != nil {
		t.Error(err)
	}
	if err := s.CheckTable(storetest.MustTable(t, gate.Options{Rules: []string{"30078 author"}})); !errors.Is(err, store.ErrRestart) {
		t.Errorf("rules that class differently: %v", err)
	}
}

func TestLockNamesItsHolder(t *testing.T) {
	dir := t.TempDir()
	l, err := engine.Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, err = engine.Lock(dir)
	var locked *engine.LockedError
	if !errors.Is(err, engine.ErrLocked) || !errors.As(err, &locked) || locked.PID != os.Getpid() {
		t.Errorf("second lock: %v", err)
	}
	if err := l.Unlock(); err != nil {
		t.Fatal(err)
	}
	if l, err = engine.Lock(dir); err != nil {
		t.Fatal(err)
	}
	if err := l.Unlock(); err != nil {
		t.Fatal(err)
	}
	if _, err := engine.Lock(dir + "/missing"); err == nil || errors.Is(err, engine.ErrLocked) {
		t.Errorf("no folder: %v", err)
	}
}
