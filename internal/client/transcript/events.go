package transcript

import (
	"cmp"
	"io"
	"slices"
	"strings"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/wire"
)

// Signed are the events of a thread, states and entries, oldest first, each once.
// All of them have been verified.
func Signed(t client.Thread) []*nostr.Event {
	seen := map[string]bool{}
	var all []*nostr.Event
	add := func(ev *nostr.Event) {
		if ev != nil && !seen[ev.ID] {
			seen[ev.ID] = true
			all = append(all, ev)
		}
	}
	for _, m := range t.Moves {
		add(m.Event)
	}
	for _, e := range t.Entries {
		add(e.Event)
	}
	slices.SortFunc(all, func(a, b *nostr.Event) int {
		return cmp.Or(cmp.Compare(a.CreatedAt, b.CreatedAt), strings.Compare(a.ID, b.ID))
	})
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
