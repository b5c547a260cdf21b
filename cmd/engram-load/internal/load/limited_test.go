package load

import (
	"context"
	"testing"
	"time"

	"engramd/internal/protocol/wire"
)

// limiter refuses each event twice as rate-limited before it accepts it. The
// relay calls it under a lock.
type limiter map[string]int

func (l limiter) answer(f wire.Frame, messages [][]byte) [][]byte {
	if f.Label != wire.LabelEvent {
		return messages
	}
	if l[f.Event.ID]++; l[f.Event.ID] <= 2 {
		return [][]byte{wire.AppendOK(nil, f.Event.ID, false, "rate-limited: one address may write 1 events per second; slow down")}
	}
	return [][]byte{wire.AppendOK(nil, f.Event.ID, true, "")}
}

// An event over the relay's rate is sent again after a pause until it is taken,
// and counts once.
func TestOverTheRateIsSentAgain(t *testing.T) {
	seen := limiter{}
	h := &hub{answer: func(f wire.Frame, _ int, m [][]byte) [][]byte { return seen.answer(f, m) }}
	h.start(t)
	for name, count := range map[string]int{"publish": 20, "live": 20 * 3} {
		t.Run(name, func(t *testing.T) {
			clear(seen)
			o := liveOptions(t.TempDir())
			o.Timeout = 30 * time.Second
			r, err := mustFind(t, name).Run(context.Background(), Target{URL: h.url}, o)
			if err != nil {
				t.Fatal(err)
			}
			if r.Count != count || len(seen) != 24 {
				t.Errorf("counted %d of %d events", r.Count, len(seen))
			}
			for id, n := range seen {
				if n != 3 {
					t.Errorf("event %s was sent %d times", id, n)
				}
			}
		})
	}
}
