//go:build cgo

package session

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"engramd/internal/agent/view"
	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/memory/verify"
	"engramd/internal/protocol/writerlog"
	"engramd/internal/relay/http/bridgetest"
	"engramd/internal/relay/store"
)

// aged are machines and a relay with one clock.
type aged struct {
	t     *testing.T
	ahead atomic.Int64
	relay *bridgetest.Server
}

func newAged(t *testing.T) *aged {
	a := &aged{t: t}
	a.relay = bridgetest.StartAt(t, a.now)
	return a
}

func (a *aged) now() time.Time { return time.Now().Add(time.Duration(a.ahead.Load())) }

func (a *aged) pass(d time.Duration) { a.ahead.Add(int64(d)) }

// machine opens sessions of one machine.
func (a *aged) machine() func() *Session {
	cache, state := a.t.TempDir(), a.t.TempDir()
	return func() *Session {
		a.t.Helper()
		o := openedAt(a.t, cache, state, a.relay.URL).o
		o.Client.Clock = a.now
		s, err := Open(o)
		if err != nil {
			a.t.Fatal(err)
		}
		a.t.Cleanup(s.Close)
		return s
	}
}

// missed has one machine write, and another see, mem/x; the first one then writes a
// version that expires, which it does before the other looks again.
func (a *aged) missed(writer, other func() *Session) (seen client.Entry) {
	a.t.Helper()
	s := writer()
	seen, _, err := s.Memory.Set(a.t.Context(), "mem/x", "one", memory.SetOptions{})
	if err != nil {
		a.t.Fatal(err)
	}
	looks(a.t, other())
	a.pass(time.Minute)
	until := memory.Expiry{At: a.now().Add(time.Hour).Unix(), With: seen.ID[:8]}
	if _, _, err := s.Memory.Set(a.t.Context(), "mem/x", "two", memory.SetOptions{Expires: until}); err != nil {
		a.t.Fatal(err)
	}
	a.pass(2 * time.Hour)
	if err := a.relay.Store.Sweep(a.t.Context()); err != nil {
		a.t.Fatal(err)
	}
	return seen
}

// TestWriteOverWhatExpiredUnseen: a machine that missed the version which expired writes
// at the slug, once the relay said why it does not take the older one.
func TestWriteOverWhatExpiredUnseen(t *testing.T) {
	a := newAged(t)
	writer, other := a.machine(), a.machine()
	seen := a.missed(writer, other)
	s := other()
	if e, status, err := s.Memory.Read(t.Context(), "mem/x"); err != nil || e.ID != seen.ID || status.Behind != 1 || status.Removed.Relay != "" {
		t.Errorf("before: %+v %+v %v", e, status, err)
	}
	var conflict *client.ConflictError
	if _, _, err := s.Memory.Set(t.Context(), "mem/x", "three", memory.SetOptions{Base: seen.Hash}); !errors.As(err, &conflict) {
		t.Errorf("for the text that went: %v", err)
	}
	s.Close()
	said := client.Removal{Relay: a.relay.URL, Expired: true}
	s = other()
	if _, status, err := s.Memory.Read(t.Context(), "mem/x"); err != nil || status.Behind != 1 || status.Removed != said {
		t.Errorf("once it is known: %+v %v", status, err)
	}
	e, status, err := s.Memory.Set(t.Context(), "mem/x", "four", memory.SetOptions{})
	if err != nil || e.Expires != 0 || client.Accepted(status.Published) != 1 || status.Removed != said {
		t.Fatalf("%+v %+v %v", e, status, err)
	}
	s.Close()
	for name, open := range map[string]func() *Session{"the writer": writer, "the other": other} {
		s := open()
		if got, status, err := s.Memory.Read(t.Context(), "mem/x"); err != nil || got.ID != e.ID || view.BehindLine(status) != "" {
			t.Errorf("%s: %+v %+v %v", name, got, status, err)
		}
	}
}

// TestRepairOfWhatExpiredUnseen: repair says why the older version is not taken, and the
// person who gives it up hears of it no more.
func TestRepairOfWhatExpiredUnseen(t *testing.T) {
	a := newAged(t)
	other := a.machine()
	s := other()
	if _, _, err := s.Memory.Set(t.Context(), "mem/own", "what it writes begins its state", memory.SetOptions{}); err != nil {
		t.Fatal(err)
	}
	s.Close()
	a.missed(a.machine(), other)
	for _, ends := range []bool{false, true} {
		repair(t, other(), func(ctx context.Context, r *Repair) {
			if len(r.Missing) != 1 || r.Missing[0].Removed.Expired != ends {
				t.Fatalf("%+v", r.Missing)
			}
			if ends {
				if err := r.GiveUp(ctx, r.Missing[0]); err != nil {
					t.Fatal(err)
				}
				return
			}
			if err := r.SendAgain(ctx, r.Missing); err != nil || r.Missing[0].Fate != Expired || r.Missing[0].Published[0].Message != store.WhyExpired.Error() {
				t.Errorf("%+v %v", r.Missing[0], err)
			}
		})
	}
	repair(t, other(), func(_ context.Context, r *Repair) {
		if len(r.Missing) > 0 {
			t.Errorf("given up: %+v", r.Missing[0])
		}
	})
}

// TestLetGoIsExpired: of what a person let go verify says that it has expired, wherever it
// was written, also on the machine that did so.
func TestLetGoIsExpired(t *testing.T) {
	for _, foreign := range []bool{false, true} {
		a := newAged(t)
		one := a.machine()
		other := one
		if foreign {
			other = a.machine()
		}
		s := one()
		old, _, err := s.Memory.Set(t.Context(), "mem/x", "one", memory.SetOptions{})
		if err == nil {
			_, _, err = s.Memory.Set(t.Context(), "mem/y", "stays", memory.SetOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
		a.pass(time.Minute)
		s = other()
		if _, _, err := s.Memory.Set(t.Context(), "mem/x", "two", memory.SetOptions{Expires: memory.Expiry{At: a.now().Add(time.Hour).Unix(), With: old.ID[:8]}}); err != nil {
			t.Fatal(err)
		}
		s.Close()
		a.pass(2 * time.Hour)
		if err := a.relay.Store.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		for name, open := range map[string]func() *Session{"who wrote it": one, "who let it go": other, "another": a.machine()} {
			s := open()
			r, err := verify.Run(t.Context(), s.Memory.Memory, s.Outbox.state(t.Context()), a.now())
			if err != nil || r.Counts[writerlog.Expired] == 0 || len(r.Counts) > 1 {
				t.Errorf("foreign %v, %s: %+v, %v", foreign, name, r.Findings, err)
			}
			s.Close()
		}
	}
}

// TestAnewWithAnExpiry: what waits for a memory that has expired is written into none that
// began at its slug since, whatever that one says of its own expiry; where the memory was
// put off in time, it is.
func TestAnewWithAnExpiry(t *testing.T) {
	const day = 24 * 3600
	for name, c := range map[string]struct {
		putOff bool
		asks   bool // a later time is asked for by a write that waits too
		want   Sent
		text   string
	}{
		"began anew":                    {want: Sent{Left: 1}, text: "another"},
		"began anew, and a time waits":  {asks: true, want: Sent{Apart: 1}, text: "another"},
		"was put off, and written then": {putOff: true, want: Sent{Written: 1, Rebased: 1}, text: "another\nmine"},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAged(t)
			s, other := a.machine()(), a.machine()()
			set := func(s *Session, text string, expires int64, l *memory.Later) {
				t.Helper()
				if _, status, err := s.Memory.Set(t.Context(), "mem/x", text, memory.SetOptions{Expires: memory.Expiry{At: expires}, Later: l}); err != nil || status.Queued != (l != nil) {
					t.Fatal(status, err)
				}
			}
			at := a.now().Unix() + 3600
			set(s, "old", at, nil)
			set(s, "old\nmine", 0, &memory.Later{Append: "mine", Silent: true})
			if c.asks {
				set(s, "asked", at+day, &memory.Later{Silent: true})
			}
			a.pass(time.Minute)
			if c.putOff {
				set(other, "old", at+day, nil)
			}
			a.pass(time.Hour)
			if err := a.relay.Store.Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
			set(other, "another", at+day, nil)
			out := sent(t, s)
			if reason := out.Reason; (reason == errGone.Error()) != (c.want.Left > 0) {
				t.Errorf("left for %q", reason)
			}
			out.Reason = ""
			if out != c.want || body(t, other, "mem/x") != c.text {
				t.Errorf("%+v, %q", out, body(t, other, "mem/x"))
			}
		})
	}
}
