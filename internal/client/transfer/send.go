package transfer

import (
	"context"
	"fmt"
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"engramd/nips/kind"
)

// progressEach is after how many events it is told how far a transfer is.
const progressEach = 1000

// events is a number of events in words.
func events(n int) string {
	if n == 1 {
		return "1 event"
	}
	return fmt.Sprintf("%d events", n)
}

// send sends events that are in order: what belongs together one after the other,
// the rest side by side, and a deletion when all before it are there.
func (x *transfer) send(ctx context.Context, to *Peer, list []*nostr.Event, t *Target) error {
	if x.DryRun {
		for _, ev := range list {
			t.took(ev)
		}
		return nil
	}
	if len(list) > 0 {
		x.Progress("sending " + events(len(list)) + " to " + to.t.URL)
	}
	for len(list) > 0 {
		removes := removing(list[0])
		n := slices.IndexFunc(list, func(ev *nostr.Event) bool { return removing(ev) != removes })
		if n < 0 {
			n = len(list)
		}
		if err := x.publish(ctx, to, list[:n], t); err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}

// took counts an event that a target took, or would be sent on a dry run.
func (t *Target) took(ev *nostr.Event) {
	t.Sent++
	if t.past[ev.ID] {
		t.Past++
	}
}

func removing(ev *nostr.Event) bool { return ev.Kind == nostr.KindDeletion || ev.Kind == kind.Vanish }

// inRows parts events that are in order into rows, in the order of their first.
func inRows(list []*nostr.Event) [][]*nostr.Event {
	at := map[string]int{}
	var rows [][]*nostr.Event
	for _, ev := range list {
		a, has := addressOf(ev)
		name := "event " + ev.ID
		if has {
			name = a.row()
		}
		i, known := at[name]
		if !known {
			i = len(rows)
			at[name], rows = i, append(rows, nil)
		}
		rows[i] = append(rows[i], ev)
	}
	return rows
}
