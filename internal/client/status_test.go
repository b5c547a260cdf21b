package client

import (
	"slices"
	"testing"
)

// A relay has what was written if the look-up found it there, and not because another has.
func TestFound(t *testing.T) {
	for _, c := range []struct{ at, took []string }{
		{[]string{"wss://a"}, []string{"wss://a", "wss://d"}}, {[]string{"wss://a", "wss://b", "wss://else"}, []string{"wss://a", "wss://b", "wss://d"}},
		{[]string{"wss://c"}, []string{"wss://d"}}, {nil, []string{"wss://d"}},
	} {
		s := Status{Published: []PublishStatus{{URL: "wss://a", Err: ErrNoRelay}, {URL: "wss://b", Err: ErrNoRelay}, {URL: "wss://c", Err: ErrRefused}, {URL: "wss://d", Accepted: true}}}
		if s.Found(c.at); !slices.Equal(s.Took(), c.took) || !s.Partial || s.Past != (len(c.at) == 0) {
			t.Errorf("found at %v: %v, past %t", c.at, s.Took(), s.Past)
		}
	}
}
