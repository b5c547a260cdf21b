package jetstream

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// The trimming is held until the receiver had time to join, or gave up, or the log is
// half full, or the node ends.
func TestHold(t *testing.T) {
	for name, c := range map[string]struct {
		fullAfter, givenUpAfter, endsAfter time.Duration // 0 for never
		arrived                            bool
		want                               time.Duration
	}{
		"it arrived":               {givenUpAfter: 3 * time.Hour, arrived: true, want: 4 * time.Hour},
		"it was given up":          {givenUpAfter: 3 * time.Hour, want: 3 * time.Hour},
		"the log is full":          {fullAfter: 90 * time.Second, givenUpAfter: 3 * time.Hour, arrived: true, want: 2 * time.Minute},
		"full after it arrived":    {fullAfter: 200 * time.Minute, givenUpAfter: 3 * time.Hour, arrived: true, want: 200 * time.Minute},
		"the node ends before":     {endsAfter: time.Hour, givenUpAfter: 3 * time.Hour, want: time.Hour},
		"the node ends in the end": {endsAfter: 210 * time.Minute, givenUpAfter: 3 * time.Hour, arrived: true, want: 210 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				ctx, end := context.WithCancel(t.Context())
				defer end()
				if c.endsAfter > 0 {
					time.AfterFunc(c.endsAfter, end)
				}
				given, giveUp := context.WithCancel(ctx)
				b := &backup{}
				s := &serving{c: &side{log: slog.New(slog.DiscardHandler)}, ctx: ctx, Peer: Peer{Full: func(context.Context) bool {
					return c.fullAfter > 0 && time.Since(began) >= c.fullAfter
				}}}
				time.AfterFunc(c.givenUpAfter, func() {
					s.mu.Lock()
					b.arrived = c.arrived
					s.mu.Unlock()
					giveUp()
				})
				held := true
				s.hold(given, b, func() { held = false })
				if took := time.Since(began); held || took != c.want {
					t.Errorf("held for %v, want %v", took, c.want)
				}
			})
		})
	}
}
