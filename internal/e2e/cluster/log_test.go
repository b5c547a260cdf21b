package cluster_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	nats "github.com/nats-io/nats.go/jetstream"

	"engramd/internal/e2e/cluster/rig"
	"engramd/internal/relay/cluster"
	"engramd/internal/relay/cluster/jetstream"
)

// Without faults the log does what cluster.Log promises.
func TestLog(t *testing.T) {
	t.Parallel()
	r := rig.Start(t, nil)
	conn := create(t, unhurried(r.Client().Options()))
	if err := conn.Create(t.Context()); err != nil {
		t.Errorf("create what is there: %v", err)
	}
	bounds(t, conn, 1, 0)
	for n := range uint64(9) {
		if number := appendUntil(t, conn, numbered('a', n)); number != n+1 {
			t.Fatalf("append %d is number %d", n+1, number)
		}
	}
	large := make([]byte, conn.MaxMessage())
	for i := range large {
		large[i] = byte(rand.Uint32())
	}
	for range 6 { // more than a reader keeps waiting
		appendUntil(t, conn, large)
	}
	bounds(t, conn, 1, 15)
	all := readTo(t, conn, 1, 15)
	if !bytes.Equal(all[14].Data, large) || !bytes.Equal(all[3].Data, numbered('a', 3)) {
		t.Error("what is read is not what was appended")
	}
	if o := appendOne(t, conn, append(large, 0)); !errors.Is(o.err, jetstream.ErrTooLarge) {
		t.Errorf("a message that is too large: %v", o.err)
	}
	same := numbered('s', 1)
	if a, b := appendUntil(t, conn, same), appendUntil(t, conn, same); b != a+1 {
		t.Errorf("the same bytes twice are numbers %d and %d", a, b)
	}
	trim(t, r, conn)
}

func bounds(t *testing.T, conn *jetstream.Conn, first, last uint64) {
	t.Helper()
	if f, l, err := conn.Bounds(t.Context()); err != nil || f != first || l != last {
		t.Errorf("bounds are %d and %d, not %d and %d; %v", f, l, first, last, err)
	}
}

func trim(t *testing.T, r *rig.Rig, conn *jetstream.Conn) {
	t.Helper()
	if err := conn.Trim(t.Context(), 100); err == nil {
		t.Error("trimmed beyond the end")
	}
	if err := conn.Trim(t.Context(), 5); err != nil {
		t.Fatal(err)
	}
	bounds(t, conn, 5, 17)
	readTo(t, conn, 5, 17)
	err := conn.Read(t.Context(), 4, func(m cluster.Message) error { return errors.New("a message came") })
	if !errors.Is(err, cluster.ErrTrimmed) {
		t.Errorf("read what was trimmed: %v", err)
	}
	if err := conn.Trim(t.Context(), 18); err != nil {
		t.Fatal(err)
	}
	bounds(t, conn, 18, 17)
	if number := appendUntil(t, conn, numbered('t', 1)); number != 18 {
		t.Errorf("after everything was trimmed, the next number is %d", number)
	}
	js, err := nats.New(r.Connect(), nats.WithDefaultTimeout(wait))
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), "ENGRAMD_LOG")
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.DeleteMsg(t.Context(), 18); err == nil {
		t.Error("a single message can be deleted")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := conn.Read(ctx, 18, func(cluster.Message) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("read after the end of ctx: %v", err)
	}
}

// A full log refuses, and what it refuses did not enter.
func TestFullLog(t *testing.T) {
	t.Parallel()
	r := rig.Start(t, nil)
	o := unhurried(r.Client().Options())
	o.MaxBytes = 1 << 20
	conn := create(t, o)
	piece := make([]byte, 300<<10)
	for n, half := range []bool{false, true, true} {
		appendUntil(t, conn, piece)
		if full := conn.HalfFull(t.Context()); full != half {
			t.Errorf("half full after %d of 3 messages: %v", n+1, full)
		}
	}
	o1 := appendOne(t, conn, piece)
	if o1.err == nil || errors.Is(o1.err, cluster.ErrUnknown) {
		t.Errorf("an append to a full log: %d %v", o1.number, o1.err)
	}
	if err := conn.Trim(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	appendUntil(t, conn, piece)
}

// TLS works with a trusted certificate, and nothing works without one.
func TestTLS(t *testing.T) {
	t.Parallel()
	r := rig.Start(t, func(_ int, s *rig.Settings) { s.TLS = true })
	o := r.Client().Options()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := jetstream.Open(ctx, o); err == nil {
		t.Error("connected without knowing the certificate")
	}
	o.TLSCA = r.Certificate()
	conn := create(t, o)
	number := appendUntil(t, conn, numbered('a', 1))
	readTo(t, conn, number, number)
}

// Reading stops at a missing message.
func TestHole(t *testing.T) {
	t.Parallel()
	r := rig.Start(t, nil)
	o := unhurried(r.Client().Options())
	js, err := nats.New(r.Connect(), nats.WithDefaultTimeout(wait))
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.CreateStream(t.Context(), nats.StreamConfig{Name: "ENGRAMD_LOG", Subjects: []string{"engramd.log.ENGRAMD_LOG"}, Replicas: 3})
	if err != nil {
		t.Fatal(err)
	}
	conn := open(t, o)
	for n := range uint64(5) {
		appendUntil(t, conn, numbered('a', n))
	}
	if err := stream.DeleteMsg(t.Context(), 3); err != nil {
		t.Fatal(err)
	}
	last := uint64(0)
	err = conn.Read(t.Context(), 1, func(m cluster.Message) error { last = m.Number; return nil })
	if !errors.Is(err, cluster.ErrTrimmed) || last != 2 {
		t.Errorf("read as far as %d: %v", last, err)
	}
}

// A log that was deleted and created again is not the same log.
func TestReplacedLog(t *testing.T) {
	t.Parallel()
	r := rig.Start(t, nil)
	c := r.Client()
	conn := create(t, c.Options())
	appendUntil(t, conn, numbered('a', 1))
	js, err := nats.New(r.Connect(), nats.WithDefaultTimeout(wait))
	if err != nil {
		t.Fatal(err)
	}
	if err := js.DeleteStream(t.Context(), "ENGRAMD_LOG"); err != nil {
		t.Fatal(err)
	}
	if err := conn.Check(t.Context()); !errors.Is(err, jetstream.ErrRefused) {
		t.Errorf("no stream any more: %v", err)
	}
	create(t, c.Options())
	if err := conn.Check(t.Context()); !errors.Is(err, jetstream.ErrRefused) || !errors.Is(err, jetstream.ErrReplaced) {
		t.Errorf("another stream: %v", err)
	}
	if err := conn.Read(t.Context(), 1, func(cluster.Message) error { return nil }); !errors.Is(err, jetstream.ErrReplaced) {
		t.Errorf("read another stream: %v", err)
	}
}
