package follow

import (
	"context"
	"encoding/hex"
	"sync"
	"time"

	"github.com/nbd-wtf/go-nostr"
)

const (
	// maxUnkept bounds what is remembered of one relay: about a megabyte.
	maxUnkept = 10_000
	// unkeptFor is how long: the copy may take it one day.
	unkeptFor = time.Hour
	// twice is how many passes must have put it in vain. Once may be another
	// process that was told at that moment that the relay has it no more.
	twice = 2
)

// unkept remembers what relays show and the copy does not keep, such as events
// at no address, so that they are not fetched in each pass.
type unkept struct {
	clock func() time.Time

	mu  sync.Mutex
	all map[string]map[[32]byte]vain // by relay and id
}

// vain is an event that was put in vain.
type vain struct {
	created int64
	times   int
	until   time.Time
}

// note counts that an event was put in vain.
func (u *unkept) note(relay string, id [32]byte, created int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.all[relay] == nil {
		u.all[relay] = map[[32]byte]vain{}
	}
	v, known := u.all[relay][id]
	if known || len(u.all[relay]) < maxUnkept {
		u.all[relay][id] = vain{created, v.times + 1, u.clock().Add(unkeptFor)}
	}
}

// of returns what need not be put again, with its created_at.
func (u *unkept) of(relay string) map[[32]byte]int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	out := map[[32]byte]int64{}
	for id, v := range u.all[relay] {
		switch {
		case u.clock().After(v.until):
			delete(u.all[relay], id)
		case v.times >= twice:
			out[id] = v.created
		}
	}
	return out
}

// forget has everything of a relay put again.
func (u *unkept) forget(relay string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.all, relay)
}

// putter puts what a pass is given, some events at a time, so that what came
// before a failure is kept.
type putter struct {
	ctx     context.Context
	p       *pass
	of      int
	waiting []*nostr.Event
}

func (p *pass) putter(ctx context.Context, of int) *putter {
	return &putter{ctx: ctx, p: p, of: of}
}

func (b *putter) take(ev *nostr.Event) error {
	b.waiting = append(b.waiting, ev)
	if b.p.alive != nil {
		b.p.alive()
	}
	if len(b.waiting) < batch {
		return nil
	}
	return b.flush()
}

// lastPut is how long what came in time may take to be put.
const lastPut = 100 * time.Millisecond

// beyond is a context that ends a moment after another.
func beyond(ctx context.Context) (longer context.Context, done func()) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(lastPut, cancel) })
	return longer, func() { stop(); cancel() }
}

// flush puts what waits, also when the time is just over: it is there.
func (b *putter) flush() error {
	if len(b.waiting) == 0 {
		return nil
	}
	ctx, done := beyond(b.ctx)
	defer done()
	_, err := b.p.f.o.Store.Put(ctx, b.p.relay, b.waiting)
	if err != nil {
		return broken(err)
	}
	for _, ev := range b.waiting {
		id := idOf(ev)
		if ev.CreatedAt >= 0 { // NIP-77 has no other times
			b.p.came[id] = int64(ev.CreatedAt)
		}
		if !b.p.known[id] {
			b.p.outcome.Took++
		}
	}
	b.p.done += len(b.waiting)
	b.waiting = b.waiting[:0]
	if b.p.tell != nil {
		b.p.tell(b.p.done, max(b.of, b.p.done))
	}
	return nil
}

// idOf is the id of an event that was checked.
func idOf(ev *nostr.Event) (id [32]byte) {
	_, _ = hex.Decode(id[:], []byte(ev.ID))
	return id
}
