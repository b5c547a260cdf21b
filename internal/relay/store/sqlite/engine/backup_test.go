package engine_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/storetest"
)

func TestBackupWhileWriting(t *testing.T) {
	s := storetest.MustOpen(t)
	const before = 3000
	var last store.Pending
	for i := range int64(before) {
		p, err := s.Begin(t.Context(), alice.Note(i, "before"), store.PutOptions{})
		if err != nil {
			t.Fatal(err)
		}
		last = p
	}
	if r := last.Wait(); r.Outcome != store.Stored {
		t.Fatalf("%+v", r)
	}
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
	n, err := copied.Count(t.Context(), []store.Ask{{Scope: gate.Operator(), Filter: nostr.Filter{Authors: []string{alice.Pub}}}})
	if err != nil || n != before {
		t.Errorf("%d of %d events are in the copy, %v", n, before, err)
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
		if err := s.Backup(t.Context(), path); !errors.Is(err, engine.ErrExists) {
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
