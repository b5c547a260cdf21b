package frontmatter

import "time"

// Moment is a time or a whole day of front matter. Its zero value is none.
type Moment struct {
	Time time.Time // in UTC; of a day, its beginning
	Day  bool
}

// At returns an instant, to the second.
func At(t time.Time) Moment { return Moment{Time: t.UTC().Truncate(time.Second)} }

// ParseMoment reads 2006-01-02 or RFC 3339.
func ParseMoment(s string) (Moment, bool) {
	if t, err := time.Parse(time.DateOnly, s); err == nil {
		return Moment{Time: t, Day: true}, true
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return Moment{Time: t.UTC()}, true
	}
	return Moment{}, false
}

// IsZero reports whether there is no time.
func (m Moment) IsZero() bool { return m.Time.IsZero() }

// String returns what ParseMoment reads; "" for none.
func (m Moment) String() string {
	switch {
	case m.IsZero():
		return ""
	case m.Day:
		return m.Time.Format(time.DateOnly)
	}
	return m.Time.Format(time.RFC3339)
}

// Value returns it as a value of front matter.
func (m Moment) Value() Value { return Value{scalar: m.String(), bare: !m.IsZero()} }
