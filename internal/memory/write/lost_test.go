package write

import (
	"strings"
	"sync/atomic"
	"testing"

	"engramd/internal/client"
	"engramd/internal/client/clienttest"
	"engramd/internal/client/memory"
	"engramd/internal/e2e/relaytest"
	"engramd/internal/protocol/wire"
)

// A relay takes an append, and its connection dies before it says so. Somebody else appends
// to that, and what is sent once more is older by then.
func TestALostAnswer(t *testing.T) {
	for name, replaces := range map[string]bool{"it has both": false, "it has the newer one": true} {
		t.Run(name, func(t *testing.T) {
			var hoard clienttest.Hoard
			var armed atomic.Bool
			var lost atomic.Value // the id of the event
			var other func()
			url := clienttest.Start(t, &clienttest.Fake{Serve: func(c *clienttest.Conn) {
				for f, ok := c.Read(); ok; f, ok = c.Read() {
					switch {
					case f.Label == wire.LabelEvent && armed.CompareAndSwap(true, false):
						hoard.Put(f.Event)
						lost.Store(f.Event.ID)
						other()
						return
					case f.Label == wire.LabelEvent && f.Event.ID == lost.Load():
						c.Send(wire.AppendOK(nil, f.Event.ID, false, "duplicate: a newer version is stored"))
						continue
					case f.Label == wire.LabelEvent && replaces && lost.Load() != nil:
						hoard.Replace(f.Event)
					}
					hoard.Answer(c, f)
				}
			}})
			session := func() *Writer {
				id, err := client.NewIdentity(relaytest.Agent().Secret)
				if err != nil {
					t.Fatal(err)
				}
				c := client.New(id, client.Options{Relays: []string{url}})
				t.Cleanup(c.Close)
				m, err := memory.AsAgent(c, relaytest.Owner().Pub)
				if err != nil {
					t.Fatal(err)
				}
				return &Writer{Memory: m}
			}
			one, two := session(), session()
			if _, err := one.Append(t.Context(), "mem/x", "old", memory.SetOptions{}); err != nil {
				t.Fatal(err)
			}
			other = func() {
				if _, err := two.Append(t.Context(), "mem/x", "theirs", memory.SetOptions{}); err != nil {
					t.Error(err)
				}
			}
			armed.Store(true)
			r, err := one.Append(t.Context(), "mem/x", "NEW", memory.SetOptions{})
			if (err == nil) == replaces || r.Status.Rebased > 0 {
				t.Errorf("%v, rebased %d", err, r.Status.Rebased)
			}
			there, _, err := two.Memory.Get(t.Context(), "mem/x")
			if err != nil || !strings.HasSuffix(there.Text, "old\nNEW\ntheirs") || !replaces && r.Hash != there.Hash {
				t.Errorf("%v: %q", err, there.Text)
			}
		})
	}
}
