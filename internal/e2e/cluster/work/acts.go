package work

import (
	"fmt"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
)

// notes writes notes at a node, and reads them at another right after OK.
func (w *World) notes(a *actor, node int) {
	k := relaytest.NewKey(w.seed<<20 + 5000 + uint64(node))
	wrote := w.Publish(a.conn(node), w.noteOf(k, nostr.Tag{"t", w.topicName(w.topic(time.Now()))}))
	if wrote.Outcome == Stored {
		a.reads(a.other(node), fmt.Sprintf("OK at %d", node), wrote.Event.ID, true)
	}
}

// kindHead is an addressable kind that everybody may read.
const kindHead = 30023

// heads writes at few addresses, at which other nodes' clients write too.
func (w *World) heads(a *actor, node int) {
	k := relaytest.NewKey(w.seed<<20 + 6000)
	at := time.Now().Unix() - a.Int64N(3)
	w.Publish(a.conn(node), relaytest.Sign(k, kindHead, at, w.text(), nostr.Tag{"d", fmt.Sprint(a.IntN(4))}))
}

// deletions deletes at one node what was written at another.
func (w *World) deletions(a *actor) {
	k, from := relaytest.NewKey(w.seed<<20+7000), a.any()
	wrote := w.Publish(a.conn(from), w.noteOf(k))
	if wrote.Outcome != Stored {
		return
	}
	to := a.other(from)
	deleted := w.Publish(a.conn(to), relaytest.Deletion(k, time.Now().Unix(), nostr.Tag{"e", wrote.Event.ID}, nostr.Tag{"k", "1"}))
	w.remove(deleted, wrote)
	if deleted.Outcome == Stored {
		a.reads(a.other(to), "deleted", wrote.Event.ID, false)
	}
}

// vanishes has a key vanish that has written at several nodes.
func (w *World) vanishes(a *actor) {
	k := w.key()
	var wrote []*Write
	for range 1 + a.IntN(3) {
		wrote = append(wrote, w.Publish(a.conn(a.any()), w.noteOf(k)))
	}
	to := a.any()
	vanished := w.Publish(a.conn(to), relaytest.Sign(k, relaytest.KindVanish, time.Now().Unix(), "", nostr.Tag{"relay", "ALL_RELAYS"}))
	w.remove(vanished, wrote...)
	if vanished.Outcome == Stored {
		a.reads(a.other(to), "vanished", wrote[0].Event.ID, false)
	}
	a.pause(5 * w.Pace)
}

// contracts has the two parties of a contract move it at once at two nodes.
func (w *World) contracts(a *actor) {
	poster, worker := w.key(), w.key()
	id, at := relaytest.NewKey(w.seed<<20+1<<19+w.keys.Add(1)).Pub, time.Now().Unix()
	state := func(k, other relaytest.Key, status, previous string, at int64) *nostr.Event {
		return relaytest.State(k, other.Pub, id, status, previous, at)
	}
	if w.Publish(a.conn(a.any()), state(poster, worker, "open", "", at)).Outcome != Stored {
		return
	}
	accepts := w.race(a, "an open contract", state(worker, poster, "accepted", "open", at+1), state(poster, worker, "cancelled", "open", at+1))
	if accepts {
		w.race(a, "an accepted contract", state(worker, poster, "submitted", "accepted", at+2), state(poster, worker, "disputed", "accepted", at+2))
	}
	a.pause(5 * w.Pace)
}

// race publishes two moves at two nodes at once, of which one can be made. It
// reports whether the first was.
func (w *World) race(a *actor, what string, first, second *nostr.Event) bool {
	one := a.any()
	other := a.other(one)
	c1, c2, done := a.conn(one), a.conn(other), make(chan *Write, 1)
	go func() { done <- w.Publish(c2, second) }()
	x := w.Publish(c1, first)
	y := <-done
	w.winners(what, x.Outcome, y.Outcome)
	return x.Outcome == Stored && y.Outcome == Refused
}

// winners judges two attempts of which exactly one can succeed.
func (w *World) winners(what string, x, y Outcome) {
	switch {
	case x == Stored && y == Stored:
		w.Broken("%s: both won", what)
	case x == Refused && y == Refused:
		w.Broken("%s: nobody won", what)
	case x == Unknown || y == Unknown:
		w.Count(what + ", unknown")
	default:
		w.Count(what)
	}
}
