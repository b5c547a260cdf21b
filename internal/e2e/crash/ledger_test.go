package crash

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
)

// fate is what a writer knows of an event that it has sent.
type fate int

const (
	unknown fate = iota // sent, no answer came: it may be stored or not
	kept                // OK true
)

// entry is one sent event.
type entry struct {
	ev      *nostr.Event
	fate    fate
	targets []string // of a deletion: the ids it names
	address string   // of an engram: its d
	deletes string   // of a deletion: the d it names by an a tag
}

// ledger is one writer's record of what it published: notes, engrams that
// replace one another at a few addresses, and deletions by id and by address.
// It sends a window of events ahead of the answers.
type ledger struct {
	key, owner relaytest.Key
	rng        *rand.Rand
	clock      int64

	mu        sync.Mutex
	sent      map[string]*entry
	log       []*entry // in the order of sending
	surprises []string // answers other than OK true
}

func newLedger(secret, seed uint64) *ledger {
	return &ledger{
		key: relaytest.NewKey(secret), owner: relaytest.NewKey(secret + 100000),
		rng: rand.New(rand.NewPCG(seed, secret)), clock: rig.Now() - 500_000,
		sent: map[string]*entry{},
	}
}

// publish sends events until the connection ends, and sends a value to oks for
// every OK.
func (b *ledger) publish(c *relaytest.Client, oks chan<- struct{}) {
	const window = 16
	slots := make(chan struct{}, window)
	go func() {
		for {
			f, err := c.Wait(relaytest.Labelled("OK"))
			if err != nil {
				close(slots)
				return
			}
			b.answered(f.OK())
			oks <- struct{}{}
			slots <- struct{}{}
		}
	}()
	for sent := 0; ; sent++ {
		if sent >= window {
			if _, open := <-slots; !open {
				return
			}
		}
		if c.Send("EVENT", b.next()) != nil {
			for range slots {
				continue // until the reader has seen the end too
			}
			return
		}
	}
}

func (b *ledger) answered(ok relaytest.OK) {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.sent[ok.ID]
	switch {
	case e == nil:
		b.surprises = append(b.surprises, "OK for an event that was not sent: "+ok.ID)
	case !ok.True || ok.Message != "":
		b.surprises = append(b.surprises, fmt.Sprintf("kind %d of %d: OK %v %q", e.ev.Kind, e.ev.CreatedAt, ok.True, ok.Message))
	default:
		e.fate = kept
	}
}

// next makes the next event and records it as sent.
func (b *ledger) next() *nostr.Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.clock++
	e := &entry{}
	switch dice := b.rng.IntN(100); {
	case dice < 45:
		e.ev = relaytest.Note(b.key, b.clock, fmt.Sprintf("note %d", b.clock))
	case dice < 85:
		e.ev = relaytest.Memory(b.key, b.owner.Pub, b.slug(), fmt.Sprintf("value %d", b.clock), b.clock)
		e.address = e.ev.Tags.GetD()
	case dice < 97:
		e.ev, e.targets = b.deletion()
	default:
		e.deletes = relaytest.Address(b.key, b.owner.Pub, b.slug())
		e.ev = relaytest.Deletion(b.key, b.clock,
			rig.Tag("a", relaytest.Coordinate(relaytest.KindEngram, b.key.Pub, e.deletes)), rig.Tag("k", "30174"))
	}
	b.sent[e.ev.ID] = e
	b.log = append(b.log, e)
	return e.ev
}

func (b *ledger) slug() string { return fmt.Sprintf("mem/crash/%d", b.rng.IntN(6)) }

// deletion names up to three earlier notes of this writer, or none yet.
func (b *ledger) deletion() (*nostr.Event, []string) {
	var targets []string
	tags := []nostr.Tag{rig.Tag("k", "1")}
	for range 3 {
		if len(b.log) == 0 {
			break
		}
		if e := b.log[b.rng.IntN(len(b.log))]; e.ev.Kind == relaytest.KindNote && !slices.Contains(targets, e.ev.ID) {
			targets = append(targets, e.ev.ID)
			tags = append(tags, rig.Tag("e", e.ev.ID))
		}
	}
	return relaytest.Deletion(b.key, b.clock, tags...), targets
}

func (b *ledger) acknowledged() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, e := range b.log {
		if e.fate == kept {
			n++
		}
	}
	return n
}

// verify compares the ledger with an export of the heads and one of all.
func (b *ledger) verify(t *testing.T, heads, all map[string]*nostr.Event) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, text := range b.surprises {
		t.Error(text)
	}
	deleted := map[string]bool{}    // ids that a stored deletion names
	deletedTo := map[string]int64{} // per d, the time of the last stored deletion
	for _, e := range b.log {
		if e.ev.Kind == relaytest.KindDelete && heads[e.ev.ID] != nil {
			for _, id := range e.targets {
				deleted[id] = true
			}
			if e.deletes != "" {
				deletedTo[e.deletes] = max(deletedTo[e.deletes], int64(e.ev.CreatedAt))
			}
		}
	}
	newest := map[string]*nostr.Event{} // per d, of what is stored
	for _, e := range b.log {
		gone := deleted[e.ev.ID] || e.address != "" && int64(e.ev.CreatedAt) <= deletedTo[e.address]
		there := all[e.ev.ID] != nil
		switch {
		case gone && there:
			t.Errorf("kind %d of %d is there although its deletion is stored", e.ev.Kind, e.ev.CreatedAt)
		case !gone && e.fate == kept && !there:
			t.Errorf("kind %d of %d was acknowledged and is lost", e.ev.Kind, e.ev.CreatedAt)
		}
		if there && e.address != "" {
			newest[e.address] = e.ev // the log is in order of created_at
		}
		if there && e.address == "" && heads[e.ev.ID] == nil {
			t.Errorf("kind %d of %d is stored, but not as a head", e.ev.Kind, e.ev.CreatedAt)
		}
	}
	for _, e := range b.log {
		if e.address == "" {
			continue
		}
		if isHead := heads[e.ev.ID] != nil; isHead != (newest[e.address] == e.ev) {
			t.Errorf("engram of %d: head %v, newest that is stored %v", e.ev.CreatedAt, isHead, !isHead)
		}
	}
	for id, ev := range all {
		if ev.PubKey == b.key.Pub && b.sent[id] == nil {
			t.Errorf("kind %d %s is stored, and nobody sent it", ev.Kind, id)
		}
	}
}

// verifyReads fails unless the owner's query returns the same heads as the
// export, one for each address.
func (b *ledger) verifyReads(t *testing.T, c *rig.Peer, heads map[string]*nostr.Event) {
	t.Helper()
	want := 0
	for _, ev := range heads {
		if ev.PubKey == b.key.Pub && ev.Kind == relaytest.KindEngram {
			want++
		}
	}
	filter := relaytest.Filter{"kinds": []int{relaytest.KindEngram}, "authors": []string{b.key.Pub}, "#p": []string{b.owner.Pub}}
	got := c.MustQuery(filter)
	seen := map[string]bool{}
	for _, ev := range got.Events {
		if heads[ev.ID] == nil || seen[ev.Tags.GetD()] {
			t.Errorf("REQ brought %s, which is no head or a second one of its address", ev.ID)
		}
		seen[ev.Tags.GetD()] = true
	}
	if len(got.Events) != want || c.MustCount(filter) != int64(want) {
		t.Errorf("REQ brought %d heads, export has %d", len(got.Events), want)
	}
}
