package websocket

import (
	"testing"
	"time"

	"engramd/internal/relay"
	"engramd/nips/nip01"
)

// Who goes on sending beyond a rate is read from ever more slowly, up to a
// second, and at once again when an event is taken.
func TestWhoIsOverARateIsReadSlowly(t *testing.T) {
	var o overRate
	now := time.Unix(1_700_000_000, 0)
	refused, taken := relay.Answer{Why: nip01.Parse("rate-limited: slow down")}, relay.Answer{OK: true}
	if o.wait(now) != 0 {
		t.Error("it waits for nothing")
	}
	for i, want := range []time.Duration{50, 100, 200, 400, 800, 1000, 1000} {
		o.answered(refused, now)
		o.answered(refused, now) // of those that were read before
		if got := o.wait(now); got != want*time.Millisecond {
			t.Errorf("refusal %d: %v, want %v ms", i+1, got, want)
		}
		now = now.Add(o.wait(now))
	}
	o.answered(relay.Answer{Why: nip01.Parse("blocked: no")}, now)
	if o.wait(now) != 0 {
		t.Error("another refusal counts")
	}
	o.answered(taken, now)
	o.answered(refused, now)
	if got := o.wait(now); got != 50*time.Millisecond {
		t.Errorf("after one that was taken: %v", got)
	}
}
