package cluster_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"engramd/internal/e2e/cluster/rig"
	"engramd/internal/relay/cluster/jetstream"
)

// What one node publishes reaches the others, and does not come back to it.
func TestEphemerals(t *testing.T) {
	t.Parallel()
	r := rig.Start(t, nil)
	var conns []*jetstream.Conn
	type got struct {
		by   int
		data string
	}
	came := make(chan got, 64)
	for i := range 3 {
		conn := open(t, r.Client().Options())
		conns = append(conns, conn)
		stop, err := conn.Subscribe("event", func(data []byte) { came <- got{i, string(data)} })
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(stop)
	}
	// Servers learn of each other's subscriptions with a short delay.
	heard := map[int]bool{}
	for deadline := time.Now().Add(wait); !heard[1] || !heard[2]; {
		if time.Now().After(deadline) {
			t.Fatalf("heard by %v only", heard)
		}
		if err := conns[0].Publish(t.Context(), "event", []byte("hello")); err != nil {
			t.Fatal(err)
		}
		select {
		case g := <-came:
			if g.by == 0 || g.data != "hello" {
				t.Fatalf("%d heard %q", g.by, g.data)
			}
			heard[g.by] = true
		case <-time.After(100 * time.Millisecond):
		}
	}
	if err := conns[0].Publish(t.Context(), "a..b", nil); !errors.Is(err, jetstream.ErrSuffix) {
		t.Errorf("a subject without a word: %v", err)
	}
	if err := conns[0].Publish(t.Context(), "event", make([]byte, 4<<20)); !errors.Is(err, jetstream.ErrTooLarge) {
		t.Errorf("an event that is too large: %v", err)
	}
}

// peer serves backups until the function that is returned is
// called or the test ends.
func peer(t *testing.T, conn *jetstream.Conn, temp string, backup func(path string) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	ended := make(chan error, 1)
	go func() {
		ended <- conn.Serve(ctx, jetstream.Peer{Temp: temp, Backup: func(_ context.Context, path string) error { return backup(path) }})
	}()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// fetch fetches a backup as soon as a peer serves one.
func fetch(t *testing.T, r *rig.Rig, conn *jetstream.Conn, w io.Writer) (err error) {
	t.Helper()
	from := ""
	r.Until("a peer is there", wait, func() error {
		from, err = conn.Begin(t.Context())
		return err
	})
	return conn.Fetch(t.Context(), from, to(w))
}

// to is a file without anything in it.
func to(w io.Writer) io.ReadWriter {
	return struct {
		io.Reader
		io.Writer
	}{strings.NewReader(""), w}
}

func empty(t *testing.T, folder string) {
	t.Helper()
	left, err := os.ReadDir(folder)
	if err != nil || len(left) > 0 {
		t.Errorf("%v is left in the folder for backups; %v", left, err)
	}
}

// A node that joins gets a complete backup or an error.
func TestBackup(t *testing.T) {
	t.Parallel()
	r := rig.Start(t, nil)
	giver, taker, temp := open(t, r.Client().Options()), open(t, r.Client().Options()), t.TempDir()
	if _, err := taker.Begin(t.Context()); !errors.Is(err, jetstream.ErrNoPeer) {
		t.Errorf("nobody serves: %v", err)
	}
	content := make([]byte, 5<<20+123)
	for i := range content {
		content[i] = byte(rand.Uint32())
	}
	making, made := make(chan struct{}), make(chan struct{})
	stop := peer(t, giver, temp, func(path string) error {
		select { // once more where the first was given up
		case making <- struct{}{}:
		case <-made:
		}
		<-made
		return os.WriteFile(path, content, 0o600)
	})
	first := make(chan error, 1)
	var got bytes.Buffer
	go func() { first <- fetch(t, r, taker, &got) }()
	<-making
	if _, err := giver.Begin(t.Context()); !errors.Is(err, jetstream.ErrNoPeer) {
		t.Errorf("the only peer is the node itself: %v", err)
	}
	if _, err := open(t, r.Client().Options()).Begin(t.Context()); !errors.Is(err, jetstream.ErrNoPeer) {
		t.Errorf("the peer is busy: %v", err)
	}
	close(made)
	if err := <-first; err != nil || !bytes.Equal(got.Bytes(), content) {
		t.Errorf("%d of %d bytes came; %v", got.Len(), len(content), err)
	}
	stop()
	empty(t, temp)

	failed := errors.New("no room")
	stop = peer(t, giver, temp, func(string) error { return failed })
	if err := fetch(t, r, taker, io.Discard); !errors.Is(err, jetstream.ErrTransfer) {
		t.Errorf("the backup could not be made: %v", err)
	}
	stop()
	empty(t, temp)
}

// halfWay calls a function once, after a number of bytes was written.
type halfWay struct {
	at, n int
	then  func()
}

func (h *halfWay) Write(p []byte) (int, error) {
	if h.n += len(p); h.n >= h.at && h.then != nil {
		h.then()
		h.then = nil
	}
	return len(p), nil
}

// A receiver that was interrupted goes on where it was, and the log is held from before
// the backup is made until it had time to join. One that lost what came begins again.
func TestBackupGoesOn(t *testing.T) {
	t.Parallel()
	r := rig.Start(t, nil)
	giver, taker := open(t, r.Client().Options()), open(t, r.Client().Options())
	content := make([]byte, 3<<20)
	for i := range content {
		content[i] = byte(rand.Uint32())
	}
	var held atomic.Int32
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- giver.Serve(ctx, jetstream.Peer{
			Temp: t.TempDir(), Full: func(context.Context) bool { return false },
			Hold: func() func() { held.Add(1); return func() { held.Add(-1) } },
			Backup: func(_ context.Context, path string) error {
				if held.Load() != 1 {
					t.Errorf("%d holds while a backup is made", held.Load())
				}
				return os.WriteFile(path, content, 0o600)
			},
		})
	}()
	var from string
	r.Until("a peer is there", wait, func() (err error) {
		from, err = taker.Begin(t.Context())
		return err
	})
	f, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	full := errors.New("killed")
	if err := taker.Fetch(t.Context(), from, struct {
		io.Reader
		io.Writer
	}{f, &short{f, 1 << 20, full}}); !errors.Is(err, full) || errors.Is(err, jetstream.ErrTransfer) {
		t.Fatalf("interrupted: %v", err)
	}
	again, asked := open(t, r.Client().Options()), &counted{}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	if err := again.Fetch(t.Context(), from, struct {
		io.Reader
		io.Writer
	}{f, io.MultiWriter(f, asked)}); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(f.Name()); err != nil || !bytes.Equal(got, content) || asked.n != 2<<20 {
		t.Errorf("%d bytes, of which %d came later; %v", len(got), asked.n, err)
	}
	if held.Load() != 1 {
		t.Errorf("%d holds while a node that has a backup is to join", held.Load())
	}
	if err := again.Fetch(t.Context(), from, to(io.Discard)); !errors.Is(err, jetstream.ErrTransfer) {
		t.Errorf("once more: %v", err)
	}
	cancel()
	if err := <-ended; err != nil || held.Load() != 0 {
		t.Errorf("%d holds at the end, %v", held.Load(), err)
	}
}

type counted struct{ n int }

func (c *counted) Write(p []byte) (int, error) { c.n += len(p); return len(p), nil }

// short takes so many bytes.
type short struct {
	io.Writer
	left int
	err  error
}

func (s *short) Write(p []byte) (int, error) {
	if s.left -= len(p); s.left < 0 {
		return 0, s.err
	}
	return s.Writer.Write(p)
}

// A peer that dies half-way is an error in bounded time; a short interruption
// is none.
func TestBackupCutShort(t *testing.T) {
	t.Parallel()
	r := rig.Start(t, nil)
	way, temp := r.Client(), t.TempDir()
	o := way.Options()
	o.URLs = o.URLs[:1]
	giver, taker := open(t, o), open(t, r.Client().Options())
	write := func(path string) error { return os.WriteFile(path, make([]byte, 4<<20), 0o600) }

	stop := peer(t, giver, temp, write)
	blink := &halfWay{at: 1 << 20, then: func() { way.Set(0, rig.Cut); way.Set(0, rig.Healed) }}
	if err := fetch(t, r, taker, blink); err != nil || blink.n != 4<<20 {
		t.Errorf("the peer was away for a moment: %d bytes, %v", blink.n, err)
	}
	stop()
	empty(t, temp)

	stop = peer(t, giver, temp, write)
	if err := fetch(t, r, taker, &halfWay{at: 2 << 20, then: func() { way.Set(0, rig.BlackHole) }}); !errors.Is(err, jetstream.ErrTransfer) {
		t.Errorf("the peer is gone: %v", err)
	}
	stop()
	empty(t, temp)
}
