package client

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"engramd/internal/client/clienttest"
	"engramd/internal/protocol/wire"
)

// limiting is a relay that refuses an event as rate-limited a number of times
// before it accepts it.
func limiting(t testing.TB, times int32, came *atomic.Int32) string {
	return clienttest.Start(t, &clienttest.Fake{Serve: func(c *clienttest.Conn) {
		for {
			f, ok := c.Read()
			switch {
			case !ok:
				return
			case f.Label == wire.LabelEvent && came.Add(1) <= times:
				c.Send(wire.AppendOK(nil, f.Event.ID, false, "rate-limited: one key may write 1 events per second, 1 at once, here; slow down"))
			case f.Label == wire.LabelEvent:
				c.Send(wire.AppendOK(nil, f.Event.ID, true, ""))
			}
		}
	}})
}

// A rate-limited event is sent again until no time is left; then the refusal is
// the answer.
func TestOverTheRateIsSentAgain(t *testing.T) {
	ev := clienttest.EngramAt(t, "agent", "owner", "mem/a", "text", time.Now().Unix())
	var came atomic.Int32
	c := New(Identity{}, Options{Relays: []string{limiting(t, 3, &came)}, Timeout: patience})
	defer c.Close()
	all, err := c.Publish(t.Context(), ev)
	if err != nil || !all[0].Accepted || came.Load() != 4 {
		t.Errorf("%+v, %v after %d times", all, err, came.Load())
	}

	url := limiting(t, 1<<30, &came)
	scaled(t, func(timeout func(*Options)) error {
		came.Store(0)
		never := clientFor(t, Identity{}, []string{url}, timeout)
		all, err := never.Publish(t.Context(), ev)
		var refusal *RefusalError
		if !errors.Is(err, ErrRefused) || !errors.As(all[0].Err, &refusal) || refusal.Prefix() != "rate-limited" || came.Load() < 2 {
			return fmt.Errorf("%+v, %w after %d times", all, err, came.Load())
		}
		return nil
	})
}
