package session

import (
	"sync/atomic"
	"testing"

	"engramd/internal/client/clienttest"
	"engramd/internal/protocol/wire"
)

// TestOutboxLostAnswer: what was sent from the outbox, and whose answer was lost, is not
// sent a second time onto the text that another session made from it.
func TestOutboxLostAnswer(t *testing.T) {
	var hoard clienttest.Hoard
	var down, armed atomic.Bool
	var lost atomic.Value // the id of the event
	var other func()
	url := clienttest.Start(t, &clienttest.Fake{Serve: func(c *clienttest.Conn) {
		for f, ok := c.Read(); ok && !down.Load(); f, ok = c.Read() {
			switch {
			case f.Label == wire.LabelEvent && armed.CompareAndSwap(true, false):
				hoard.Put(f.Event)
				lost.Store(f.Event.ID)
				other()
				return
			case f.Label == wire.LabelEvent && f.Event.ID == lost.Load():
				c.Send(wire.AppendOK(nil, f.Event.ID, false, "duplicate: a newer version is stored"))
				continue
			}
			hoard.Answer(c, f)
		}
	}})
	one, two := machineAt(t, url).session(), machineAt(t, url).session()
	setTo(t, one, "mem/x", "old", false)
	down.Store(true)
	appendTo(t, one, "mem/x", "NEW", true)
	down.Store(false)
	other = func() { appendTo(t, two, "mem/x", "theirs", false) }
	armed.Store(true)
	out, err := one.Outbox.Send(t.Context(), "")
	if err != nil || out.Written != 1 || out.Left+out.Apart+out.Rebased != 0 {
		t.Errorf("%+v, %v", out, err)
	}
	if got := body(t, two, "mem/x"); got != "old\nNEW\ntheirs" {
		t.Errorf("%q", got)
	}
}
