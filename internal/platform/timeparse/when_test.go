package timeparse

import (
	"errors"
	"testing"
	"time"
)

var zone = time.FixedZone("here", 2*3600)

// now is a Sunday noon.
var now = time.Date(2026, 11, 22, 12, 0, 0, 0, zone)

func TestParse(t *testing.T) {
	at := func(s string) time.Time {
		t.Helper()
		v, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, tt := range []struct {
		text string
		use  Use
		want time.Time
	}{
		{"2026-11-20T23:51:00Z", At, at("2026-11-20T23:51:00Z")},
		{"2026-11-20T23:51Z", At, at("2026-11-20T23:51:00Z")},
		{"2026-11-20T23:51", At, at("2026-11-20T23:51:00+02:00")},
		{"2026-11-20 23:51:09", Since, at("2026-11-20T23:51:09+02:00")},
		{"1700000000", At, time.Unix(1_700_000_000, 0)},
		{"2026-11-20", At, at("2026-11-20T23:59:59+02:00")},
		{"2026-11-20", Since, at("2026-11-20T00:00:00+02:00")},
		{"2026-11-30", Until, at("2026-11-30T23:59:59+02:00")},
		{"2026-11-22", At, now}, // today: what there is now
		{"2026-11-22", Until, at("2026-11-22T23:59:59+02:00")},
		{"today", At, now},
		{"today", Since, at("2026-11-22T00:00:00+02:00")},
		{"yesterday", At, at("2026-11-21T23:59:59+02:00")},
		{"Yesterday", Since, at("2026-11-21T00:00:00+02:00")},
		{"tomorrow", Until, at("2026-11-23T23:59:59+02:00")},
		{"now", At, now},
		{"1h", At, now.Add(-time.Hour)},
		{" 1h30m ago ", Since, now.Add(-90 * time.Minute)},
		{"2d", At, now.Add(-48 * time.Hour)},
		{"1w", Since, now.Add(-7 * 24 * time.Hour)},
		{"72h", Until, now.Add(72 * time.Hour)},
		{"0s", At, now},
		{"2026-11-30", Begin, at("2026-11-30T00:00:00+02:00")},
		{"tomorrow", Begin, at("2026-11-23T00:00:00+02:00")},
		{"tomorrow 9:00", Begin, at("2026-11-23T09:00:00+02:00")},
		{"Today 18:30", Until, at("2026-11-22T18:30:00+02:00")},
		{"in 2 hours", Begin, now.Add(2 * time.Hour)},
		{"In 90m", Until, now.Add(90 * time.Minute)},
		{"3 days", Begin, now.Add(72 * time.Hour)},
		{"1 week ago", At, now.Add(-7 * 24 * time.Hour)},
	} {
		got, err := Parse(tt.text, tt.use, now)
		if err != nil || !got.Equal(tt.want) {
			t.Errorf("%q for %d: %v, %v; want %v", tt.text, tt.use, got, err, tt.want)
		}
	}
	for _, text := range []string{"", "soon", "-1h", "2026-13-01", "99999d", "1234567890123", "-5", "1x", "2026-11-20T25:00:00Z", "ago", "d", "in 2 hours", "tomorrow 25:00", "2026-11-20 9", "9:00 tomorrow", "2 months", "99999999999 days"} {
		if got, err := Parse(text, At, now); !errors.Is(err, ErrTime) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

// FuzzParse: nothing that is read lies outside of what a manifest or an event
// can say by a mistake of arithmetic.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"1h", "2d", "2026-11-20", "yesterday", "1700000000", "65535w"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		past, err := Parse(s, At, now)
		if err != nil {
			return
		}
		if ahead, err := Parse(s, Until, now); err != nil || ahead.Before(past) {
			t.Errorf("%q: %v, and until %v, %v", s, past, ahead, err)
		}
	})
}
