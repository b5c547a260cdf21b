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

// Judge compares what every node shows in the end with the record, and with the first
// node. Nothing may be written any more. An error says that a node did not answer.
func (w *World) Judge() error {
	writes := w.All()
	var first map[string]bool
	for node := range w.Nodes() {
		there, err := w.shown(node, writes)
		if err != nil {
			return fmt.Errorf("node %d: %w", node, err)
		}
		if first == nil {
			first = there
		}
		w.judge(node, writes, there)
		for _, one := range writes {
			if id := one.Event.ID; first[id] != there[id] {
				w.Broken("nodes 0 and %d differ: only one of them shows kind %d %.8s", node, one.Event.Kind, id)
			}
		}
	}
	return nil
}

// shown is which of the events a node shows by their ids. One that does not answer is
// asked again for a while.
func (w *World) shown(node int, writes []*Write) (map[string]bool, error) {
	c, there, limit := w.Conn(node), map[string]bool{}, time.After(settle)
	defer c.Close()
	for piece := range slices.Chunk(writes, 400) {
		filter := nostr.Filter{Limit: len(piece)}
		for _, one := range piece {
			filter.IDs = append(filter.IDs, one.Event.ID)
		}
		found, err := c.Query(filter)
		for ; err != nil; found, err = c.Query(filter) {
			select {
			case <-time.After(time.Second):
			case <-w.Quit:
				return nil, err
			case <-limit:
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
		at := fmt.Sprintf("%d:%s:%s", ev.Kind, ev.PubKey, ev.Tags.GetD())
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
