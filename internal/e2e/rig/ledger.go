package rig

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
)

// never is the moment of an answer that did not come.
const never = int64(-1)

// entry is one sent event.
type entry struct {
	ev      *nostr.Event
	sent    int64    // the moment before it was sent
	kept    int64    // the moment after OK true, or never: it may be stored or not
	refused int64    // the moment after OK false "error: …", or never
	targets []string // of a deletion: the ids it names
	address string   // of an engram or an entry of a contract: kind and d
	deletes string   // of a deletion: the address it names by an a tag
}

// Ledger is one writer's record of what it published: notes, engrams that
// replace one another at a few addresses, entries of contracts, and deletions by
// id and by address.
type Ledger struct {
	Key, Owner relaytest.Key
	// Moment tells the time by which Verify asks; nil: there is one moment only.
	Moment func() int64
	// Faulty says that the relay's disk fails: "error: " is an answer, and what got
	// it is never stored.
	Faulty bool

	rng   *rand.Rand
	clock int64

	mu        sync.Mutex
	sent      map[string]*entry
	log       []*entry // in the order of sending
	surprises []string // answers that are none of the above
}

// NewLedger returns the record of a writer whose keys and choices follow from two
// numbers.
func NewLedger(secret, seed uint64) *Ledger {
	return &Ledger{
		Key: relaytest.NewKey(secret), Owner: relaytest.NewKey(secret + 100000),
		rng: rand.New(rand.NewPCG(seed, secret)), clock: Now() - 500_000,
		sent: map[string]*entry{},
	}
}

func (b *Ledger) moment() int64 {
	if b.Moment == nil {
		return 0
	}
	return b.Moment()
}

// Publish sends a number of events, or without end if that is 0, a window of
// them ahead of the answers, until the connection ends. It sends a value to oks
// for every answer, unless that is nil.
func (b *Ledger) Publish(c *relaytest.Client, events int, oks chan<- struct{}) {
	const window = 16
	slots := make(chan struct{}, window)
	go func() {
		defer close(slots)
		for got := 0; events == 0 || got < events; got++ {
			f, err := c.Wait(relaytest.Labelled("OK"))
			if err != nil {
				return
			}
			b.Answered(f.OK())
			if oks != nil {
				oks <- struct{}{}
			}
			slots <- struct{}{}
		}
	}()
	for sent := 0; events == 0 || sent < events; sent++ {
		if sent >= window {
			if _, open := <-slots; !open {
				return
			}
		}
		if c.Send("EVENT", b.Next()) != nil {
			break
		}
	}
	for range slots {
		continue // until the reader has seen the end too
	}
}

// Answered records an answer of the relay.
func (b *Ledger) Answered(ok relaytest.OK) {
	now := b.moment()
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.sent[ok.ID]
	switch {
	case e == nil:
		b.surprises = append(b.surprises, "OK for an event that was not sent: "+ok.ID)
	case ok.True && ok.Message == "":
		e.kept = now
	case b.Faulty && !ok.True && HasPrefix(ok.Message, "error: "):
		e.refused = now
	default:
		b.surprises = append(b.surprises, fmt.Sprintf("kind %d of %d: OK %v %q", e.ev.Kind, e.ev.CreatedAt, ok.True, ok.Message))
	}
}

// Next makes the next event and records it as sent.
func (b *Ledger) Next() *nostr.Event {
	now := b.moment()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.clock++
	e := &entry{sent: now, kept: never, refused: never}
	switch dice := b.rng.IntN(100); {
	case dice < 40:
		e.ev = relaytest.Note(b.Key, b.clock, fmt.Sprintf("note %d", b.clock))
	case dice < 75:
		e.ev = relaytest.Memory(b.Key, b.Owner.Pub, b.slug(), fmt.Sprintf("value %d", b.clock), b.clock)
		e.address = address(relaytest.KindEngram, e.ev.Tags.GetD())
	case dice < 85:
		contract := fmt.Sprintf("%s%02d", b.Key.Pub[:30], b.rng.IntN(3))
		e.ev = relaytest.Entry(b.Key, b.Owner.Pub, contract, "message", fmt.Sprintf("entry %d", b.clock), b.clock)
		e.address = address(relaytest.KindEntry, contract)
	case dice < 97:
		e.ev, e.targets = b.deletion()
	default:
		d := relaytest.Address(b.Key, b.Owner.Pub, b.slug())
		e.deletes = address(relaytest.KindEngram, d)
		e.ev = relaytest.Deletion(b.Key, b.clock,
			Tag("a", relaytest.Coordinate(relaytest.KindEngram, b.Key.Pub, d)), Tag("k", "30174"))
	}
	b.sent[e.ev.ID] = e
	b.log = append(b.log, e)
	return e.ev
}

func (b *Ledger) slug() string { return fmt.Sprintf("mem/crash/%d", b.rng.IntN(6)) }

func address(kind int, d string) string { return fmt.Sprintf("%d:%s", kind, d) }

// deletion names up to three earlier notes of this writer, or none yet.
func (b *Ledger) deletion() (*nostr.Event, []string) {
	var targets []string
	tags := []nostr.Tag{Tag("k", "1")}
	for range 3 {
		if len(b.log) == 0 {
			break
		}
		if e := b.log[b.rng.IntN(len(b.log))]; e.ev.Kind == relaytest.KindNote && !slices.Contains(targets, e.ev.ID) {
			targets = append(targets, e.ev.ID)
			tags = append(tags, Tag("e", e.ev.ID))
		}
	}
	return relaytest.Deletion(b.Key, b.clock, tags...), targets
}

// Unsure takes back that what was refused since a moment is not there: the relay
// ended right behind a sync that failed, and the kernel may still have the commit.
func (b *Ledger) Unsure(since int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.log {
		if e.refused >= since {
			e.refused = never
		}
	}
}

// Acknowledged is how many events got OK true.
func (b *Ledger) Acknowledged() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, e := range b.log {
		if e.kept != never {
			n++
		}
	}
	return n
}
