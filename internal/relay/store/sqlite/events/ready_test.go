package events_test

import (
	"bytes"
	"fmt"
	"os"
	"testing"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/events"
	"engramd/internal/relay/store/sqlite/storetest"
)

// TestNotReadyWhileWritesFail: once an event could not be stored, the database is not
// ready until one could be, whatever the cause.
func TestNotReadyWhileWritesFail(t *testing.T) {
	put := func(s *sqlite.Store, i int64) store.Result {
		return s.Put(t.Context(), alice.Fake(1, i, fmt.Sprint("note ", i)), store.PutOptions{})
	}
	ready := func(s *sqlite.Store, when string, want bool) {
		t.Helper()
		for range 2 {
			if err := s.Ready(t.Context()); (err == nil) != want {
				t.Errorf("%s: %v, want %t", when, err, want)
			}
		}
	}
	t.Run("commit", func(t *testing.T) {
		seen := &counter{}
		s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Observe = seen })
		ready(s, "at first", true)
		allow := events.BreakCommits(s)
		if r := put(s, 1); r.Outcome != store.Failed || seen.failedBy["database"] != 1 {
			t.Fatalf("%+v, %v", r, seen.failedBy)
		}
		ready(s, "a commit failed", false)
		allow()
		ready(s, "commits work again", true)
	})
	for _, index := range []string{"events_id", "events_kind", "events_author"} {
		t.Run(index, func(t *testing.T) {
			var path string
			open := func(at string, seen *counter) *sqlite.Store {
				return storetest.MustOpen(t, func(o *sqlite.Options) {
					if at != "" {
						o.Path = at
					}
					path, o.Observe = o.Path, seen
				})
			}
			s := open("", &counter{})
			for i := range int64(300) {
				put(s, i)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			page, size := rootOf(t, path, index)
			whole := damage(t, path, (page-1)*size, bytes.Repeat([]byte{0xff}, int(size)))
			seen := &counter{}
			s = open(path, seen)
			if r := put(s, 1000); r.Outcome != store.Failed || seen.failedBy["corrupt"] != 1 {
				t.Fatalf("%+v, %v", r, seen.failedBy)
			}
			ready(s, "a page is damaged", false)
			damage(t, path, (page-1)*size, whole)
			ready(s, "it is whole again", true)
			if r := put(s, 1000); r.Outcome != store.Stored {
				t.Errorf("%+v", r)
			}
		})
	}
	t.Run("another event", func(t *testing.T) {
		s := storetest.MustOpen(t)
		allow := events.BreakCommits(s)
		put(s, 1)
		allow()
		if r := put(s, 2); r.Outcome != store.Stored {
			t.Fatalf("%+v", r)
		}
		ready(s, "one was stored", true)
		if n := rows(t, s, "events"); n != 1 {
			t.Errorf("%d events: what failed was stored after all", n)
		}
	})
}

// damage writes bytes into a file, and returns what was there.
func damage(t *testing.T, path string, at int64, with []byte) (was []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	was = make([]byte, len(with))
	if _, err := f.ReadAt(was, at); err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt(with, at); err != nil {
		t.Fatal(err)
	}
	return was
}

// rootOf is the first page of an index, and the size of a page.
func rootOf(t *testing.T, path, index string) (page, size int64) {
	t.Helper()
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Path = path })
	for text, to := range map[string]*int64{"SELECT rootpage FROM sqlite_schema WHERE name = '" + index + "'": &page, "PRAGMA page_size": &size} {
		out, err := events.OnWriter(s, text)
		if err != nil || len(out) != 1 {
			t.Fatal(out, err)
		}
		*to = out[0].(int64)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return page, size
}
