package model

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/testkeys"
)

// Key is a key pair in hex.
type Key struct{ Name, Secret, Pub string }

// Cast are who plays: two who post, two who work, who decides, and a stranger.
type Cast struct {
	Poster, Rival, Worker, Second, Arbitrator, Decider, Expirer, Stranger Key
}

// NewCast is the same every time.
func NewCast() Cast {
	key := func(name string) Key {
		k := testkeys.New("play " + name)
		return Key{name, k.Secret, k.Pub}
	}
	return Cast{key("poster"), key("rival"), key("worker"), key("second"), key("arbitrator"), key("decider"), key("expirer"), key("stranger")}
}

// All are everybody.
func (c Cast) All() []Key {
	return []Key{c.Poster, c.Rival, c.Worker, c.Second, c.Arbitrator, c.Decider, c.Expirer, c.Stranger}
}

func (c Cast) knows(pub string) bool {
	return slices.ContainsFunc(c.All(), func(k Key) bool { return k.Pub == pub })
}

// Options say what may happen in a play.
type Options struct {
	Self      string // the relay's own key, which opens may name; "" for none
	Deadlines bool   // the clock of the play is the relay's, so that deadlines come
	Imports   bool   // some of it comes by import
	Vanish    bool   // somebody may vanish, once
	Strays    bool   // who is none of a case writes to its parties
	// Committed leaves out ids that do not show who made them.
	Committed bool
}

// Play makes up what happens next, by what a model of the relay says is the
// case. It is the same for the same seed and answers.
type Play struct {
	Cast
	Now   int64
	Relay *Relay

	o        Options
	r        *rand.Rand
	plots    []*plot
	sent     []*nostr.Event
	texts    int
	vanished bool
}

// plot is one contract as its poster means it.
type plot struct {
	id     string
	salt   nostr.Tag
	poster Key
	named  bool // his open names the worker
	terms  Terms
}

// Step is what happens: time goes by, the relay starts again, or an event is
// sent or imported.
type Step struct {
	Advance int64
	Restart bool
	Event   *nostr.Event
	Import  bool
}

// NewPlay begins a play at a time.
func NewPlay(seed uint64, now int64, relay *Relay, o Options) *Play {
	p := &Play{Cast: NewCast(), Now: now, Relay: relay, o: o, r: rand.New(rand.NewPCG(seed, 11))}
	for i := range 4 {
		p.plots = append(p.plots, p.newPlot(seed, i))
	}
	return p
}

// IDs are the contracts of the play.
func (p *Play) IDs() (ids []string) {
	for _, pl := range p.plots {
		ids = append(ids, pl.id)
	}
	return ids
}

func (p *Play) newPlot(seed uint64, i int) *plot {
	salt := make([]byte, 16)
	for at := range salt {
		salt[at] = byte(p.r.Uint32())
	}
	pl := &plot{poster: p.Poster, named: p.half(), id: fmt.Sprintf("%08x-0000-4000-8000-%012x", uint32(seed), i)}
	if p.one(5) {
		pl.poster = p.Rival
	}
	if p.o.Committed || !p.one(4) {
		pl.id, pl.salt = ID(pl.poster.Pub, salt), nostr.Tag{"salt", hex.EncodeToString(salt)}
	}
	if p.one(4) {
		return pl // nobody decides
	}
	if !p.one(4) {
		pl.terms.Arbitrator = p.Arbitrator.Pub
	}
	if p.half() {
		pl.terms.Decider = p.Decider.Pub
	}
	if p.half() {
		pl.terms.Order = p.Expirer.Pub
	}
	if p.half() {
		pl.terms.Deadline = p.Now + 1_000_000
		if p.o.Deadlines {
			pl.terms.Deadline = p.Now + 20 + p.r.Int64N(300)
		}
		if p.half() {
			pl.terms.Expirer = p.Expirer.Pub
		} else if p.half() {
			pl.terms.Expirer = p.o.Self
		}
	}
	return pl
}

func (p *Play) half() bool     { return p.r.IntN(2) == 0 }
func (p *Play) one(n int) bool { return p.r.IntN(n) == 0 }

func pick[T any](p *Play, of ...T) T { return of[p.r.IntN(len(of))] }

// Next is what happens next. Its time has gone by already.
func (p *Play) Next() Step {
	s := Step{Advance: max(0, p.r.Int64N(4)-1)}
	switch {
	case p.one(25):
		s.Advance = 40 + p.r.Int64N(80)
	case p.one(40):
		s.Restart = true
	}
	p.Now += s.Advance
	pl := pick(p, p.plots...)
	switch n := p.r.IntN(100); {
	case n < 38:
		s.Event = p.properMove(pl)
	case n < 68:
		s.Event = p.entry(pl)
	case n < 75:
		s.Event = p.anyMove(pl)
	case n < 83:
		s.Event = p.request(pl)
	case n < 86:
		s.Event = p.decision(pl, pick(p, p.Cast.All()...))
	case n < 90 && len(p.sent) > 0:
		s.Event = pick(p, p.sent...)
	case n < 97 && p.o.Imports:
		s.Event, s.Import = p.imported(pl), true
	case n == 97 && p.o.Vanish && !p.vanished && len(p.sent) > 20:
		p.vanished = true
		s.Event = p.sign(pick(p, p.Poster, p.Worker, p.Second, p.Arbitrator), KindVanish, p.Now, "", nostr.Tag{"relay", "ALL_RELAYS"})
	}
	if s.Event != nil {
		p.sent = append(p.sent, s.Event)
	}
	return s
}

func (p *Play) sign(k Key, kind int, at int64, content string, tags ...nostr.Tag) *nostr.Event {
	ev := &nostr.Event{Kind: kind, PubKey: k.Pub, CreatedAt: nostr.Timestamp(at), Content: content, Tags: tags}
	if err := ev.Sign(k.Secret); err != nil {
		panic(err) // the keys are ours
	}
	return ev
}

// state is a state event. Its poster shows by the salt that the id is his,
// mostly.
func (p *Play) state(pl *plot, k Key, at int64, status, previous string, terms Terms, to ...string) *nostr.Event {
	p.texts++
	content := map[string]any{"contract_id": pl.id, "status": status, "note": fmt.Sprint("note", p.texts)}
	if previous != "" {
		content["previous_status"] = previous
	}
	b, err := json.Marshal(content)
	if err != nil {
		panic(err) // it is a map of strings
	}
	tags := nostr.Tags{{"d", pl.id}}
	for _, key := range to {
		tags = append(tags, nostr.Tag{"p", key})
	}
	for _, tag := range [][2]string{{"arbitrator", terms.Arbitrator}, {"decider", terms.Decider}, {"expirer", terms.Expirer}, {"order", terms.Order}} {
		if tag[1] != "" && tag[1] != k.Pub && tag[1] != to[0] {
			tags = append(tags, nostr.Tag{tag[0], tag[1]})
		}
	}
	if terms.Deadline != 0 {
		tags = append(tags, nostr.Tag{"deadline", strconv.FormatInt(terms.Deadline, 10)})
	}
	if p.one(60) {
		tags = append(tags, nostr.Tag{"expiration", strconv.FormatInt(p.Now+1000, 10)})
	}
	return p.sign(k, KindState, at, string(b), append(tags, p.proof(pl, k, status == "open")...)...)
}

// proof is the salt on what the poster signs.
func (p *Play) proof(pl *plot, k Key, always bool) nostr.Tags {
	if pl.salt == nil || k.Pub != pl.poster.Pub || !always && p.one(5) {
		return nil
	}
	return nostr.Tags{pl.salt}
}

// when is the time that a key gives its next state: now or just after its last,
// and now and then one that is too early or too late.
func (p *Play) when(pl *plot, k Key) int64 {
	at := p.Now
	if c := p.Relay.Contracts[pl.id]; c != nil && !p.one(20) {
		at = max(at, c.last[k.Pub]+1)
	}
	switch {
	case p.one(16):
		at -= p.r.Int64N(80)
	case p.one(16):
		at += p.r.Int64N(80)
	}
	return at
}
