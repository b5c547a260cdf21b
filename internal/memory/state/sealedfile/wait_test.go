package sealedfile

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"
)

// TestOpeningWaitsForNoWriter: a process that was stopped while it writes keeps
// nobody from reading, not even one that opens the file.
func TestOpeningWaitsForNoWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "one.db")
	looks := func(o *Options) {
		o.Check = func(tx *Tx) error { return tx.Exec("SELECT 1 FROM notes") }
	}
	writer, _, err := opened(t, path, testKey, looks)
	must(t, err)
	must(t, put(writer, "core", "hello"))
	must(t, writer.Write(t.Context(), func(*Tx) error {
		reader, _, err := opened(t, path, testKey, looks)
		must(t, err)
		if text, err := get(reader, "core"); text != "hello" || err != nil {
			t.Errorf("read %q, %v", text, err)
		}
		return reader.Close()
	}))
}

// TestWhoChecksByWritingWaits: a check that writes is made alone.
func TestWhoChecksByWritingWaits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "one.db")
	writer, _, err := opened(t, path, testKey, nil)
	must(t, err)
	writes := func(o *Options) {
		o.Check = func(tx *Tx) error { return tx.Exec("INSERT INTO notes VALUES ('checked', x'31')") }
	}
	must(t, writer.Write(t.Context(), func(*Tx) error {
		soon, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		o := Options{Application: testApplication, Schema: []string{""}} // it has that many steps
		writes(&o)
		if f, err := Open(soon, path, testKey, o); err == nil {
			f.Close()
			t.Error("it was checked beside a writer")
		} else if errors.Is(err, ErrDamaged) {
			t.Errorf("who waits says %v", err)
		}
		return nil
	}))
	checked, _, err := opened(t, path, testKey, writes)
	must(t, err)
	if text, err := get(checked, "checked"); text != "1" || err != nil {
		t.Errorf("read %q, %v", text, err)
	}
}
