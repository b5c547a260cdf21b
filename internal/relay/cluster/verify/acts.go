package verify

import (
	"encoding/json"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/nips/niptemp"
)

// notes writes notes at a node, and reads them at another right after OK.
func (w *World) notes(a *Actor, node int) {
	if wrote := w.Note(a.Conn(node)); wrote.Outcome == Stored {
		w.Shows(a.Conn(a.Other(node)), wrote, true)
	}
}

// heads writes at few addresses, at which other nodes' clients write too.
func (w *World) heads(a *Actor, node int) {
	at := time.Now().Unix() - a.Int64N(3)
	w.Publish(a.Conn(node), w.Sign(w.Key(1), nostr.KindArticle, at, w.Text(), nostr.Tag{"d", w.topicName(a.IntN(4))}))
}

// deletions deletes at one node what was written at another.
func (w *World) deletions(a *Actor) {
	k, from := w.Key(2), a.Any()
	wrote := w.Publish(a.Conn(from), w.NoteOf(k))
	if wrote.Outcome != Stored {
		return
	}
	to := a.Other(from)
	deleted := w.Publish(a.Conn(to), w.Sign(k, nostr.KindDeletion, time.Now().Unix(), "", nostr.Tag{"e", wrote.Event.ID}, nostr.Tag{"k", "1"}))
	w.Remove(deleted, wrote)
	if deleted.Outcome == Stored {
		w.Shows(a.Conn(a.Other(to)), wrote, false)
	}
}

// contracts has the two parties of a contract move it at once at two nodes.
func (w *World) contracts(a *Actor) {
	poster, worker, at := w.Key(3), w.Key(4), time.Now().Unix()-6 // dated before what removes it
	id := w.Sign(poster, nostr.KindTextNote, at, w.Text()).ID
	state := func(k, other client.Identity, status, previous string) *nostr.Event {
		at++
		body, _ := json.Marshal(map[string]any{"contract_id": id, "status": status, "previous_status": previous, "poster_agent_id": "poster",
			"worker_agent_id": "worker", "amount_sats": 1, "description": w.Text(), "transition_at": time.Unix(at, 0).UTC().Format(time.RFC3339)})
		return w.Sign(k, niptemp.KindState, at, string(body), nostr.Tag{"d", id}, nostr.Tag{"p", other.PubKey()})
	}
	if w.Publish(a.Conn(a.Any()), state(poster, worker, "open", "")).Outcome != Stored {
		return
	}
	if w.race(a, "an open contract", state(worker, poster, "accepted", "open"), state(poster, worker, "cancelled", "open")) {
		w.race(a, "an accepted contract", state(worker, poster, "submitted", "accepted"), state(poster, worker, "disputed", "accepted"))
	}
	a.Pause(5 * w.Pace)
}

// race publishes two moves at two nodes at once, of which one can be made. It
// reports whether the first was.
func (w *World) race(a *Actor, what string, first, second *nostr.Event) bool {
	one := a.Any()
	c1, c2, done := a.Conn(one), a.Conn(a.Other(one)), make(chan *Write, 1)
	go func() { done <- w.Publish(c2, second) }()
	x := w.Publish(c1, first)
	y := <-done
	w.Winners(what, x.Outcome, y.Outcome)
	return x.Outcome == Stored && y.Outcome == Refused
}

// Winners judges two attempts of which exactly one can succeed.
func (w *World) Winners(what string, x, y Outcome) {
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
