package nipae

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"
)

func TestNextCreatedAt(t *testing.T) {
	const now = 1_700_000_000
	for name, c := range map[string]struct {
		now, head, want int64
		poisoned        bool
	}{
		"no head":                 {now, 0, now, false},
		"an old head":             {now, now - 1000, now, false},
		"a second ago":            {now, now - 1, now, false},
		"this very second":        {now, now, now + 1, false},
		"a second ahead":          {now, now + 1, now + 2, false},
		"just below the limit":    {now, now + 598, now + 599, false},
		"at the limit":            {now, now + 599, now + 600, false},
		"beyond the limit":        {now, now + 600, 0, true},
		"far beyond":              {now, now + 1e9, 0, true},
		"the end of time":         {now, math.MaxInt64, 0, true},
		"both at the end of time": {math.MaxInt64, math.MaxInt64, 0, true},
		"one before the end":      {math.MaxInt64 - 1, math.MaxInt64 - 1, math.MaxInt64, false},
		"a head before 1970":      {now, math.MinInt64, now, false},
		"a clock before 1970":     {math.MinInt64, math.MaxInt64 - 1, 0, true},
		"a clock at 1970":         {0, 0, 1, false},
	} {
		got, err := NextCreatedAt(c.now, c.head)
		if got != c.want || errors.Is(err, ErrClockPoisoned) != c.poisoned || (err != nil) != c.poisoned {
			t.Errorf("%s: %d, %v, want %d", name, got, err, c.want)
		}
	}
	if PoisonThreshold >= 15*time.Minute {
		t.Error("relays refuse what the threshold lets pass")
	}
}

func TestExpiration(t *testing.T) {
	for name, c := range map[string]struct {
		tags nostr.Tags
		at   int64
		ok   bool
	}{
		"none":       {nil, 0, false},
		"one":        {nostr.Tags{{"-"}, {"expiration", "1700000000"}}, 1_700_000_000, true},
		"past":       {nostr.Tags{{"expiration", "0"}}, 0, true},
		"bare":       {nostr.Tags{{"expiration"}}, 0, false},
		"not a time": {nostr.Tags{{"expiration", "soon"}}, 0, false},
		"negative":   {nostr.Tags{{"expiration", "-5"}}, 0, false},
	} {
		if at, ok := Expiration(&nostr.Event{Tags: c.tags}); at != c.at || ok != c.ok {
			t.Errorf("%s: %d, %v", name, at, ok)
		}
	}
}
