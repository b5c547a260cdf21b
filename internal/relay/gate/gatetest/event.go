package gatetest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"github.com/nbd-wtf/go-nostr"
)

// Events returns n events.
func (g *Gen) Events(n int) []*nostr.Event {
	events := make([]*nostr.Event, n)
	for i := range events {
		events[i] = g.Event()
	}
	return events
}

// Event returns an event of one of Kinds.
func (g *Gen) Event() *nostr.Event { return g.EventOf(pick(g, Kinds)) }

// EventOf returns an event of the kind.
func (g *Gen) EventOf(kind int) *nostr.Event {
	g.made++
	author := g.Person()
	ev := &nostr.Event{
		Kind:      kind,
		PubKey:    author.Pub,
		CreatedAt: Base + nostr.Timestamp(g.Rand.IntN(200)),
		Tags:      nostr.Tags{},
		Content:   fmt.Sprintf("number %d %s", g.made, pick(g, Words[:])),
	}
	g.fill(ev)
	if g.Unsigned {
		ev.ID = ev.GetID()
	} else if err := ev.Sign(author.Secret); err != nil {
		panic(fmt.Sprintf("gatetest: sign kind %d: %v", kind, err))
	}
	if ev.Kind == 5 {
		g.requests[ev.PubKey] = append(g.requests[ev.PubKey], ev.ID)
	}
	return ev
}

// fill gives the event the tags and the content that its kind must have.
func (g *Gen) fill(ev *nostr.Event) {
	other := nostr.Tag{"p", g.Person().Pub}
	switch ev.Kind {
	case 30174:
		ev.Content = g.payload()
		ev.Tags = nostr.Tags{{"d", g.address(ev, g.hex)}, other}
	case 30090:
		g.fillEntry(ev, other)
	case 30091:
		g.fillState(ev, other)
	case 4:
		ev.Content = "c2VjcmV0?iv=" + base64.StdEncoding.EncodeToString([]byte(g.hex()[:16]))
		ev.Tags = nostr.Tags{other}
	case 1059, 21059:
		ev.Content = g.payload()
		ev.Tags = nostr.Tags{other}
	case 44200:
		ev.Content = g.payload()
		ev.Tags = nostr.Tags{other, {"p", g.Person().Pub, "wss://relay.example"}}
	case 5:
		g.fillDeletion(ev)
	case 30078:
		ev.Tags = nostr.Tags{{"d", g.address(ev, g.appD)}, other}
	default:
		g.fillAny(ev, other)
	}
}

// fillAny gives an event of a kind that needs nothing the shape of its range: a
// d of its own, or to be its author's one of the kind.
func (g *Gen) fillAny(ev *nostr.Event, other nostr.Tag) {
	switch {
	case nostr.IsAddressableKind(ev.Kind):
		ev.Tags = nostr.Tags{{"d", g.address(ev, g.contract)}, other}
	case nostr.IsReplaceableKind(ev.Kind):
		if !g.Reuse && !g.take(ev.Kind, ev.PubKey) {
			ev.Kind = 7 // this author has his one event of the kind
		}
		ev.Tags = nostr.Tags{other}
	default:
		if g.chance(60) {
			ev.Tags = append(ev.Tags, other)
		}
		if g.chance(20) {
			ev.Tags = append(ev.Tags, nostr.Tag{"d", g.contract()}, nostr.Tag{"p"})
		}
	}
}

// address draws a d for the event. Unless Reuse is set it is one that the
// author has not used for the kind.
func (g *Gen) address(ev *nostr.Event, draw func() string) string {
	for range 8 {
		d := draw()
		if g.take(ev.Kind, ev.PubKey, d) || g.Reuse {
			return d
		}
	}
	return "d" + g.hex()[:20]
}

func (g *Gen) contract() string { return pick(g, g.contracts) }

func (g *Gen) appD() string {
	return pick(g, []string{"engramd/agents", "engramd/agents", "settings", "engramd", ""})
}

func (g *Gen) fillEntry(ev *nostr.Event, other nostr.Tag) {
	typ := pick(g, []string{"message", "revision", "deliverable", "note"})
	ev.Tags = nostr.Tags{{"d", g.address(ev, g.contract)}, {"t", typ}, other}
	if g.chance(40) {
		ev.Content = g.payload()
		return
	}
	ev.Content = object(map[string]any{"type": typ, "content": ev.Content})
}

// fillState makes the first state of a contract: later ones would have to
// follow from it, and its id is nobody else's. No entry is under such a
// contract, because in the state open only the poster may write one.
func (g *Gen) fillState(ev *nostr.Event, other nostr.Tag) {
	contract := "job-" + g.contract()
	if !g.take("owned", contract) {
		contract = "job-" + g.hex()[:12]
	}
	ev.Tags = nostr.Tags{{"d", contract}, other}
	ev.Content = object(map[string]any{
		"contract_id": contract, "status": "open", "previous_status": "",
		"poster_agent_id": "poster", "worker_agent_id": "worker", "amount_sats": 21,
		"description":   ev.Content,
		"transition_at": time.Unix(int64(ev.CreatedAt), 0).UTC().Format(time.RFC3339),
	})
}

// fillDeletion makes a request that deletes nothing: what it names is not
// there, or a request of its author's own, which nothing deletes.
func (g *Gen) fillDeletion(ev *nostr.Event) {
	if g.chance(60) {
		ev.Tags = append(ev.Tags, nostr.Tag{"e", g.hex()})
	}
	if mine := g.requests[ev.PubKey]; len(mine) > 0 && (len(ev.Tags) == 0 || g.chance(30)) {
		ev.Tags = append(ev.Tags, nostr.Tag{"e", pick(g, mine)})
	}
	switch g.Rand.IntN(6) {
	case 0:
		ev.Tags = append(ev.Tags, nostr.Tag{"k", "30174"})
	case 1:
		ev.Tags = append(ev.Tags, nostr.Tag{"k", "1"}, nostr.Tag{"k", fmt.Sprint(pick(g, Kinds))})
	case 2:
		ev.Tags = append(ev.Tags, nostr.Tag{"a", "30090:" + ev.PubKey + ":none-" + g.hex()[:6]})
	case 3:
		ev.Tags = append(ev.Tags, nostr.Tag{"a", fmt.Sprintf("%d:%s:none-%s", pick(g, Kinds), ev.PubKey, g.hex()[:6])})
	case 4:
		ev.Tags = append(ev.Tags, nostr.Tag{"k", "1"}, nostr.Tag{"k"}, nostr.Tag{"p", g.Person().Pub})
	}
}

// payload returns what has the shape of the shortest NIP-44 v2 payload.
func (g *Gen) payload() string {
	raw := make([]byte, 99)
	for i := range raw {
		raw[i] = byte(g.Rand.Uint32())
	}
	raw[0] = 2
	return base64.StdEncoding.EncodeToString(raw)
}

func object(members map[string]any) string {
	text, err := json.Marshal(members)
	if err != nil {
		panic(fmt.Sprintf("gatetest: %v", err))
	}
	return string(text)
}
