package client

import (
	"context"
	"fmt"
	"slices"

	"github.com/nbd-wtf/go-nostr"
)

// progressEach is after how many events it is told how far a transfer is.
const progressEach = 1000

func progressText(sent int, to *Peer) string {
	return fmt.Sprintf("sent %d events to %s", sent, to.t.url)
}

// send sends events that are in order: what belongs together one after the other,
// the rest side by side, and a deletion when all before it are there.
func (x *transfer) send(ctx context.Context, to *Peer, events []*nostr.Event, t *TransferTarget) {
	if x.DryRun {
		t.Sent = len(events)
		return
	}
	if len(events) > 0 {
		x.Progress(fmt.Sprintf("sending %d events to %s", len(events), to.t.url))
	}
	for len(events) > 0 {
		removes := removing(events[0])
		n := slices.IndexFunc(events, func(ev *nostr.Event) bool { return removing(ev) != removes })
		if n < 0 {
			n = len(events)
		}
		if err := x.publish(ctx, to, events[:n], t); err != nil {
			t.Err = err
			return
		}
		events = events[n:]
	}
}

func removing(ev *nostr.Event) bool { return ev.Kind == nostr.KindDeletion || ev.Kind == kindVanish }

// inRows parts events that are in order into rows, in the order of their first.
func inRows(events []*nostr.Event) [][]*nostr.Event {
	at := map[string]int{}
	var rows [][]*nostr.Event
	for _, ev := range events {
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
