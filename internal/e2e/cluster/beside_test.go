package cluster_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"os"
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
	r.Until("a peer is there", wait, func() error {
		if err = conn.Fetch(t.Context(), w); errors.Is(err, jetstream.ErrNoPeer) {
			return err
		}
		return nil
	})
	return err
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
	if err := taker.Fetch(t.Context(), io.Discard); !errors.Is(err, jetstream.ErrNoPeer) {
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
	var to bytes.Buffer
	go func() { first <- fetch(t, r, taker, &to) }()
	<-making
	if err := giver.Fetch(t.Context(), io.Discard); !errors.Is(err, jetstream.ErrNoPeer) {
		t.Errorf("the only peer is the node itself: %v", err)
	}
	if err := open(t, r.Client().Options()).Fetch(t.Context(), io.Discard); !errors.Is(err, jetstream.ErrNoPeer) {
		t.Errorf("the peer is busy: %v", err)
	}
	close(made)
	if err := <-first; err != nil || !bytes.Equal(to.Bytes(), content) {
		t.Errorf("%d of %d bytes came; %v", to.Len(), len(content), err)
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
