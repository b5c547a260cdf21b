package memory

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/client/clienttest"
	"engramd/internal/protocol/wire"
	"engramd/internal/relay/http/bridgetest"
	"engramd/nips/nipae"
)

// A memory is reported absent only if all relays say so; otherwise there is
// another error.
func TestAbsentOnlyWhenEveryRelaySaysSo(t *testing.T) {
	now := time.Now().Unix()
	empty := func(t testing.TB) string { return clienttest.StartHoard(t, &clienttest.Hoard{}) }
	with := func(events ...*nostr.Event) func(testing.TB) string {
		return func(t testing.TB) string { return clienttest.StartHoard(t, &clienttest.Hoard{Events: events}) }
	}
	closed := func(message string) func(testing.TB) string {
		return func(t testing.TB) string { return clienttest.Refusing(t, message) }
	}
	good := clienttest.EngramAt(t, "agent", "owner", "mem/a", "text", now)
	tombstone := clienttest.Sealed(t, "agent", "owner", must(nipae.NewTombstone("mem/a")), now)
	// It lies at the address of mem/a, but claims to be mem/b.
	lying := relabelled(t, clienttest.EngramAt(t, "agent", "owner", "mem/b", "text", now+1), good.Tags)
	garbled := relabelled(t, clienttest.EngramAt(t, "second", "owner", "mem/a", "text", now+1), good.Tags)
	forged := *good
	forged.Sig = lying.Sig
	tests := []struct {
		name   string
		relays []func(testing.TB) string
		want   error // of Get; nil: the text
		// partial is Status.Partial.
		partial bool
		list    error
	}{
		{"all empty", []func(testing.TB) string{empty, empty, empty}, client.ErrNotFound, false, nil},
		{"one has it", []func(testing.TB) string{empty, with(good), empty}, nil, false, nil},
		{"one down", []func(testing.TB) string{empty, bridgetest.Down, empty}, client.ErrPartial, true, client.ErrPartial},
		{"one silent", []func(testing.TB) string{empty, clienttest.Silent}, client.ErrPartial, true, client.ErrPartial},
		{"one refuses", []func(testing.TB) string{empty, closed("restricted: not you")}, client.ErrPartial, true, client.ErrPartial},
		{"one fails", []func(testing.TB) string{empty, closed("error: database is gone")}, client.ErrPartial, true, client.ErrPartial},
		{"no relay URL", []func(testing.TB) string{empty, func(testing.TB) string { return "https://example.com" }}, client.ErrPartial, true, client.ErrPartial},
		{"it is there and one is down", []func(testing.TB) string{bridgetest.Down, with(good)}, nil, true, nil},
		{"all down", []func(testing.TB) string{bridgetest.Down, bridgetest.Down}, client.ErrNoRelay, true, client.ErrNoRelay},
		{"all refuse", []func(testing.TB) string{closed("restricted: no"), closed("auth-required: who?")}, client.ErrAuth, true, client.ErrAuth},
		{"one refuses, one is down", []func(testing.TB) string{closed("restricted: no"), bridgetest.Down}, client.ErrNoRelay, true, client.ErrNoRelay},
		{"all fail", []func(testing.TB) string{closed("error: x")}, client.ErrNoRelay, true, client.ErrNoRelay},
		{"no relays", nil, client.ErrNoRelay, false, client.ErrNoRelay},
		{"tombstone", []func(testing.TB) string{with(tombstone), empty}, client.ErrTombstone, false, nil},
		{"tombstone and one is down", []func(testing.TB) string{with(tombstone), bridgetest.Down}, client.ErrPartial, true, client.ErrPartial},
		{"only what does not decrypt", []func(testing.TB) string{with(garbled), empty}, client.ErrUnreadable, false, client.ErrUnreadable},
		{"only what lies about its slug", []func(testing.TB) string{with(lying)}, client.ErrUnreadable, false, client.ErrUnreadable},
		{"unreadable and one is down", []func(testing.TB) string{with(garbled), bridgetest.Down}, client.ErrUnreadable, true, client.ErrUnreadable},
		{"a wrong signature", []func(testing.TB) string{with(&forged)}, client.ErrUnreadable, true, client.ErrUnreadable},
		{"unreadable is newer", []func(testing.TB) string{with(garbled), with(good)}, nil, false, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var relays []string
			for _, start := range tt.relays {
				relays = append(relays, start(t))
			}
			scaled(t, func(timeout func(*client.Options)) error {
				m := ownerOf(t, "agent", "owner", relays, timeout)
				return errors.Join(checkGet(t, m, tt.want, tt.partial, len(relays)), checkList(t, m, tt.list, tt.partial))
			})
		})
	}
}

// checkGet describes what is wrong with Get's answer for mem/a.
func checkGet(t testing.TB, m *Memory, want error, partial bool, relays int) error {
	got, status, err := m.Get(t.Context(), "mem/a")
	switch {
	case !errors.Is(err, want) || status.Partial != partial:
		return fmt.Errorf("get: %w (partial %v), want %v (%v)", err, status.Partial, want, partial)
	case want != client.ErrNotFound && errors.Is(err, client.ErrNotFound):
		return errors.New("it is said to be absent")
	case (err == nil) != (got.Text == "text") || len(status.Relays) != relays:
		return fmt.Errorf("got %+v with %w, relays %+v", got, err, status.Relays)
	case want != client.ErrAuth && errors.Is(err, client.ErrAuth):
		return fmt.Errorf("%w is said to be our fault", err)
	}
	return nil
}

// checkList describes what is wrong with the answer of ListAll. A tombstone is
// something: what else there is may be missing, and the status says so.
func checkList(t testing.TB, m *Memory, want error, partial bool) error {
	list, status, err := listed(t, m)
	if !errors.Is(err, want) && (err != nil || want != client.ErrPartial) || status.Partial != partial {
		return fmt.Errorf("list: %v, %w (partial %v), want %v", slugs(list), err, status.Partial, want)
	}
	return nil
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// relabelled returns an event with the same content and other tags, signed by
// the agent.
func relabelled(t testing.TB, ev *nostr.Event, tags nostr.Tags) *nostr.Event {
	t.Helper()
	out := &nostr.Event{Kind: ev.Kind, CreatedAt: ev.CreatedAt, Tags: tags, Content: ev.Content}
	if err := who(t, "agent").Sign(out); err != nil {
		t.Fatal(err)
	}
	return out
}

// Unreadable memory is never overwritten by accident, and is superseded on
// purpose.
func TestWritingOverUnreadable(t *testing.T) {
	now := time.Now().Unix()
	good := clienttest.EngramAt(t, "agent", "owner", "mem/a", "x", now)
	h := &clienttest.Hoard{}
	// Dated ahead, so that the write must go beyond it although it is no head.
	h.Put(relabelled(t, clienttest.EngramAt(t, "second", "owner", "mem/a", "x", now+100), good.Tags))
	m := agentOf(t, "agent", "owner", []string{clienttest.StartHoard(t, h)}, nil)
	if _, _, err := m.Set(t.Context(), "mem/a", "new", SetOptions{}); !errors.Is(err, client.ErrUnreadable) || h.Count() != 1 {
		t.Fatalf("set: %v, %d events", err, h.Count())
	}
	if _, _, err := m.Remove(t.Context(), "mem/a", false); !errors.Is(err, client.ErrUnreadable) || h.Count() != 1 {
		t.Fatalf("remove: %v, %d events", err, h.Count())
	}
	e, _, err := m.Set(t.Context(), "mem/a", "new", SetOptions{OverUnreadable: true})
	if err != nil || e.CreatedAt != now+101 {
		t.Errorf("over it: %v, at %d", err, e.CreatedAt-now)
	}
	if got, _, err := m.Get(t.Context(), "mem/a"); err != nil || got.Text != "new" {
		t.Errorf("afterwards: %q, %v", got.Text, err)
	}
}

// One relay that is down or silent delays no write, and is reported.
func TestWritesReachTheOthers(t *testing.T) {
	for name, broken := range map[string]func(testing.TB) string{
		"down": bridgetest.Down, "silent": clienttest.Silent, "refuses": func(t testing.TB) string { return clienttest.Refusing(t, "blocked: quota") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			good := bridgetest.Start(t).URL
			relays := []string{broken(t), good}
			scaled(t, func(timeout func(*client.Options)) error {
				start := time.Now()
				e, status, err := agentOf(t, "agent", "owner", relays, timeout).Set(t.Context(), "mem/a", "x", SetOptions{})
				if err != nil || !status.Partial {
					return fmt.Errorf("set: %w, %+v", err, status)
				}
				if p := status.Published; p[0].Accepted || p[0].Err == nil || !p[1].Accepted || p[1].Err != nil {
					return fmt.Errorf("published %+v", p)
				}
				if got, _, err := agentOf(t, "agent", "owner", relays[1:], nil).Get(t.Context(), "mem/a"); err != nil || got != e {
					return fmt.Errorf("the good relay has %+v, %w", got, err)
				}
				// A silent relay is not waited for at every step.
				var o client.Options
				timeout(&o)
				if took := time.Since(start); took > o.Timeout*8/10 {
					return fmt.Errorf("it took %v of %v", took, o.Timeout)
				}
				return nil
			})
		})
	}
}

// A write that no relay accepts is an error that says whose fault it is.
func TestWritesThatNobodyTakes(t *testing.T) {
	accepting := func(reply func(c *clienttest.Conn, ev *nostr.Event)) func(testing.TB) string {
		return func(t testing.TB) string {
			return clienttest.Start(t, &clienttest.Fake{Serve: func(c *clienttest.Conn) {
				for {
					f, ok := c.Read()
					switch {
					case !ok:
						return
					case f.Label == wire.LabelReq:
						c.Send(wire.AppendEOSE(nil, f.SubID))
					case f.Label == wire.LabelEvent:
						reply(c, f.Event)
					}
				}
			}})
		}
	}
	no := func(message string) func(testing.TB) string {
		return accepting(func(c *clienttest.Conn, ev *nostr.Event) { c.Send(wire.AppendOK(nil, ev.ID, false, message)) })
	}
	tests := []struct {
		name   string
		relays []func(testing.TB) string
		want   error
		not    error
	}{
		{"restricted", []func(testing.TB) string{no("restricted: not on the list"), no("auth-required: x")}, client.ErrAuth, client.ErrNoRelay},
		{"blocked", []func(testing.TB) string{no("blocked: quota"), no("restricted: x")}, client.ErrAuth, client.ErrRefused},
		{"refused", []func(testing.TB) string{no("invalid: x"), no("blocked: x")}, client.ErrRefused, client.ErrAuth},
		{"one down", []func(testing.TB) string{no("restricted: x"), accepting(func(c *clienttest.Conn, _ *nostr.Event) { c.WS.Close() })}, client.ErrNoRelay, client.ErrAuth},
		{"newer", []func(testing.TB) string{no("duplicate: a newer version is stored"), no("blocked: x")}, client.ErrConflict, client.ErrRefused},
		{"never an OK", []func(testing.TB) string{accepting(func(*clienttest.Conn, *nostr.Event) {})}, client.ErrNoRelay, client.ErrAuth},
		{"another event's OK", []func(testing.TB) string{accepting(func(c *clienttest.Conn, ev *nostr.Event) {
			c.Send(wire.AppendOK(nil, ev.PubKey, true, ""))
		})}, client.ErrNoRelay, client.ErrConflict},
		{"it says yes and keeps nothing", []func(testing.TB) string{accepting(func(c *clienttest.Conn, ev *nostr.Event) {
			c.Send(wire.AppendOK(nil, ev.ID, true, ""))
		})}, client.ErrUnverified, client.ErrConflict},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var relays []string
			for _, start := range tt.relays {
				relays = append(relays, start(t))
			}
			scaled(t, func(timeout func(*client.Options)) error {
				m := agentOf(t, "agent", "owner", relays, timeout)
				_, status, err := m.Set(t.Context(), "mem/a", "x", SetOptions{})
				if !errors.Is(err, tt.want) || errors.Is(err, tt.not) || len(status.Published) != len(relays) {
					return fmt.Errorf("%w, %+v", err, status.Published)
				}
				return nil
			})
		})
	}
}
