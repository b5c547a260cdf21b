package membership

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"engramd/internal/relay/clock"
)

// on is a machine that has run for so long.
type on time.Duration

func (o on) Boot() (string, time.Duration)        { return "run", time.Duration(o) }
func (on) Synchronised() (now time.Time, ok bool) { return now, false }

// A cluster begins with the time of a clock that the relay here has believed, or of one of
// which nothing is known.
func TestBeginsByATrustedClock(t *testing.T) {
	dir, now := t.TempDir(), time.Unix(1_800_000_000, 0)
	if got := trusted(dir, now, on(time.Hour)); !got.Equal(now) {
		t.Errorf("nothing is known of the clock: %v", got)
	}
	g := clock.New(clock.Options{Path: filepath.Join(dir, clock.File), Now: func() time.Time { return now }, Machine: on(time.Hour)})
	g.Open(now.Unix())
	ended, end := context.WithCancel(t.Context())
	end()
	g.Run(ended, time.After)
	for by, want := range map[time.Duration]bool{0: true, 30 * 24 * time.Hour: false, -30 * 24 * time.Hour: false} {
		at := now.Add(by)
		if got := trusted(dir, at, on(time.Hour)); got.Equal(at) != want || got.IsZero() == want {
			t.Errorf("set by %v: %v", by, got)
		}
	}
}
