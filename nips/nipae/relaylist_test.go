package nipae

import (
	"slices"
	"testing"

	"github.com/nbd-wtf/go-nostr"
)

func TestConfiguredRelays(t *testing.T) {
	p, stranger := newPair(t, 1, 2), newPair(t, 3, 2)
	list := func(by *pair, at nostr.Timestamp, tags ...nostr.Tag) *nostr.Event {
		return by.signed(nostr.Event{Kind: 10002, CreatedAt: at, Tags: tags})
	}
	given := []string{"wss://given.example", "nonsense", "WSS://given.example:443/"}
	fallback := []string{"wss://given.example"}
	old := list(p, 1, nostr.Tag{"r", "wss://old.example"})
	current := list(p, 2,
		nostr.Tag{"r", "WSS://A.example/"}, nostr.Tag{"r", "wss://a.example:443"}, nostr.Tag{"r", "wss://read.example", "read"},
		nostr.Tag{"r", "wss://b.example", "write"}, nostr.Tag{"r", "https://c.example"}, nostr.Tag{"r"}, nostr.Tag{"r", ""},
		nostr.Tag{"r", "wss://d.example", ""}, nostr.Tag{"r", "wss://e.example", "Write"}, nostr.Tag{"x", "wss://f.example"},
		nostr.Tag{"r", "ws://a.example"}, nostr.Tag{"r", "wss://b.example/Path"})
	want := []string{"WSS://A.example/", "wss://b.example", "wss://d.example", "ws://a.example", "wss://b.example/Path"}
	for name, c := range map[string]struct {
		candidates []*nostr.Event
		want       []string
		listed     bool
	}{
		"no list":          {nil, fallback, false},
		"one":              {[]*nostr.Event{current}, want, true},
		"newest counts":    {[]*nostr.Event{old, nil, current, old}, want, true},
		"another's":        {[]*nostr.Event{list(stranger, 9, nostr.Tag{"r", "wss://evil.example"}), current}, want, true},
		"only another's":   {[]*nostr.Event{list(stranger, 9, nostr.Tag{"r", "wss://evil.example"})}, fallback, false},
		"another kind":     {[]*nostr.Event{p.signed(nostr.Event{Kind: 10050, CreatedAt: 9, Tags: nostr.Tags{{"r", "wss://x.example"}}})}, fallback, false},
		"forged":           {[]*nostr.Event{changed(old, func(ev *nostr.Event) { ev.CreatedAt = 9 }), current}, want, true},
		"nothing usable":   {[]*nostr.Event{list(p, 9, nostr.Tag{"r", "wss://read.example", "read"}), current}, fallback, false},
		"empty is current": {[]*nostr.Event{list(p, 9), old}, fallback, false},
	} {
		if got, listed := ConfiguredRelays(p.agent, c.candidates, given); !slices.Equal(got, c.want) || listed != c.listed {
			t.Errorf("%s: %q, listed %v", name, got, listed)
		}
	}
}
