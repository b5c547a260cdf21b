package intentions

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

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
