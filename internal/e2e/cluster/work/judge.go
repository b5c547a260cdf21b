package work

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
)

// Judge compares what every node shows in the end with the record. Nothing may be
// written any more. An error says that a node did not answer.
func (w *World) Judge() error {
	w.mu.Lock()
	writes := slices.Clone(w.writes)
	w.mu.Unlock()
	for node := range w.Nodes() {
		c := NewConn(node, w.URL)
		there, err := shown(c, writes)
		if err != nil {
			return fmt.Errorf("node %d: %w", node, err)
		}
		w.judgeSingle(node, writes, there)
		err = w.judgeHeads(c, writes, there)
		c.Close()
		if err != nil {
			return fmt.Errorf("node %d: %w", node, err)
		}
	}
	return nil
}

// shown is which of the events a node shows by their ids.
func shown(c *Conn, writes []*Write) (there map[string]bool, err error) {
	there = map[string]bool{}
	for piece := range slices.Chunk(writes, 400) {
		ids := make([]string, len(piece))
		for i, w := range piece {
			ids[i] = w.Event.ID
		}
		answer, err := c.Query(relaytest.Filter{"ids": ids, "limit": len(ids)})
		if err != nil {
			return nil, err
		}
		if !answer.EOSE {
			return nil, errors.New("CLOSED " + answer.Closed)
		}
		for _, ev := range answer.Events {
			there[ev.ID] = true
		}
	}
	return there, nil
}

func addressable(kind int) bool { return kind >= 30000 && kind < 40000 }

// judgeSingle is about events that no other replaces.
func (w *World) judgeSingle(node int, writes []*Write, there map[string]bool) {
	for _, one := range writes {
		id := one.Event.ID
		switch {
		case addressable(one.Event.Kind):
		case one.Outcome == Refused && there[id]:
			w.Broken("node %d has kind %d %.8s, which was refused: %s", node, one.Event.Kind, id, one.Message)
		case one.Gone == MustBeGone && there[id]:
			w.Broken("node %d has %.8s, which was removed", node, id)
		case one.Outcome == Stored && one.Gone == Stays && !there[id] && one.Event.Kind != relaytest.KindVanish:
			w.Broken("lost: node %d has not kind %d %.8s, acknowledged by node %d", node, one.Event.Kind, id, one.Node)
		}
	}
}

// newer orders versions of one address: the later one, then the lower id.
func newer(a, b *nostr.Event) int {
	return cmp.Or(cmp.Compare(a.CreatedAt, b.CreatedAt), strings.Compare(b.ID, a.ID))
}

// judgeHeads is about addresses: the newest of all that was acknowledged, or one
// that is newer still and of unknown fate, and nothing else.
func (w *World) judgeHeads(c *Conn, writes []*Write, there map[string]bool) error {
	type address struct {
		kind   int
		pub, d string
	}
	all := map[address][]*Write{}
	for _, one := range writes {
		if ev := one.Event; addressable(ev.Kind) {
			at := address{ev.Kind, ev.PubKey, ev.Tags.GetD()}
			all[at] = append(all[at], one)
		}
	}
	for at, versions := range all {
		var best, head *nostr.Event
		for _, one := range versions {
			if one.Outcome == Stored && (best == nil || newer(one.Event, best) > 0) {
				best = one.Event
			}
			if !there[one.Event.ID] {
				continue
			}
			if head != nil {
				w.Broken("node %d shows two versions of %v", c.Node, at)
			}
			head = one.Event
			if one.Outcome == Refused {
				w.Broken("node %d has a version of %v that was refused: %s", c.Node, at, one.Message)
			}
		}
		if best != nil && (head == nil || newer(head, best) < 0) {
			w.Broken("node %d has not the newest version of %v: %.8s", c.Node, at, best.ID)
		}
	}
	return nil
}

// Lost is how many of the last notes that were acknowledged a node does not show.
// An error says that it does not answer now.
func (w *World) Lost(node int) (lost int, err error) {
	w.mu.Lock()
	recent := slices.DeleteFunc(slices.Clone(w.writes[max(0, len(w.writes)-400):]), func(o *Write) bool { return o.Outcome != Stored || o.Gone != Stays })
	w.mu.Unlock()
	c := NewConn(node, w.URL)
	defer c.Close()
	there, err := shown(c, recent)
	return len(recent) - len(there), err
}
