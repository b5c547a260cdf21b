package cluster_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"engramd/internal/e2e/cluster/rig"
	"engramd/internal/relay/cluster"
	"engramd/internal/relay/cluster/jetstream"
)

// wait bounds every wait of a test: elections take 4 to 9 s, and the machine
// may be busy.
const wait = 3 * time.Minute

// unhurried gives appends most of the time of a wait, for tests in which none may be
// given up.
func unhurried(o jetstream.Options) jetstream.Options {
	o.AppendTimeout = wait / 2
	return o
}

func TestMain(m *testing.M) {
	code := m.Run()
	if err := rig.Clean(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// open opens the log, after the stream was made, until the test ends.
func open(t *testing.T, o jetstream.Options) *jetstream.Conn {
	t.Helper()
	o.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	c, err := jetstream.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// create makes the stream and opens the log.
func create(t *testing.T, o jetstream.Options) *jetstream.Conn {
	t.Helper()
	c := open(t, o)
	if err := c.Create(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}

// outcome is the result of an append.
type outcome struct {
	number uint64
	err    error
}

// appendOne appends and waits for the answer.
func appendOne(t *testing.T, c *jetstream.Conn, message []byte) outcome {
	t.Helper()
	answer := make(chan outcome, 1)
	c.Append(message, func(number uint64, err error) { answer <- outcome{number, err} })
	select {
	case o := <-answer:
		return o
	case <-time.After(wait):
		t.Fatal("done was not called")
		return outcome{}
	}
}

// appendUntil appends until it is acknowledged.
func appendUntil(t *testing.T, c *jetstream.Conn, message []byte) uint64 {
	t.Helper()
	for deadline := time.Now().Add(wait); ; {
		o := appendOne(t, c, message)
		if o.err == nil {
			return o.number
		}
		if time.Now().After(deadline) {
			t.Fatalf("nothing is acknowledged: %v", o.err)
		}
	}
}

// numbered returns a message that says who wrote it, and its number among the
// writer's.
func numbered(writer byte, n uint64) []byte {
	head := binary.BigEndian.AppendUint64([]byte{writer}, n)
	sum := sha256.Sum256(head)
	return append(head, bytes.Repeat(sum[:], 8)...)
}

// parse is the inverse of numbered.
func parse(message []byte) (writer byte, n uint64, err error) {
	if len(message) != len(numbered(0, 0)) {
		return 0, 0, fmt.Errorf("a message has %d bytes", len(message))
	}
	writer, n = message[0], binary.BigEndian.Uint64(message[1:])
	if !bytes.Equal(message, numbered(writer, n)) {
		return 0, 0, errors.New("a message is spoiled")
	}
	return writer, n, nil
}

// errEnough ends a Read.
var errEnough = errors.New("enough")

// readTo reads up to a number.
func readTo(t *testing.T, c *jetstream.Conn, from, to uint64) (all []cluster.Message) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	err := c.Read(ctx, from, func(m cluster.Message) error {
		if want := from + uint64(len(all)); m.Number != want {
			return fmt.Errorf("message %d came instead of %d", m.Number, want)
		}
		all = append(all, m)
		if m.Number >= to {
			return errEnough
		}
		return nil
	})
	if !errors.Is(err, errEnough) {
		t.Fatalf("read from %d to %d: %v after %d", from, to, err, len(all))
	}
	return all
}

// follower reads all messages as they arrive, until the test ends.
type follower struct {
	mu   sync.Mutex
	all  []cluster.Message
	err  error
	done chan struct{}
}

func follow(t *testing.T, c *jetstream.Conn) *follower {
	f := &follower{done: make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() { cancel(); <-f.done })
	go func() {
		defer close(f.done)
		err := c.Read(ctx, 1, func(m cluster.Message) error {
			f.mu.Lock()
			defer f.mu.Unlock()
			if want := uint64(len(f.all)) + 1; m.Number != want {
				return fmt.Errorf("message %d came instead of %d", m.Number, want)
			}
			f.all = append(f.all, m)
			return nil
		})
		f.mu.Lock()
		f.err = err
		f.mu.Unlock()
	}()
	return f
}

// reached returns all messages once they reach a number.
func (f *follower) reached(t *testing.T, r *rig.Rig, number uint64) (all []cluster.Message) {
	t.Helper()
	r.Until(fmt.Sprintf("message %d is read", number), wait, func() error {
		f.mu.Lock()
		defer f.mu.Unlock()
		all = f.all
		if f.err != nil {
			return f.err
		}
		if uint64(len(f.all)) < number {
			return fmt.Errorf("only %d are", len(f.all))
		}
		return nil
	})
	return all
}
