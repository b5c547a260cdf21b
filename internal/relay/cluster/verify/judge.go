package verify

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/nips/kind"
)

// leastAgain is how often what differs is asked for again where the work was interrupted,
// too: what had no answer then may still come.
const leastAgain = 20

// Judge compares what every node shows in the end with the record, and with the first
// node. Nothing may be written any more; what got no answer may still come, so that what
// differs is asked for again, for a while. An error says that a node did not answer.
func (w *World) Judge() error {
	asked := 0
	writes, late := w.All(), time.After(settle)
	all, err := w.everywhere(writes)
	for again := doubtful(writes, all); err == nil && len(again) > 0; again = doubtful(writes, all) {
		if asked++; asked <= leastAgain {
			<-time.After(w.Pace)
		} else if !w.more(w.Pace, late) {
			break
		}
		var now []map[string]bool
		now, err = w.everywhere(again)
		for node := range now {
			for _, one := range again {
				all[node][one.Event.ID] = now[node][one.Event.ID]
			}
		}
	}
	if err != nil {
		return err
	}
	for node, there := range all {
		w.judge(node, writes, there)
		for _, one := range writes {
			if id := one.Event.ID; all[0][id] != there[id] {
				w.Broken("nodes 0 and %d differ: only one of them shows kind %d %.8s", node, one.Event.Kind, id)
			}
		}
	}
	return nil
}

// everywhere is which of the events each node shows.
func (w *World) everywhere(writes []*Write) (all []map[string]bool, err error) {
	for node := range w.Nodes() {
		there, err := w.shown(node, writes)
		if err != nil {
			return nil, fmt.Errorf("node %d: %w", node, err)
		}
		all = append(all, there)
	}
	return all, nil
}

// doubtful are the events that not all nodes show or lack, and the others at their
// addresses, which they replace.
func doubtful(writes []*Write, all []map[string]bool) []*Write {
	places := map[string]bool{}
	for _, one := range writes {
		id := one.Event.ID
		if slices.ContainsFunc(all, func(there map[string]bool) bool { return there[id] != all[0][id] }) {
			places[place(one.Event)] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(writes), func(one *Write) bool { return !places[place(one.Event)] })
}

// place is the address of an event, and its id if it has none.
func place(ev *nostr.Event) string {
	if !nostr.IsAddressableKind(ev.Kind) {
		return ev.ID
	}
	return fmt.Sprintf("%d:%s:%s", ev.Kind, ev.PubKey, ev.Tags.GetD())
}

// more waits, and is false when nothing late is waited for any more.
func (w *World) more(d time.Duration, late <-chan time.Time) bool {
	select {
	case <-time.After(d):
		return true
	case <-w.Quit:
	case <-late:
	}
	return false
}

// shown is which of the events a node shows by their ids. One that does not answer is
// asked again for a while.
func (w *World) shown(node int, writes []*Write) (map[string]bool, error) {
	c, there, late := w.Conn(node), map[string]bool{}, time.After(settle)
	defer c.Close()
	for piece := range slices.Chunk(writes, 400) {
		filter := nostr.Filter{Limit: len(piece)}
		for _, one := range piece {
			filter.IDs = append(filter.IDs, one.Event.ID)
		}
		found, err := c.Query(filter)
		for ; err != nil; found, err = c.Query(filter) {
			if !w.more(time.Second, late) {
				return nil, err
			}
		}
		for id := range found {
			there[id] = true
		}
	}
	return there, nil
}

// judge judges one node: single events by their outcome; of an address the newest of
// all that was acknowledged, or one that is newer still and of unknown fate.
func (w *World) judge(node int, writes []*Write, there map[string]bool) {
	best, head := map[string]*nostr.Event{}, map[string]*nostr.Event{}
	for _, one := range writes {
		ev, shown := one.Event, there[one.Event.ID]
		if shown && one.Outcome == Refused {
			w.Broken("node %d has kind %d %.8s, which was refused: %s", node, ev.Kind, ev.ID, one.Message)
		}
		if !nostr.IsAddressableKind(ev.Kind) {
			switch {
			case one.gone && shown:
				w.Broken("node %d has %.8s, which was removed", node, ev.ID)
			case one.Outcome == Stored && !one.mayGo && !shown && ev.Kind != kind.Vanish:
				w.Broken("lost: node %d has not kind %d %.8s, acknowledged by node %d", node, ev.Kind, ev.ID, one.Node)
			}
			continue
		}
		at := place(ev)
		if one.Outcome == Stored && (best[at] == nil || newer(ev, best[at]) > 0) {
			best[at] = ev
		}
		if shown && head[at] != nil {
			w.Broken("node %d shows two versions of %s", node, at)
		}
		if shown {
			head[at] = ev
		}
	}
	for at, want := range best {
		if head[at] == nil || newer(head[at], want) < 0 {
			w.Broken("node %d has not the newest version of %s: %.8s", node, at, want.ID)
		}
	}
}

// newer orders versions of one address: the later one, then the lower id.
func newer(a, b *nostr.Event) int {
	return cmp.Or(cmp.Compare(a.CreatedAt, b.CreatedAt), strings.Compare(b.ID, a.ID))
}
