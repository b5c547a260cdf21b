package intentions

import (
	"strings"
	"time"
)

// What a key is of: an occurrence, an intention without due, one whose trigger fits.
const (
	keyOpen = "open"
	keyMay  = "may"
)

// key names what is shown. A moment that was snoozed to makes it another one.
func key(kind string, at time.Time) string {
	if at.IsZero() {
		return "intention " + kind
	}
	return "intention " + kind + " " + at.UTC().Format(time.RFC3339)
}

// Seen reports whether an intention was shown in a session, of which keys are those
// that it was shown by. An occurrence was also shown by a later one, which counted
// it: a clock that goes back shows nothing twice.
func Seen(shown []string, k string) bool {
	kind, at, timed := split(k)
	for _, s := range shown {
		if s == k {
			return true
		}
		if other, then, ok := split(s); ok && timed && other == kind && kind == keyDue && !then.Before(at) {
			return true
		}
	}
	return false
}

func split(k string) (kind string, at time.Time, ok bool) {
	rest, ok := strings.CutPrefix(k, "intention ")
	if !ok {
		return "", at, false
	}
	kind, written, _ := strings.Cut(rest, " ")
	at, err := time.Parse(time.RFC3339, written)
	return kind, at, err == nil
}
