package events_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/store"
	"engramd/internal/store/sqlite"
	"engramd/internal/store/sqlite/storetest"
)

func TestBackupWhileWriting(t *testing.T) {
	s := storetest.MustOpen(t)
	fill(t, s, 3000, func(i int64) *nostr.Event { return alice.Note(i, "before") })
	var stop atomic.Bool
	done := make(chan int64)
	go func() {
		var i int64
		for ; !stop.Load(); i++ {
			s.Put(context.Background(), bob.Note(i, "meanwhile"), store.PutOptions{})
		}
		done <- i
	}()
	path := filepath.Join(t.TempDir(), "backup.db")
	err := s.Backup(t.Context(), path)
	stop.Store(true)
	<-done
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if list, _ := filepath.Glob(path + "*"); len(list) != 1 {
		t.Errorf("left behind: %v", list)
	}
	o := storetest.Options(t, func(o *sqlite.Options) { o.Path = path })
	copied := storetest.MustOpen(t, func(n *sqlite.Options) { *n = o })
	if n := rows(t, copied, "events WHERE pubkey = x'%s'", alice.Pub); n != 3000 {
		t.Errorf("%d of 3000 events are in the copy", n)
	}
	wantWhole(t, copied)
	put(t, copied, alice.Note(5000, "works"), store.Stored)
}

func TestBackupNeverOverwrites(t *testing.T) {
	s := storetest.MustOpen(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "backup.db")
	for _, name := range []string{path, path + ".partial"} {
		if err := os.WriteFile(name, []byte("precious"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := s.Backup(t.Context(), path); !errors.Is(err, sqlite.ErrExists) {
			t.Errorf("%s: %v", name, err)
		}
		if data, _ := os.ReadFile(name); string(data) != "precious" {
			t.Errorf("%s was touched", name)
		}
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Backup(ctx, path); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	if list, _ := os.ReadDir(dir); len(list) != 0 {
		t.Errorf("a canceled backup left %v", list)
	}
	if err := s.Backup(t.Context(), filepath.Join(dir, "no", "such", "folder")); err == nil {
		t.Error("no error without a folder")
	}
}
