package intentions

import "time"

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
