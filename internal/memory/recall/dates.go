package recall

import (
	"slices"
	"strings"
	"time"
)

// date is a day, a month or a year that a query names; what is not named is 0.
// A span of time is one too.
type date struct {
	year, month, day int
	from, until      time.Time // of a span, the latter not in it
}

// datesIn returns the dates that the words of a query name, against a clock. A
// year counts by itself only where nothing closer is named.
func datesIn(text string, now time.Time) []date {
	w := wordsOf(text)
	var found []date
	for i, x := range w {
		m := month(x)
		if m == 0 || !named(w, i, text) {
			continue
		}
		d := date{month: m}
		for _, j := range []int{i - 1, i + 1, i - 2} {
			if n := dayOf(w, j); n != 0 {
				d.day = n
				break
			}
		}
		for _, j := range []int{i + 1, i + 2} {
			if j < len(w) && year(w[j]) != 0 {
				d.year = year(w[j])
			}
		}
		found = append(found, d)
	}
	for i := range w { // 2026-11-20
		if i+2 < len(w) && year(w[i]) != 0 && len(w[i+1]) == 2 && len(w[i+2]) == 2 {
			if m, day := small(w[i+1]), small(w[i+2]); m >= 1 && m <= 12 && day >= 1 && day <= 31 {
				found = append(found, date{year: year(w[i]), month: m, day: day})
			}
		}
	}
	found = append(found, spansIn(w, now)...)
	if found == nil {
		for _, x := range w {
			if y := year(x); y != 0 {
				found = append(found, date{year: y})
			}
		}
	}
	return found
}

// named reports whether the name of a month means the month: may and mar are
// words too.
func named(w []string, i int, text string) bool {
	switch {
	case w[i] != "may" && w[i] != "mar":
		return true
	case i == 0:
		return len(w) > 1 && w[1][0] >= '0' && w[1][0] <= '9'
	}
	return w[i] == "mar" || strings.Contains(text, "May")
}

// dayOf reads 3 or 3rd.
func dayOf(w []string, i int) int {
	if i < 0 || i >= len(w) {
		return 0
	}
	x := w[i]
	for _, ending := range []string{"st", "nd", "rd", "th"} {
		x = strings.TrimSuffix(x, ending)
	}
	if n := small(x); n <= 31 && len(x) <= 2 {
		return n
	}
	return 0
}

// spansIn returns the times that words tell from now: yesterday, last week, the
// past 3 days, 2 weeks ago.
func spansIn(w []string, now time.Time) []date {
	if now.IsZero() {
		return nil
	}
	var found []date
	today := now.UTC().Truncate(24 * time.Hour)
	for i, x := range w {
		rest := w[i+1:]
		switch {
		case x == "today":
			found = append(found, span(today, 1))
		case x == "yesterday":
			found = append(found, span(today.AddDate(0, 0, -1), 1))
		case slices.Contains([]string{"last", "this", "past"}, x) && len(rest) > 0:
			if d, ok := relative(x, rest, today); ok {
				found = append(found, d)
			}
		case len(rest) > 1 && rest[1] == "ago":
			if n := counted(x); n > 0 {
				if d, ok := ago(n, rest[0], today); ok {
					found = append(found, d)
				}
			}
		}
	}
	return found
}

func span(from time.Time, days int) date { return date{from: from, until: from.AddDate(0, 0, days)} }

// relative reads what follows last, this and past: week, month, year; 3 days.
func relative(which string, rest []string, today time.Time) (date, bool) {
	if n := counted(rest[0]); n > 0 && len(rest) > 1 {
		start, ok := ago(n, rest[1], today)
		return date{from: start.from, until: today.AddDate(0, 0, 1)}, ok
	}
	back := 0
	if which != "this" {
		back = 1
	}
	switch rest[0] {
	case "week": // Monday is its first day
		monday := today.AddDate(0, 0, -(int(today.Weekday())+6)%7)
		return span(monday.AddDate(0, 0, -7*back), 7), true
	case "month":
		first := time.Date(today.Year(), today.Month()-time.Month(back), 1, 0, 0, 0, 0, time.UTC)
		return date{from: first, until: first.AddDate(0, 1, 0)}, true
	case "year":
		first := time.Date(today.Year()-back, 1, 1, 0, 0, 0, 0, time.UTC)
		return date{from: first, until: first.AddDate(1, 0, 0)}, true
	}
	return date{}, false
}

// ago returns the day, week, month or year that lies n of them back.
func ago(n int, unit string, today time.Time) (date, bool) {
	switch strings.TrimSuffix(unit, "s") {
	case "day":
		return span(today.AddDate(0, 0, -n), 1), true
	case "week":
		return span(today.AddDate(0, 0, -7*n), 7), true
	case "month":
		from := today.AddDate(0, -n, 0)
		return date{from: from, until: from.AddDate(0, 1, 0)}, true
	case "year":
		from := today.AddDate(-n, 0, 0)
		return date{from: from, until: from.AddDate(1, 0, 0)}, true
	}
	return date{}, false
}

var numbers = strings.Fields("zero one two three four five six seven eight nine ten")

// counted reads a number in digits or, up to ten, in words.
func counted(w string) int {
	if w == "a" || w == "an" {
		return 1
	}
	if w == "few" || w == "couple" {
		return 3
	}
	return max(small(w), slices.Index(numbers, w))
}

// near returns how near a time is to the nearest of the dates, 0 to 1: 1 in the
// month or on the day, 0.9 from the day before to three days after it; 0.6 up to two
// weeks after a day; 0.5 in the year; 0.4 in the first ten days of the month
// that follows. People tell of things after they happened.
func near(t time.Time, dates []date) float64 {
	best := 0.
	for _, d := range dates {
		best = max(best, d.near(t))
	}
	return best
}

// holds reports whether a time is of the day, month, year or span itself.
func (d date) holds(t time.Time) bool {
	if !d.from.IsZero() {
		return !t.Before(d.from) && t.Before(d.until)
	}
	return (d.year == 0 || d.year == t.Year()) && (d.month == 0 || d.month == int(t.Month())) && (d.day == 0 || d.day == t.Day())
}

func (d date) near(t time.Time) float64 {
	y := d.year
	if y == 0 {
		y = t.Year()
	}
	switch {
	case !d.from.IsZero():
		if !t.Before(d.from) && t.Before(d.until) {
			return 1
		}
	case d.month == 0:
		if t.Year() == d.year {
			return 0.5
		}
	case d.day > 0:
		after := t.Sub(time.Date(y, time.Month(d.month), d.day, 0, 0, 0, 0, time.UTC)).Hours() / 24
		if after >= 0 && after < 1 {
			return 1
		} else if after >= -1 && after < 4 {
			return 0.9
		} else if after >= 4 && after < 15 {
			return 0.6
		}
	default:
		switch months := (t.Year()-y)*12 + int(t.Month()) - d.month; {
		case months == 0:
			return 1
		case months == 1 && t.Day() <= 10:
			return 0.4
		}
	}
	return 0
}

// Since returns the beginning of the time that words name, against a clock:
// "last week", "2026-11-20", "May 2026"; and the end of it, for until.
func Since(text string, now time.Time) (from, until time.Time, ok bool) {
	if t, err := time.Parse(time.RFC3339, strings.TrimSpace(text)); err == nil {
		return t, t, true
	}
	dates := datesIn(text, now)
	if len(dates) != 1 {
		return from, until, false
	}
	d := dates[0]
	if !d.from.IsZero() {
		return d.from, d.until, true
	}
	y := d.year
	if y == 0 {
		y = now.UTC().Year()
		if d.month > int(now.UTC().Month()) { // May, asked in January
			y--
		}
	}
	switch {
	case d.month == 0:
		from = time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC)
		return from, from.AddDate(1, 0, 0), true
	case d.day == 0:
		from = time.Date(y, time.Month(d.month), 1, 0, 0, 0, 0, time.UTC)
		return from, from.AddDate(0, 1, 0), true
	}
	from = time.Date(y, time.Month(d.month), d.day, 0, 0, 0, 0, time.UTC)
	return from, from.AddDate(0, 0, 1), true
}
