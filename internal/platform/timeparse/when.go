// Package timeparse reads times as people write them on command lines and in calls.
// All commands take the same forms.
package timeparse

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Use is what a time is for: it says which moment of a day is meant, and in
// which direction a duration goes.
type Use int

// The uses.
const (
	// At is the instant at which something is looked at: a date is the end of
	// that day (now, if it is today), 2h is two hours ago.
	At Use = iota
	// Since is where something begins: a date is its first moment, 2h is two
	// hours ago.
	Since
	// Until is to come: a date is the end of that day, 2h is in two hours.
	Until
	// Begin is where something to come begins: a date is its first moment, 2h is in
	// two hours.
	Begin
)

// ErrTime means that a text is no time.
var ErrTime = errors.New("want a time like 2006-01-02T15:04:05Z, a date, Unix seconds, how long from now (90m, 2d, 1w, in 2 hours), today, yesterday or tomorrow, also with a time (tomorrow 9:00)")

const (
	day  = 24 * time.Hour
	most = 100 * 365 * day // a time.Duration ends at 292 years
)

// Parse reads a time: as of RFC 3339, also without seconds, or without a zone,
// which then is that of now; a date; Unix seconds, at most 12 digits; "now",
// "today", "yesterday" and "tomorrow", each also with a time of day (tomorrow
// 9:00); or how long from now: what time.ParseDuration reads, or whole days (2d) and
// weeks (1w), or a number with a word (2 hours), with or without "ago" or, of what
// is to come, "in". The error is ErrTime.
func Parse(text string, use Use, now time.Time) (time.Time, error) {
	text = strings.TrimSpace(text)
	if seconds, err := strconv.ParseUint(text, 10, 63); err == nil && len(text) <= 12 {
		return time.Unix(int64(seconds), 0).In(now.Location()), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04Z07:00"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04"} {
		if t, err := time.ParseInLocation(layout, text, now.Location()); err == nil {
			return t, nil
		}
	}
	if t, ok := date(text, now); ok {
		return ofDay(t, use, now), nil
	}
	if t, ok := clock(text, now); ok {
		return t, nil
	}
	if strings.HasPrefix(strings.ToLower(text), "in ") && (use == Until || use == Begin) {
		text = text[len("in "):]
	}
	if d, ok := span(text); ok {
		if use == Until || use == Begin {
			return now.Add(d), nil
		}
		return now.Add(-d), nil
	}
	return time.Time{}, fmt.Errorf("%.80q: %w", text, ErrTime)
}

// date reads a day, of which it returns the first moment.
func date(text string, now time.Time) (time.Time, bool) {
	today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	switch strings.ToLower(text) {
	case "today":
		return today, true
	case "yesterday":
		return today.AddDate(0, 0, -1), true
	case "tomorrow":
		return today.AddDate(0, 0, 1), true
	}
	t, err := time.ParseInLocation(time.DateOnly, text, now.Location())
	return t, err == nil
}

// clock reads a day's word with a time of day: tomorrow 9:00.
func clock(text string, now time.Time) (time.Time, bool) {
	word, hours, ok := strings.Cut(text, " ")
	if !ok || strings.Trim(word, "0123456789-") == "" {
		return time.Time{}, false
	}
	d, ok := date(word, now)
	if !ok {
		return time.Time{}, false
	}
	t, err := time.Parse("15:04", strings.TrimSpace(hours))
	return time.Date(d.Year(), d.Month(), d.Day(), t.Hour(), t.Minute(), 0, 0, now.Location()), err == nil
}

// sizes are the words behind a number.
var sizes = map[string]time.Duration{"second": time.Second, "minute": time.Minute, "hour": time.Hour, "day": day, "week": 7 * day}

// counted reads a number with a word: 2 hours.
func counted(text string) (time.Duration, bool) {
	n, word, ok := strings.Cut(text, " ")
	size := sizes[strings.TrimSuffix(strings.TrimSpace(word), "s")]
	if !ok || size == 0 {
		return 0, false
	}
	many, err := strconv.ParseUint(n, 10, 32)
	if err != nil || many > uint64(most/size) {
		return 0, false
	}
	return time.Duration(many) * size, true
}

// ofDay returns the moment of a day that is meant.
func ofDay(first time.Time, use Use, now time.Time) time.Time {
	last := first.AddDate(0, 0, 1).Add(-time.Second)
	switch {
	case use == Since || use == Begin:
		return first
	case use == At && !now.Before(first) && now.Before(last):
		return now
	}
	return last
}

// span reads how long something is.
func span(text string) (time.Duration, bool) {
	text = strings.TrimSpace(strings.TrimSuffix(strings.ToLower(text), "ago"))
	if text == "now" {
		return 0, true
	}
	for unit, size := range map[string]time.Duration{"d": day, "w": 7 * day} {
		if n, ok := strings.CutSuffix(text, unit); ok {
			many, err := strconv.ParseUint(n, 10, 16)
			if err != nil || many > uint64(most/size) {
				return 0, false
			}
			return time.Duration(many) * size, true
		}
	}
	if d, ok := counted(text); ok {
		return d, true
	}
	d, err := time.ParseDuration(text)
	return d, err == nil && d >= 0
}
