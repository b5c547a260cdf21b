package intentions

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// series are the occurrences of an intention: the n-th lies n periods after the
// anchor. Months are counted on the calendar of the anchor's offset, and a day that
// a month does not have is its last one: January 31 has February 28 behind it, and
// then March 31.
type series struct {
	anchor time.Time
	every  Period    // zero: the anchor is the only one
	until  time.Time // the last moment at which one may begin; zero: none
}

// lastYear is the last one that a time of front matter can have.
const lastYear = 9999

// end is the last moment that is counted to.
func (s series) end() time.Time {
	end := time.Date(lastYear, 12, 31, 0, 0, 0, 0, time.UTC)
	if !s.until.IsZero() && s.until.Before(end) {
		return s.until
	}
	return end
}

// at returns the n-th occurrence. Its caller keeps n below most.
func (s series) at(n int64) time.Time {
	t := s.anchor
	if months := n * s.every.Months; months > 0 {
		t = addMonths(t, months)
	}
	return time.Unix(t.Unix()+n*s.every.Seconds, 0).In(s.anchor.Location())
}

// addMonths moves a time on the calendar, to the last day of a month that is too
// short.
func addMonths(t time.Time, months int64) time.Time {
	year, month, d := t.Date()
	first := time.Date(year, month+time.Month(months), 1, t.Hour(), t.Minute(), t.Second(), 0, t.Location())
	last := first.AddDate(0, 1, -1).Day()
	return first.AddDate(0, 0, min(d, last)-1)
}

// most is a number that no occurrence up to a moment reaches: what bounds the
// search, and every product in at.
func (s series) most(until time.Time) int64 {
	span := until.Unix() - s.anchor.Unix()
	if span < 0 {
		return 0
	}
	// A month has at least 28 days.
	return span/max(1, s.every.Months*28*day+s.every.Seconds) + 1
}

// index returns which occurrence is the last that began by a moment; -1: none.
func (s series) index(now time.Time) int64 {
	if end := s.end(); now.After(end) {
		now = end
	}
	switch {
	case now.Before(s.anchor):
		return -1
	case s.every.IsZero():
		return 0
	}
	// Occurrences rise, so the first one after now is found by halving.
	low, high := int64(0), s.most(now)
	for low < high {
		if middle := low + (high-low)/2; s.at(middle + 1).After(now) {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low
}

// after returns the first occurrence after a moment; none if the series ends.
func (s series) after(now time.Time) (time.Time, bool) {
	n := s.index(now) + 1
	if n > 0 && s.every.IsZero() {
		return time.Time{}, false
	}
	next := s.at(n)
	return next, !next.After(s.end()) && next.After(now)
}

// has reports whether a moment is one of the occurrences.
func (s series) has(t time.Time) bool {
	n := s.index(t)
	return n >= 0 && s.at(n).Equal(t)
}

// Period is how far one occurrence lies from the next. Its zero value is none.
type Period struct {
	Months  int64
	Seconds int64 // of days too: an offset that never changes has no short days
}

// ErrPeriod is a text that is no period.
var ErrPeriod = errors.New("want an ISO 8601 duration such as P1D, P1W, P1M, P1Y, PT4H or P1DT12H, at most 100 years")

const (
	maxPeriod   = 64 // bytes of its text
	minute      = int64(time.Minute / time.Second)
	hour        = 60 * minute
	day         = 24 * hour
	mostMonths  = 100 * 12
	mostSeconds = 100 * 366 * day
)

var (
	dateParts = []part{{'Y', 12, 0}, {'M', 1, 0}, {'W', 0, 7 * day}, {'D', 0, day}}
	timeParts = []part{{'H', 0, hour}, {'M', 0, minute}, {'S', 0, 1}}
)

// part is what one letter of a duration counts.
type part struct {
	letter          byte
	months, seconds int64
}

// ParsePeriod reads an ISO 8601 duration in whole numbers: years, months, weeks and
// days, and behind T hours, minutes and seconds, each at most once and in that
// order. The error is ErrPeriod.
func ParsePeriod(text string) (Period, error) {
	rest, ok := strings.CutPrefix(text, "P")
	if !ok || len(text) > maxPeriod {
		return Period{}, fmt.Errorf("%.80q: %w", text, ErrPeriod)
	}
	var p Period
	date, clock, timed := strings.Cut(rest, "T")
	if !p.add(date, dateParts) || !p.add(clock, timeParts) || timed && clock == "" || p == (Period{}) || p.Months > mostMonths || p.Seconds > mostSeconds {
		return Period{}, fmt.Errorf("%.80q: %w", text, ErrPeriod)
	}
	return p, nil
}

// add reads numbers, each with one of the letters that are left.
func (p *Period) add(text string, parts []part) bool {
	for text != "" {
		digits := 0
		for digits < len(text) && text[digits] >= '0' && text[digits] <= '9' {
			digits++
		}
		if digits == 0 || digits > 10 || digits == len(text) { // 10 digits times a year fit an int64
			return false
		}
		n, err := strconv.ParseInt(text[:digits], 10, 64)
		if err != nil {
			return false
		}
		at := 0
		for at < len(parts) && parts[at].letter != text[digits] {
			at++
		}
		if at == len(parts) {
			return false
		}
		p.Months += n * parts[at].months
		p.Seconds += n * parts[at].seconds
		text, parts = text[digits+1:], parts[at+1:]
	}
	return true
}

// IsZero reports whether there is none.
func (p Period) IsZero() bool { return p == Period{} }

// String returns what ParsePeriod reads as the same; "" for none.
func (p Period) String() string {
	if p.IsZero() {
		return ""
	}
	var out strings.Builder
	out.WriteByte('P')
	write := func(n int64, letter byte) {
		if n > 0 {
			fmt.Fprintf(&out, "%d%c", n, letter)
		}
	}
	write(p.Months/12, 'Y')
	write(p.Months%12, 'M')
	write(p.Seconds/day, 'D')
	if left := p.Seconds % day; left > 0 {
		out.WriteByte('T')
		write(left/hour, 'H')
		write(left%hour/minute, 'M')
		write(left%minute, 'S')
	}
	return out.String()
}
