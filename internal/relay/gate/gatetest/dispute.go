package gatetest

import (
	"fmt"

	"github.com/nbd-wtf/go-nostr"
)

// Dispute is a contract whose parties have agreed on who decides about it.
type Dispute struct {
	Contract, Poster, Worker string
	Arbitrator, Decider      string
	// Events are its states, entries in the open and sealed ones, and what others
	// wrote under its id, in an order in which a relay takes them.
	Events []*nostr.Event
}

// Dispute makes a contract between two people, of whom a third is the
// arbitrator. Now and then it is one that he was offered for only. Its entries
// supersede each other only with Reuse.
func (g *Gen) Dispute() Dispute {
	people := g.Rand.Perm(len(g.Keys))
	poster, worker, arbitrator, decider := g.Keys[people[0]], g.Keys[people[1]], g.Keys[people[2]], g.Keys[people[3]]
	d := Dispute{Contract: "case-" + g.hex()[:12], Poster: poster.Pub, Worker: worker.Pub, Arbitrator: arbitrator.Pub, Decider: decider.Pub}
	at := nostr.Timestamp(Base + g.Rand.IntN(50))
	add := func(by Key, kind int, content string, tags ...nostr.Tag) {
		at++
		ev := &nostr.Event{Kind: kind, PubKey: by.Pub, CreatedAt: at, Content: content, Tags: append(nostr.Tags{{"d", d.Contract}}, tags...)}
		if g.Unsigned {
			ev.ID = ev.GetID()
		} else if err := ev.Sign(by.Secret); err != nil {
			panic(fmt.Sprintf("gatetest: sign kind %d: %v", kind, err))
		}
		d.Events = append(d.Events, ev)
	}
	state := func(by Key, previous, status string, tags ...nostr.Tag) {
		add(by, 30091, object(map[string]any{"contract_id": d.Contract, "status": status, "previous_status": previous}), tags...)
	}
	entry := func(by Key, to string, content string) {
		if content == "" {
			content = object(map[string]any{"type": "message", "content": "of the case " + pick(g, Words[:])})
		}
		add(by, 30090, content, nostr.Tag{"t", "message"}, nostr.Tag{"p", to})
	}
	terms := []nostr.Tag{{"arbitrator", d.Arbitrator}, {"decider", d.Decider}}
	first := worker.Pub
	if g.chance(50) {
		first = poster.Pub // to whoever accepts
	}
	state(poster, "", "open", append([]nostr.Tag{{"p", first}}, terms...)...)
	repeated := terms
	if g.chance(20) {
		repeated, d.Arbitrator = terms[1:], ""
	}
	state(worker, "open", "accepted", append([]nostr.Tag{{"p", poster.Pub}}, repeated...)...)
	entry(poster, worker.Pub, "")
	if g.chance(50) {
		entry(worker, poster.Pub, g.payload())
	} else {
		entry(worker, poster.Pub, "")
	}
	stranger := g.Keys[people[4]]
	entry(stranger, poster.Pub, "")
	if g.Reuse {
		entry(worker, poster.Pub, g.payload())
		entry(poster, worker.Pub, "")
		state(worker, "accepted", "disputed", nostr.Tag{"p", poster.Pub})
		state(decider, "disputed", "completed", nostr.Tag{"p", poster.Pub}, nostr.Tag{"p", worker.Pub})
	}
	return d
}
