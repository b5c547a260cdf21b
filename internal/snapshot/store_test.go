package snapshot

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/snapshot/bundle"
	"engramd/nips/nipae"
)

var (
	agentSecret = fmt.Sprintf("%064x", 1)
	ownerSecret = fmt.Sprintf("%064x", 2)
	agentKey    = publicKey(agentSecret)
	ownerKey    = publicKey(ownerSecret)
	start       = time.Date(2026, 11, 20, 23, 51, 0, 0, time.UTC)
)

func publicKey(secret string) string {
	key, err := nostr.GetPublicKey(secret)
	if err != nil {
		panic(err)
	}
	return key
}

// memory is a Source of engrams that are heads.
type memory []*nostr.Event

func (m memory) Events(_ context.Context, class bundle.Class, yield func([]byte) error) error {
	if class != bundle.Heads {
		return nil
	}
	for _, ev := range m {
		if err := yield([]byte(ev.String())); err != nil {
			return err
		}
	}
	return nil
}

// engram seals a text; "" is a tombstone.
func engram(tb testing.TB, slug nipae.Slug, text string, at int64) *nostr.Event {
	tb.Helper()
	var body nipae.Body
	var err error
	switch {
	case slug.IsCore():
		body = nipae.NewProfile(text)
	case text == "":
		body, err = nipae.NewTombstone(slug)
	default:
		body, err = nipae.NewMemory(slug, text)
	}
	if err != nil {
		tb.Fatal(err)
	}
	k, err := nipae.DeriveConversationKey(agentSecret, ownerKey)
	if err != nil {
		tb.Fatal(err)
	}
	nonce, aux := [32]byte{31: 1}, [32]byte{}
	copy(nonce[:], fmt.Sprintf("%s/%d", slug, at))
	ev, err := nipae.Seal(k, body, nipae.Sealing{Secret: agentSecret, Owner: ownerKey, CreatedAt: at, Nonce: nonce, Aux: &aux})
	if err != nil {
		tb.Fatal(err)
	}
	return ev
}

func mustLock(tb testing.TB, s *Store) *Lock {
	tb.Helper()
	l, err := s.Lock(context.Background(), "default", agentKey, time.Minute)
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

func mustCreate(tb testing.TB, l *Lock, src bundle.Source, at time.Time, by string, parent *bundle.Bundle) Info {
	tb.Helper()
	info, _, err := l.Create(context.Background(), src, bundle.Options{CreatedAt: at, CreatedBy: by, Label: "l",
		Consistency: bundle.Transaction, Software: "test", Parent: parent})
	if err != nil {
		tb.Fatal(err)
	}
	return info
}

func ids(list []Info) []string {
	var out []string
	for _, i := range list {
		out = append(out, i.ID)
	}
	return out
}

func TestListFindPinDelete(t *testing.T) {
	root := t.TempDir()
	s := New(root)
	if list, err := s.List("default", agentKey); err != nil || len(list) != 0 {
		t.Fatalf("without a folder: %v, %v", list, err)
	}
	l := mustLock(t, s)
	src := memory{engram(t, "mem/a", "one", 1)}
	first := mustCreate(t, l, src, start, bundle.ByCLI, nil)
	second := mustCreate(t, l, src, start.Add(time.Minute), bundle.ByScheduled, nil)
	if want := filepath.Join(root, "tenants", "default", "snapshots", agentKey, first.ID+".tar.zst"); first.Path != want {
		t.Errorf("path %s, want %s", first.Path, want)
	}
	if !first.Verified() || first.Automatic() || !second.Automatic() || first.Label != "l" || first.Events != 1 || !first.CreatedAt.Equal(start) {
		t.Errorf("first: %+v", first)
	}
	if stat, err := os.Stat(first.Path); err != nil || stat.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", stat.Mode(), err)
	}
	list, err := s.List("default", agentKey)
	if err != nil || !slices.Equal(ids(list), []string{second.ID, first.ID}) {
		t.Errorf("list: %q, %v", ids(list), err)
	}
	if _, err := s.Find("default", agentKey, "20260101T000000Z-0123456789abcdef"); !errors.Is(err, ErrNotFound) {
		t.Errorf("find: %v", err)
	}
	for _, bad := range []string{"../" + first.ID, first.Path, ""} {
		if _, err := s.Find("default", agentKey, bad); !errors.Is(err, bundle.ErrName) {
			t.Errorf("find %q: %v", bad, err)
		}
	}
	for _, tenant := range []string{"Default", "..", ""} {
		if _, err := s.List(tenant, agentKey); !errors.Is(err, bundle.ErrName) {
			t.Errorf("tenant %q: %v", tenant, err)
		}
	}
	if err := l.Pin(first.ID, true); err != nil {
		t.Fatal(err)
	}
	if info, err := s.Find("default", agentKey, first.ID); err != nil || !info.Pinned || !info.Verified() {
		t.Errorf("pinned: %+v, %v", info, err)
	}
	if r, err := l.Verify(t.Context(), first.ID, start.Add(time.Hour), bundle.VerifyOptions{}); err != nil || !r.OK() {
		t.Errorf("verify: %v, %v", r, err)
	}
	if info, err := s.Find("default", agentKey, first.ID); err != nil || !info.Pinned || !info.VerifiedAt.Equal(start.Add(time.Hour)) {
		t.Errorf("verified again: %+v, %v", info, err)
	}
	if err := l.Delete(second.ID, Deletion{}); err != nil {
		t.Fatal(err)
	}
	if err := l.Delete(first.ID, Deletion{Force: true}); !errors.Is(err, ErrLastVerified) {
		t.Errorf("deleting the last verified one: %v", err)
	}
	if err := l.Delete(second.ID, Deletion{}); !errors.Is(err, ErrNotFound) {
		t.Errorf("deleting twice: %v", err)
	}
	places, err := s.Places()
	if err != nil || !slices.Equal(places, []Place{{"default", agentKey}}) {
		t.Errorf("places: %v, %v", places, err)
	}
	files, err := names(filepath.Dir(first.Path))
	if err != nil || len(files) != 4 { // bundle, hash, record, lock
		t.Errorf("left are %q, %v", files, err)
	}
}

// mustChain makes a full snapshot and an incremental one that rests on it.
func mustChain(t *testing.T, l *Lock) (full, child Info) {
	t.Helper()
	a := engram(t, "mem/a", "one", 1)
	full = mustCreate(t, l, memory{a}, start, bundle.ByCLI, nil)
	b, _, err := bundle.Open(t.Context(), full.Path, bundle.VerifyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	child = mustCreate(t, l, memory{a, engram(t, "mem/b", "two", 2)}, start.Add(time.Minute), bundle.ByCLI, b)
	return full, child
}

func TestParentsStay(t *testing.T) {
	s := New(t.TempDir())
	l := mustLock(t, s)
	full, child := mustChain(t, l)
	if err := l.Delete(full.ID, Deletion{}); !errors.Is(err, ErrParent) || !strings.Contains(err.Error(), child.ID) {
		t.Errorf("deleting a parent: %v", err)
	}
	if r, err := l.Verify(t.Context(), child.ID, start, bundle.VerifyOptions{}); err != nil || !r.OK() {
		t.Errorf("verify with the parent from the folder: %v, %v", r.Err(), err)
	}
	swept, err := l.Sweep(start.Add(1000*24*time.Hour), DefaultPolicy())
	if err != nil || len(swept.Deleted) != 0 {
		t.Errorf("retention deleted %q, %v; both are needed for the last verified one", swept.Deleted, err)
	}
}

func TestExport(t *testing.T) {
	s := New(t.TempDir())
	l := mustLock(t, s)
	info := mustCreate(t, l, memory{engram(t, "mem/a", "one", 1)}, start, bundle.ByCLI, nil)
	to := filepath.Join(t.TempDir(), "copy.tar.zst")
	if err := s.Export("default", agentKey, info.ID, to); err != nil {
		t.Fatal(err)
	}
	if r, err := bundle.Verify(t.Context(), to, bundle.VerifyOptions{}); err != nil || !r.OK() {
		t.Errorf("the copy: %v, %v", r.Err(), err)
	}
	if err := s.Export("default", agentKey, info.ID, to); !errors.Is(err, os.ErrExist) {
		t.Errorf("over a file: %v", err)
	}
	if err := os.WriteFile(info.Path, []byte("other"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Export("default", agentKey, info.ID, to+"2"); !errors.Is(err, bundle.ErrChanged) {
		t.Errorf("a changed bundle: %v", err)
	}
}

func TestSweepRemovesLitterOnly(t *testing.T) {
	s := New(t.TempDir())
	l := mustLock(t, s)
	info := mustCreate(t, l, memory{engram(t, "mem/a", "one", 1)}, start, bundle.ByCLI, nil)
	dir := filepath.Dir(info.Path)
	const gone = "20250101T000000Z-0123456789abcdef"
	litter := []string{gone + ".tar.zst.sha256", gone + ".tar.zst.age.sha256", gone + ".json", "." + gone + ".json"}
	others := []string{"notes.txt", "notes.json", "notes.sha256"}
	for _, name := range append(litter, others...) {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	swept, err := l.Sweep(start, DefaultPolicy())
	if err != nil || swept.Litter != len(litter) || len(swept.Deleted) != 0 {
		t.Errorf("%+v, %v", swept, err)
	}
	files, _ := names(dir)
	for _, name := range append(others, info.ID+".tar.zst", info.ID+".tar.zst.sha256", info.ID+".json") {
		if !slices.Contains(files, name) {
			t.Errorf("%s is gone", name)
		}
	}
}

func TestLockIsForOne(t *testing.T) {
	s := New(t.TempDir())
	l := mustLock(t, s)
	_, err := s.Lock(t.Context(), "default", agentKey, 30*time.Millisecond)
	if want := fmt.Sprintf("held by pid %d", os.Getpid()); !errors.Is(err, ErrHeld) || !strings.Contains(err.Error(), want) {
		t.Errorf("while it is held: %v, want %q in it", err, want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Lock(ctx, "default", agentKey, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	other, err := s.Lock(t.Context(), "default", ownerKey, 0)
	if err != nil {
		t.Fatalf("another agent: %v", err)
	}
	if err := other.Unlock(); err != nil {
		t.Error(err)
	}
	got := make(chan error, 1)
	go func() {
		second, err := s.Lock(context.Background(), "default", agentKey, time.Minute)
		if err == nil {
			err = second.Unlock()
		}
		got <- err
	}()
	if err := l.Unlock(); err != nil {
		t.Error(err)
	}
	if err := <-got; err != nil {
		t.Errorf("after it was given free: %v", err)
	}
}

// TestLockOnAFullDisk: what frees space needs none.
func TestLockOnAFullDisk(t *testing.T) {
	s := New(t.TempDir())
	l := mustLock(t, s)
	src := memory{engram(t, "mem/a", "one", 1)}
	old := mustCreate(t, l, src, start, bundle.ByCLI, nil)
	mustCreate(t, l, src, start.Add(time.Minute), bundle.ByCLI, nil)
	if err := l.Unlock(); err != nil {
		t.Fatal(err)
	}
	lock := filepath.Join(filepath.Dir(old.Path), lockName)
	if err := errors.Join(os.Remove(lock), os.Symlink("/dev/full", lock)); err != nil {
		t.Fatal(err)
	}
	l = mustLock(t, s)
	if err := errors.Join(l.Delete(old.ID, Deletion{}), l.Unlock()); err != nil {
		t.Error(err)
	}
}

// TestLockEndsWithItsProcess kills a process that holds the lock.
func TestLockEndsWithItsProcess(t *testing.T) {
	const variable = "ENGRAMD_SNAPSHOT_HOLD"
	if root := os.Getenv(variable); root != "" {
		mustLock(t, New(root))
		fmt.Println("held")
		select {}
	}
	root := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestLockEndsWithItsProcess$")
	cmd.Env = append(os.Environ(), variable+"="+root)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	s := New(root)
	_, err = s.Lock(t.Context(), "default", agentKey, 0)
	if want := fmt.Sprintf("held by pid %d", cmd.Process.Pid); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("while it lives: %v, want %q in it", err, want)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	l, err := s.Lock(t.Context(), "default", agentKey, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Unlock(); err != nil {
		t.Error(err)
	}
}

// TestFoldersAreDurable: every new folder between the root and a bundle has its
// name synced, and none twice.
func TestFoldersAreDurable(t *testing.T) {
	root := filepath.Join(t.TempDir(), "new")
	s := New(root)
	var synced []string
	s.syncDir = func(dir string) error {
		synced = append(synced, strings.TrimPrefix(dir, root))
		return nil
	}
	for _, want := range [][]string{{"", "/tenants", "/tenants/default", "/tenants/default/snapshots"}, nil} {
		synced = nil
		if _, err := s.makeDir("default", agentKey); err != nil {
			t.Fatal(err)
		}
		for i := range synced {
			synced[i] = filepath.ToSlash(synced[i])
		}
		if !slices.Equal(synced, want) {
			t.Errorf("synced %q, want %q", synced, want)
		}
	}
	s.syncDir = func(string) error { return os.ErrPermission }
	if _, err := s.makeDir("other", agentKey); !errors.Is(err, os.ErrPermission) {
		t.Errorf("a folder that could not be synced: %v", err)
	}
}
