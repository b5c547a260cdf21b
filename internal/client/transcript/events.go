package transcript

import (
	"cmp"
	"io"
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/wire"
)

// Signed are the events of a thread, states and entries, each once, in an order in
// which a relay takes them.
// All of them have been verified.
func Signed(t client.Thread) []*nostr.Event {
	at := map[string]int64{}
	var all []*nostr.Event
	add := func(ev *nostr.Event, place int64) {
		if ev == nil {
			return
		}
		if _, seen := at[ev.ID]; !seen {
			at[ev.ID] = place
			all = append(all, ev)
		}
	}
	moves, entries := places(t)
	for i, m := range t.Moves {
		add(m.Event, moves[i])
	}
	for i, e := range t.Entries {
		add(e.Event, entries[i])
	}
	slices.SortStableFunc(all, func(a, b *nostr.Event) int { return cmp.Compare(at[a.ID], at[b.ID]) })
	return all
}

// Events writes the events of a thread as they were signed, one a line.
func Events(w io.Writer, t client.Thread) error {
	for _, ev := range Signed(t) {
		if _, err := w.Write(append(wire.AppendEvent(nil, ev), '\n')); err != nil {
			return err
		}
	}
	return nil
}
