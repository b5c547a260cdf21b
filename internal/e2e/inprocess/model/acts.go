package model

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nbd-wtf/go-nostr"
)

var statuses = []string{"open", "accepted", "submitted", "disputed", "completed", "cancelled", "expired"}

func (p *Play) byPub(pub string) Key {
	for _, k := range p.All() {
		if k.Pub == pub {
			return k
		}
	}
	return p.Stranger
}

// properMove is a move that a contract is waiting for.
func (p *Play) properMove(pl *plot) *nostr.Event {
	c := p.Relay.contract(pl.id)
	s := c.standing(pl.poster.Pub)
	if s == nil {
		return p.open(pl)
	}
	by := func(k Key, to, status string) *nostr.Event {
		terms := Terms{}
		if status == "accepted" && s.Status == "open" {
			terms = p.some(c.Offered(s.Poster, s.Worker))
		}
		return p.state(pl, k, p.when(pl, k), status, s.Status, terms, to)
	}
	poster, worker := p.byPub(s.Poster), p.byPub(s.Worker)
	if s.Status != "open" && p.one(10) { // somebody takes the offer who comes too late
		k := pick(p, p.Worker, p.Second)
		return p.state(pl, k, p.when(pl, k), "accepted", "open", p.some(c.Offered(s.Poster, k.Pub)), s.Poster)
	}
	switch s.Status {
	case "open":
		switch {
		case p.one(15):
			return by(poster, s.Worker, "cancelled")
		case s.Worker != s.Poster:
			return by(worker, s.Poster, "accepted")
		case p.one(4):
			k := pick(p, p.Worker, p.Second)
			return p.state(pl, poster, p.when(pl, poster), "open", pick(p, "", "open"), p.some(pl.terms), k.Pub)
		}
		return by(pick(p, p.Worker, p.Worker, p.Second), s.Poster, "accepted")
	case "accepted":
		switch p.r.IntN(8) {
		case 0:
			return by(worker, s.Poster, "cancelled")
		case 1:
			return by(poster, s.Worker, "disputed")
		}
		return by(worker, s.Poster, "submitted")
	case "submitted":
		if p.one(4) {
			return by(worker, s.Poster, "disputed")
		}
		return by(poster, s.Worker, pick(p, "accepted", "accepted", "completed", "disputed"))
	case "disputed":
		switch p.r.IntN(4) {
		case 0:
			return by(poster, s.Worker, "completed")
		case 1:
			return by(worker, s.Poster, "cancelled")
		}
		return p.decision(pl, pick(p, p.Arbitrator, p.Decider))
	}
	return p.anyMove(pl)
}

func (p *Play) open(pl *plot) *nostr.Event {
	if p.one(5) { // somebody else is faster
		k := pick(p, p.Rival, p.Poster, p.Stranger)
		return p.state(pl, k, p.when(pl, k), "open", "", p.some(pl.terms), pick(p, k, p.Worker, pl.poster).Pub)
	}
	to := pl.poster
	if pl.named {
		to = p.Worker
	}
	return p.state(pl, pl.poster, p.when(pl, pl.poster), "open", "", pl.terms, to.Pub)
}

// some leaves out terms now and then, or names somebody else.
func (p *Play) some(t Terms) Terms {
	for _, key := range []*string{&t.Arbitrator, &t.Decider, &t.Expirer, &t.Order} {
		if p.one(6) {
			*key = ""
		}
	}
	if p.one(6) {
		t.Deadline = 0
	}
	if p.one(6) {
		t.Arbitrator = p.Stranger.Pub
	}
	return t
}

// anyMove is one that mostly does not follow, by anybody.
func (p *Play) anyMove(pl *plot) *nostr.Event {
	k, to := pick(p, p.All()...), pick(p, p.Poster, p.Rival, p.Worker, p.Second)
	status, previous := pick(p, statuses...), pick(p, statuses...)
	if s := p.Relay.contract(pl.id).standing(pl.poster.Pub); s != nil && p.half() {
		previous = s.Status
	}
	if status == "open" {
		previous = pick(p, "", "", "open")
	}
	return p.state(pl, k, p.when(pl, k), status, previous, Terms{}, to.Pub)
}

// decision is one by a key about the contract as it stands, or an expiry.
func (p *Play) decision(pl *plot, k Key) *nostr.Event {
	poster, worker, status := pl.poster.Pub, p.Worker.Pub, "disputed"
	if s := p.Relay.contract(pl.id).standing(poster); s != nil {
		worker, status = s.Worker, s.Status
	}
	if k == p.Expirer || p.one(8) {
		at := p.when(pl, k)
		if p.half() {
			at = max(at, pl.terms.Deadline)
		}
		if status == "open" || worker == poster {
			return p.state(pl, k, at, "expired", "open", Terms{}, poster)
		}
		return p.decides(pl, k, at, "expired", "accepted", poster, worker)
	}
	return p.decides(pl, k, p.when(pl, k), pick(p, "completed", "cancelled"), "disputed", poster, worker)
}

// decides is a decision with two p tags, in the wrong order now and then.
func (p *Play) decides(pl *plot, k Key, at int64, status, previous, poster, worker string) *nostr.Event {
	if worker == poster {
		worker = p.Worker.Pub
	}
	if k.Pub == poster || k.Pub == worker {
		k = p.Stranger
	}
	if p.one(12) {
		poster, worker = worker, poster
	}
	return p.state(pl, k, at, status, previous, Terms{}, poster, worker)
}

// entry is something said, mostly by a party to the other.
func (p *Play) entry(pl *plot) *nostr.Event {
	if p.o.Strays && p.one(6) {
		if ev := p.stray(); ev != nil {
			return ev
		}
	}
	k, to := pl.poster, p.Worker
	if s := p.Relay.contract(pl.id).standing(pl.poster.Pub); s != nil {
		to = p.byPub(s.Worker)
	}
	switch p.r.IntN(10) {
	case 0, 1, 2, 3, 4:
		k, to = to, k
	case 5:
		to = k // a note to himself, while nobody is named or later
	case 6:
		k, to = pick(p, p.All()...), pick(p, p.All()...)
	}
	at := p.Now
	switch p.r.IntN(10) {
	case 0, 1, 2:
		at -= p.r.Int64N(4)
	case 3:
		at -= p.r.Int64N(200)
	case 4:
		at += p.r.Int64N(20)
	}
	p.texts++
	kind := pick(p, "message", "revision", "deliverable", "note", "attachment")
	content := fmt.Sprintf(`{"type":%q,"content":"word%d"}`, kind, p.texts)
	if p.one(6) {
		content = p.payload()
	}
	tags := nostr.Tags{{"d", pl.id}, {"p", to.Pub}, {"t", kind}}
	if p.one(60) {
		tags = append(tags, nostr.Tag{"expiration", strconv.FormatInt(p.Now+1000, 10)})
	}
	return p.sign(k, KindEntry, at, content, append(tags, p.proof(pl, k, false)...)...)
}

// stray is what somebody who is none of a case says to those who are, under its
// id.
func (p *Play) stray() *nostr.Event {
	var cases []*plot
	for _, pl := range p.plots {
		if len(p.Relay.cases(pl.id, p.Arbitrator.Pub)) > 0 {
			cases = append(cases, pl)
		}
	}
	if len(cases) == 0 {
		return nil
	}
	pl := pick(p, cases...)
	keys := pick(p, p.Relay.cases(pl.id, p.Arbitrator.Pub)...)
	var others []Key
	for _, k := range p.All() {
		if !slices.Contains(keys, k.Pub) {
			others = append(others, k)
		}
	}
	p.texts++
	content := fmt.Sprintf(`{"type":"message","content":"word%d"}`, p.texts)
	return p.sign(pick(p, others...), KindEntry, p.Now, content, nostr.Tag{"d", pl.id}, nostr.Tag{"p", pick(p, keys[:3]...)}, nostr.Tag{"t", "message"})
}

// payload has the shape of a NIP-44 payload.
func (p *Play) payload() string {
	b := make([]byte, 99)
	for i := range b {
		b[i] = byte(p.r.Uint32())
	}
	b[0] = 2
	return base64.StdEncoding.EncodeToString(b)
}

// request takes back what its author has said, of one contract or of several, or
// tries to with what others have.
func (p *Play) request(pl *plot) *nostr.Event {
	k := pick(p, pl.poster, pl.poster, p.Worker, p.Worker, p.Second, p.Arbitrator, p.Stranger)
	var tags nostr.Tags
	for _, ev := range p.someSent(func(ev *nostr.Event) bool {
		return (ev.Kind == KindEntry || ev.Kind == KindState) && (ev.PubKey == k.Pub || k == p.Stranger) && (ev.Tags.GetD() == pl.id || p.one(6))
	}) {
		if p.one(5) {
			tags = append(tags, nostr.Tag{"a", addressOf(ev)})
		} else {
			tags = append(tags, nostr.Tag{"e", ev.ID})
		}
	}
	if len(tags) == 0 {
		return nil
	}
	if p.half() {
		tags = append(tags, nostr.Tag{"k", strconv.Itoa(KindEntry)})
	}
	return p.sign(k, KindDeletion, p.Now, "", tags...)
}

// someSent are up to two events that were sent.
func (p *Play) someSent(fit func(*nostr.Event) bool) (some []*nostr.Event) {
	for range 12 {
		if len(p.sent) == 0 || len(some) > p.r.IntN(2) {
			break
		}
		if ev := pick(p, p.sent...); fit(ev) && !slices.Contains(some, ev) {
			some = append(some, ev)
		}
	}
	return some
}

// imported is what may come by import: something said, a request, or a state of
// a pair, which may come before those that it follows.
func (p *Play) imported(pl *plot) *nostr.Event {
	c := p.Relay.contract(pl.id)
	s := c.standing(pl.poster.Pub)
	switch {
	case p.one(4):
		return p.request(pl)
	case p.half() || s == nil || s.Worker == s.Poster || s.Status == "open" || s.Decided || final(s.Status) || len(c.waiting) > 0 || s.Poster != pl.poster.Pub || c.taker(s.Poster) != s.Worker:
		ev := p.entry(pl)
		if s != nil && strings.Contains(s.Poster+s.Worker, ev.PubKey) {
			return ev
		}
		return nil
	case p.one(3) && c.Agreed(s.Poster, s.Worker).Arbitrator == p.Arbitrator.Pub:
		return p.state(pl, p.Arbitrator, p.Now, "completed", "disputed", Terms{}, s.Poster, s.Worker)
	}
	move := pick(p, [2]string{"submitted", "completed"}, [2]string{"disputed", "cancelled"}, [2]string{"submitted", "disputed"}, [2]string{"disputed", "completed"})
	k, to := p.byPub(s.Poster), s.Worker
	if move[1] == "cancelled" {
		k, to = p.byPub(s.Worker), s.Poster
	}
	return p.state(pl, k, max(p.Now, c.last[k.Pub]+1), move[1], move[0], Terms{}, to)
}
