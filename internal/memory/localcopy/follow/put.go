package follow

import (
	"context"
	"encoding/hex"
	"time"

	"github.com/nbd-wtf/go-nostr"
)

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
