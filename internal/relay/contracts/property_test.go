package contracts

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/inprocess/model"
	"engramd/internal/protocol/wire"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/nips/niptemp"
)

// playSeed is the environment variable that repeats the round of one seed only.
const playSeed = "ENGRAMD_PLAY_SEED"

// playSteps is the number of steps in a round.
const playSteps = 110

// playRounds are played in make test, and more in make soak.
const (
	playRounds = 6
	playSoak   = 600
)

// TestRandomContracts plays random contracts against the relay and a model of
// it, and compares each answer and what every surface shows to everybody. Then
// further relays get the events alone.
func TestRandomContracts(t *testing.T) {
	seeds, rounds := []uint64{}, playRounds
	switch {
	case os.Getenv("ENGRAMD_SOAK") == "1":
		rounds = playSoak
	case testing.Short():
		rounds = 3
	}
	for i := range rounds {
		seeds = append(seeds, uint64(i)+1)
	}
	if one, err := strconv.ParseUint(os.Getenv(playSeed), 10, 64); err == nil {
		seeds = []uint64{one}
	}
	reached := &reached{status: map[string]bool{}}
	t.Run("rounds", func(t *testing.T) {
		for _, seed := range seeds {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel() // they wait for the disk
				t.Logf("to play this round alone: %s=%d", playSeed, seed)
				playRound(t, seed, reached)
			})
		}
	})
	for _, status := range niptemp.Statuses() {
		if !reached.status[string(status)] && len(seeds) >= playRounds {
			t.Errorf("no contract came to be %s", status)
		}
	}
}

// reached are the statuses that some contract had.
type reached struct {
	sync.Mutex
	status map[string]bool
}

func (r *reached) note(m *model.Relay, ids []string, poster string) {
	r.Lock()
	defer r.Unlock()
	for _, id := range ids {
		if v := m.View(id, poster, true); v != nil {
			r.status[v.Status] = true
		}
	}
}

// play is a relay beside its model.
type play struct {
	*world
	t       *testing.T
	model   *model.Relay
	cast    model.Cast
	byName  bool // naming a contract opens it
	clocked []clocked
}

// clocked is an event that was taken, and when.
type clocked struct {
	*model.Taken
	at time.Time
}

func newPlayed(t *testing.T, byName bool) *play {
	p := &play{t: t, model: model.New(), cast: model.NewCast(), byName: byName}
	p.world = newWorld(t, func(o *gate.Options) {
		if !byName {
			o.Contracts = gate.ContractsParties
		}
	})
	return p
}

func playRound(t *testing.T, seed uint64, reached *reached) {
	p := newPlayed(t, seed%3 != 0)
	o := model.Options{Self: p.self.Pub, Deadlines: true, Strays: true, Imports: seed%2 == 0, Vanish: seed%4 > 1, Committed: seed%5 < 2}
	made := model.NewPlay(seed, p.clock.Now().Unix(), p.model, o)
	for i := range playSteps {
		p.step(made.Next())
		reached.note(p.model, made.IDs(), p.cast.Poster.Pub)
		if i%20 == 19 {
			p.compare(made.IDs()[i/20%4])
		}
		if t.Failed() {
			t.Fatalf("at step %d", i)
		}
	}
	p.clock.Add(2 * time.Minute)
	p.expire()
	for _, id := range made.IDs() {
		p.compare(id)
	}
	if t.Failed() {
		t.FailNow()
	}
	wantCheck(t, p.store)
	p.again(made.IDs())
	p.fedByImport(seed, made.IDs(), o)
}

// step does a step in both.
func (p *play) step(s model.Step) {
	p.t.Helper()
	if s.Restart {
		p.close()
		p.open()
	}
	if s.Advance > 0 {
		p.clock.Add(time.Duration(s.Advance) * second)
		p.expire()
	}
	if s.Event == nil {
		return
	}
	p.send(s.Event, s.Import)
	p.expire()
}

// send sends or imports an event, and compares the answers.
func (p *play) send(ev *nostr.Event, imported bool) {
	p.t.Helper()
	want := p.model.Take(ev, p.clock.Now().Unix(), imported)
	ok, message := p.deliver(ev, imported)
	word, _, _ := strings.Cut(message, ":")
	switch {
	case ok != want.OK, !ok && !slices.Contains(want.Because, word), ok && !imported && word != strings.Join(want.Because, ""):
		p.t.Errorf("%s: answered %v %q, want %v %v", p.told(ev, imported), ok, message, want.OK, want.Because)
	case ok && word == "":
		p.took(ev)
	}
}

// took records when an event was accepted.
func (p *play) took(ev *nostr.Event) {
	at := slices.IndexFunc(p.model.Taken, func(t *model.Taken) bool { return t.Event.ID == ev.ID })
	p.clocked = append(p.clocked, clocked{p.model.Taken[at], p.clock.Now()})
}

func (p *play) deliver(ev *nostr.Event, imported bool) (ok bool, message string) {
	if !imported {
		a := p.put(ev)
		return a.OK, a.Message()
	}
	r := p.store.Put(p.t.Context(), ev, store.PutOptions{Import: true})
	switch r.Outcome {
	case store.Stored, store.Replaced, store.Stale:
		return true, ""
	case store.Failed:
		p.t.Fatal(r.Err)
	}
	return r.Outcome.OK(), r.Message()
}

// told describes an event in a failure's report.
func (p *play) told(ev *nostr.Event, imported bool) string {
	name := func(key string) string {
		for _, k := range p.cast.All() {
			if k.Pub == key {
				return k.Name
			}
		}
		return key
	}
	text := fmt.Sprintf("%s, kind %d at %d (now %d, imported %v) %s: %s", name(ev.PubKey), ev.Kind, ev.CreatedAt, p.clock.Now().Unix(), imported, ev.ID[:12], ev.Content)
	for _, tag := range ev.Tags {
		text += " " + tag[0] + "=" + name(tag[1])
	}
	return text
}

// expire lets deadlines pass. A contract whose deadline had passed in another
// state is looked at a minute later.
func (p *play) expire() {
	p.t.Helper()
	for range 2 {
		now, due := p.clock.Now().Unix(), false
		for _, c := range p.model.Contracts {
			due = due || len(c.Due(now)) > 0
		}
		if !due {
			return
		}
		if _, err := p.Expire(p.t.Context()); err != nil {
			p.t.Fatal(err)
		}
		p.signedHere()
		left := false
		for _, c := range p.model.Contracts {
			for _, s := range c.Due(now) {
				if after, err := p.store.ContractBetween(p.t.Context(), c.ID, s.Poster, workerOf(s)); err != nil || after == nil || after.Status != "expired" {
					left = true
				} else {
					if c.SignsExpiry(s, p.self.Pub) {
						p.t.Errorf("contract %s has expired without the event that was agreed on", c.ID)
					}
					c.Expire(s)
				}
			}
		}
		if left {
			p.clock.Add(time.Minute + second)
		}
	}
}

func workerOf(s *model.State) string {
	if s.Worker == s.Poster {
		return ""
	}
	return s.Worker
}

// signedHere gives the model what the relay signed itself.
func (p *play) signedHere() {
	p.t.Helper()
	for _, ev := range p.ownStates() {
		if !slices.ContainsFunc(p.model.Taken, func(t *model.Taken) bool { return t.Event.ID == ev.ID }) {
			if a := p.model.Take(ev, p.clock.Now().Unix(), false); !a.OK {
				p.t.Errorf("the relay has signed %s, which does not follow", p.told(ev, false))
				continue
			}
			p.took(ev)
		}
	}
}

// ownStates returns the states that the relay signed itself, in the order of
// arrival.
func (p *play) ownStates() (all []*nostr.Event) {
	p.t.Helper()
	ask := store.Ask{Scope: gate.Operator(), Filter: nostr.Filter{Kinds: []int{niptemp.KindState}, Authors: []string{p.self.Pub}}, MaxRows: 100}
	page, err := p.store.Query(p.t.Context(), ask)
	if err != nil {
		p.t.Fatal(err)
	}
	past, _, err := p.store.History(p.t.Context(), gate.Operator(), store.HistoryQuery{Kind: niptemp.KindState, Author: p.self.Pub})
	if err != nil {
		p.t.Fatal(err)
	}
	rows := append(page.Rows, past...)
	slices.SortFunc(rows, func(x, y store.Row) int { return int(x.Seq - y.Seq) })
	for _, row := range rows {
		ev, err := wire.ParseEvent(row.JSON)
		if err != nil {
			p.t.Fatal(err)
		}
		all = append(all, ev)
	}
	return all
}

func wantCheck(t *testing.T, s *sqlite.Store) {
	t.Helper()
	report, err := s.Check(t.Context())
	if err != nil || !report.OK() {
		t.Errorf("check reports %+v, %v", report, err)
	}
}

// again feeds a second relay by EVENT, in the order of the moves: states that
// were imported too early are sent when they count, and those that came after a
// contract was closed are imported again.
func (p *play) again(ids []string) {
	p.t.Helper()
	b := newPlayed(p.t, p.byName)
	for _, taken := range p.model.Taken {
		at := slices.IndexFunc(p.clocked, func(c clocked) bool { return c.Taken == taken })
		if taken.Astray || at < 0 {
			continue
		}
		if wait := p.clocked[at].at.Sub(b.clock.Now()); wait > 0 {
			b.clock.Add(wait)
		}
		if taken.Event.PubKey != p.self.Pub { // else it is what b would sign
			b.expire()
		}
		b.send(taken.Event, taken.Import)
	}
	b.clock.Add(p.clock.Now().Sub(b.clock.Now()))
	b.expire()
	for _, id := range ids {
		b.compare(id)
		p.wantSame(b, id, "by EVENT in the order of the moves", false)
	}
	wantCheck(p.t, b.store)
}

// fedByImport feeds further relays by import, in any order.
func (p *play) fedByImport(seed uint64, ids []string, o model.Options) {
	p.t.Helper()
	r := rand.New(rand.NewPCG(seed, 12))
	var early, late []*nostr.Event // a request to vanish leaves the same gaps only where it comes last
	for _, taken := range p.model.Taken {
		if taken.Event.Kind == model.KindVanish {
			late = append(late, taken.Event)
		} else {
			early = append(early, taken.Event)
		}
	}
	for range 2 {
		b := newPlayed(p.t, p.byName)
		b.clock.Add(p.clock.Now().Sub(b.clock.Now()))
		r.Shuffle(len(early), func(i, j int) { early[i], early[j] = early[j], early[i] })
		for _, ev := range slices.Concat(early, late) {
			b.deliver(ev, true)
		}
		if _, err := b.Expire(p.t.Context()); err != nil {
			p.t.Fatal(err)
		}
		for _, id := range ids {
			if c := p.model.Contracts[id]; c != nil && c.AnyOrder() {
				p.wantSame(b, id, "by import in any order", true)
			}
		}
		wantCheck(p.t, b.store)
	}
}

// bare sorts lines and removes what only one relay says of them.
func bare(lines []string) (out []string) {
	for _, line := range lines {
		if !strings.HasPrefix(line, model.LocalMove) {
			out = append(out, model.Bare(line))
		}
	}
	slices.Sort(out)
	return out
}

// wantSame compares parties, status, thread and withdrawals with another relay,
// as each key that knows them.
func (p *play) wantSame(b *play, id, how string, astray bool) {
	p.t.Helper()
	for _, k := range p.cast.All() {
		want := p.model.View(id, k.Pub, p.byName)
		got := b.view(id, k.Pub)
		p.model.Name(got, want)
		if want == nil && got == nil {
			continue
		}
		if want == nil || got == nil {
			p.t.Errorf("%s, to %s the contract %s is %+v, want %+v", how, k.Name, id, got, want)
			continue
		}
		if want.Second {
			continue
		}
		if !got.Between(want) || got.Status != want.Status || got.Agreed != want.Agreed {
			p.t.Errorf("%s, to %s the contract %s is\n%+v, want\n%+v", how, k.Name, id, got, want)
		}
		if g, w := bare(got.Entries), bare(want.Entries); !slices.Equal(g, w) {
			p.t.Errorf("%s, %s reads of %s\n%q, want\n%q", how, k.Name, id, g, w)
		}
		if told := func(line string) bool { return strings.HasPrefix(line, model.LocalMove) }; !want.Local && slices.ContainsFunc(got.Moves, told) {
			p.t.Errorf("%s, %s is told of %s, %q, that its relay alone decided", how, k.Name, id, got.Moves)
		}
		if g, w := bare(got.Moves), bare(want.Moves); !slices.Equal(g, w) && (astray || !want.Astray) {
			p.t.Errorf("%s, %s reads the moves of %s\n%q, want\n%q", how, k.Name, id, g, w)
		}
	}
}
