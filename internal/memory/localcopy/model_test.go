package localcopy

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/nips/nipae"
)

// TestHeadsAreThoseOfTheProtocol: after any history of relays that take, lose,
// regain and go back, the copy's heads are what nipae chooses from all that the
// relays have and all that could be read and was ever there. Two copies share the file, and either may be written, read or
// opened anew at any step.
func TestHeadsAreThoseOfTheProtocol(t *testing.T) {
	seeds := uint64(6)
	if testing.Short() {
		seeds = 1
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { history(t, rand.New(rand.NewPCG(seed, 7))) })
	}
}

func history(t *testing.T, rnd *rand.Rand) {
	a, dir := newAuthor(t, "agent", "owner"), t.TempDir()
	var events []*nostr.Event
	for i := range 24 {
		slug, at := fmt.Sprintf("mem/s%d", rnd.IntN(4)), int64(100+rnd.IntN(12))
		switch rnd.IntN(6) {
		case 0:
			events = append(events, a.remove(slug, at))
		case 1:
			events = append(events, a.garbled(slug, at))
		default:
			events = append(events, a.write(slug, fmt.Sprintf("text %d", i), at))
		}
	}
	relays := []string{near, far, "wss://third.example"}
	has := map[string]map[*nostr.Event]bool{"": {}} // and what was ever there
	for _, r := range relays {
		has[r] = map[*nostr.Event]bool{}
	}
	mirrors := []*Copy{open(t, a.Pair, Options{Dir: dir}), open(t, a.Pair, Options{Dir: dir})}
	for step := range 80 {
		which := rnd.IntN(len(mirrors))
		m, relay := mirrors[which], relays[rnd.IntN(len(relays))]
		ev := events[rnd.IntN(len(events))]
		switch rnd.IntN(8) {
		case 0, 1, 2, 3:
			put(t, m, relay, ev)
			take(a, has[relay], ev)
			if _, err := nipae.Open(a.Conversation, a.Agent, a.Owner, ev); err == nil {
				has[""][ev] = true
			}
		case 4, 5:
			lose(t, m, relay, ev)
			delete(has[relay], ev)
		case 6:
			if rnd.IntN(3) == 0 {
				if _, err := m.Forget(context.Background(), relay); err != nil {
					t.Fatal(err)
				}
				clear(has[relay])
			} else if err := keepIndex(context.Background(), m, 1); err != nil {
				t.Fatal(err)
			}
		case 7:
			if err := m.Close(); err != nil {
				t.Fatal(err)
			}
			mirrors[which] = open(t, a.Pair, Options{Dir: dir})
		}
		want := chosen(a, has)
		if got := shown(t, mirrors[rnd.IntN(len(mirrors))]); got != want {
			t.Fatalf("after step %d: %q, want %q", step, got, want)
		}
		items, err := mirrors[which].Holds(context.Background(), relay)
		if err != nil || len(items) != len(has[relay]) {
			t.Fatalf("after step %d: %d events at %s, want %d (%v)", step, len(items), relay, len(has[relay]), err)
		}
	}
}

// take is what a relay has after an event that can be read came to it: nothing
// older at the address.
func take(a *author, has map[*nostr.Event]bool, ev *nostr.Event) {
	if has[ev] {
		return
	}
	has[ev] = true
	if _, err := nipae.Open(a.Conversation, a.Agent, a.Owner, ev); err != nil {
		return
	}
	for old := range has {
		if old.Tags.GetD() == ev.Tags.GetD() && nipae.Newer(ev, old) {
			delete(has, old)
		}
	}
}

// chosen is what nipae makes of all that relays have, as shown tells it.
func chosen(a *author, has map[string]map[*nostr.Event]bool) string {
	var all []*nostr.Event
	for _, events := range has {
		for ev := range events {
			all = append(all, ev)
		}
	}
	l := nipae.SelectHeads(a.Conversation, a.Agent, a.Owner, all)
	var out []string
	for _, e := range append(l.Heads(), l.Tombstones...) {
		line := string(e.Slug()) + " †"
		if text, ok := e.Body.Text(); ok {
			line = string(e.Slug()) + " = " + text
		}
		if r, err := l.At(e.Event.Tags.GetD()); err == nil && r.Unreadable > 0 {
			line += fmt.Sprintf(" (%d doubtful)", r.Unreadable)
		}
		out = append(out, line)
	}
	slices.Sort(out)
	for range l.Unreadable {
		out = append(out, "?")
	}
	return listed(out...)
}
