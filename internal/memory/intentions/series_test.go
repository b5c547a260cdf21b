package intentions

import (
	"errors"
	"testing"
	"time"
)

func at(t *testing.T, s string) time.Time {
	t.Helper()
	v, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	_, offset := v.Zone()
	return v.In(time.FixedZone("", offset))
}

func TestPeriods(t *testing.T) {
	for text, want := range map[string]Period{
		"P1D": {0, day}, "P1W": {0, 7 * day}, "P1M": {1, 0}, "P1Y": {12, 0}, "PT4H": {0, 4 * hour}, "PT1S": {0, 1},
		"P1Y2M3W4DT5H6M7S": {14, 25*day + 5*hour + 6*minute + 7}, "P1DT12H": {0, 36 * hour}, "PT90M": {0, 90 * minute}, "P100Y": {1200, 0}, "P007D": {0, 7 * day},
	} {
		got, err := ParsePeriod(text)
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "P", "PT", "P1DT", "P0D", "PT0S", "1D", "P1", "P-1D", "P+1D", "P1.5D", "P1,5D", "p1d", "P1D1D", "P1D1M", "PT1S1H", "P1H",
		"P101Y", "P99999999999D", "P9999999999D", "P1D ", " P1D", "P1DT1H1", "PT1D", "P1Mx", "P1T1H", "PTT1H", "P1DT1HT1M", "every day"} {
		if got, err := ParsePeriod(text); !errors.Is(err, ErrPeriod) || !got.IsZero() {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

// FuzzPeriod: a period that is read is bounded, and is written in a form that
// reads as the same.
func FuzzPeriod(f *testing.F) {
	for _, s := range []string{"P1D", "P1Y2M3W4DT5H6M7S", "PT1S", "P9999999999Y", "P1M"} {
		f.Add(s, int64(0), int64(1))
	}
	f.Fuzz(func(t *testing.T, text string, from, now int64) {
		p, err := ParsePeriod(text)
		if err != nil {
			return
		}
		if p.Months < 0 || p.Seconds < 0 || p.IsZero() || p.Months > mostMonths || p.Seconds > mostSeconds {
			t.Fatalf("%q: %+v", text, p)
		}
		if again, err := ParsePeriod(p.String()); err != nil || again != p {
			t.Fatalf("%q: %q is %+v, %v", text, p.String(), again, err)
		}
		const years = 9000 * 366 * 86400
		s := series{anchor: time.Unix(from%years, 0).UTC(), every: p}
		moment := time.Unix(now%years, 0)
		if next, ok := s.after(moment); ok && (!next.After(moment) || !s.has(next)) {
			t.Fatalf("%q from %v: after %v comes %v", text, s.anchor, moment, next)
		}
	})
}

func TestSeries(t *testing.T) {
	for _, tt := range []struct{ due, every, until, now, last, next string }{
		{"2026-11-01T09:00:00+01:00", "", "", "2026-10-31T00:00:00Z", "", "2026-11-01T09:00:00+01:00"},
		{"2026-11-01T09:00:00+01:00", "", "", "2026-11-01T08:00:00Z", "2026-11-01T09:00:00+01:00", ""},
		{"2026-11-01T09:00:00+01:00", "P1D", "", "2026-11-01T07:59:59Z", "", "2026-11-01T09:00:00+01:00"},
		{"2026-11-01T09:00:00+01:00", "P1D", "", "2026-11-05T08:00:00Z", "2026-11-05T09:00:00+01:00", "2026-11-06T09:00:00+01:00"},
		// The offset is kept even where the zone has another one in summer.
		{"2026-03-20T09:00:00+01:00", "P1W", "", "2026-04-03T06:30:00Z", "2026-03-27T09:00:00+01:00", "2026-04-03T09:00:00+01:00"},
		{"2026-01-31T23:30:00-05:00", "P1M", "", "2026-02-28T23:00:00Z", "2026-01-31T23:30:00-05:00", "2026-02-28T23:30:00-05:00"},
		{"2026-01-31T23:30:00-05:00", "P1M", "", "2026-03-30T00:00:00Z", "2026-02-28T23:30:00-05:00", "2026-03-31T23:30:00-05:00"},
		{"2028-02-29T00:00:00Z", "P1Y", "", "2029-06-01T00:00:00Z", "2029-02-28T00:00:00Z", "2030-02-28T00:00:00Z"},
		{"2028-02-29T00:00:00Z", "P1Y", "", "2032-02-29T00:00:00Z", "2032-02-29T00:00:00Z", "2033-02-28T00:00:00Z"},
		{"2026-01-01T00:00:00Z", "P1M1DT1H", "", "2026-03-04T00:00:00Z", "2026-03-03T02:00:00Z", "2026-04-04T03:00:00Z"},
		{"2026-11-01T09:00:00Z", "PT4H", "2026-11-01T18:00:00Z", "2026-11-03T00:00:00Z", "2026-11-01T17:00:00Z", ""},
		{"2026-11-01T09:00:00Z", "P1D", "2026-10-01T00:00:00Z", "2026-11-03T00:00:00Z", "", ""},
		{"1970-01-01T00:00:00Z", "PT1S", "", "2026-11-03T00:00:00Z", "2026-11-03T00:00:00Z", "2026-11-03T00:00:01Z"},
		{"0001-01-01T00:00:00Z", "PT1S", "", "9999-12-30T23:59:59Z", "9999-12-30T23:59:59Z", "9999-12-31T00:00:00Z"},
		{"0001-01-31T00:00:00Z", "P1M", "", "9999-12-31T00:00:00Z", "9999-12-31T00:00:00Z", ""},
		{"9999-12-31T00:00:00Z", "P100Y", "", "9999-12-31T00:00:00Z", "9999-12-31T00:00:00Z", ""},
	} {
		s := series{anchor: at(t, tt.due)}
		if tt.every != "" {
			s.every, _ = ParsePeriod(tt.every)
		}
		if tt.until != "" {
			s.until = at(t, tt.until)
		}
		now, last, next := at(t, tt.now), "", ""
		if n := s.index(now); n >= 0 {
			last = s.at(n).Format(time.RFC3339)
		}
		if n, ok := s.after(now); ok {
			next = n.Format(time.RFC3339)
		}
		if last != tt.last || next != tt.next {
			t.Errorf("%s %s at %s: last %q, next %q; want %q, %q", tt.due, tt.every, tt.now, last, next, tt.last, tt.next)
		}
	}
}

// The search agrees with counting one by one.
func TestSeriesCountsRight(t *testing.T) {
	for _, every := range []string{"P1M", "P1Y", "P5M3DT7H", "P1D", "PT7H", "P1W"} {
		p, err := ParsePeriod(every)
		if err != nil {
			t.Fatal(err)
		}
		s := series{anchor: at(t, "2024-01-31T12:00:00+05:30"), every: p}
		for n := range int64(400) {
			for _, off := range []time.Duration{-time.Second, 0, time.Second} {
				want := n
				if off < 0 {
					want--
				}
				if got := s.index(s.at(n).Add(off)); got != want {
					t.Fatalf("%s: %d at occurrence %d %+v", every, got, n, off)
				}
			}
		}
	}
}
