package write

import (
	"context"
	"sync"
	"time"

	"engramd/internal/client/memory"
)

// Together is how long a note waits at most while others are on their way.
const Together = 50 * time.Millisecond

// Batch is an Adder that adds at once what arrives alone, and together what arrives
// while that is on its way. What was taken in is written even if its caller does not wait
// for it.
type Batch struct {
	to    Adder
	after func(time.Duration, func()) // time.AfterFunc
	limit time.Duration               // for one batch
	life  context.Context             // ends batches that are under way

	mu      sync.Mutex
	waiting []pending
	sending int // batches that are on their way
}

// pending is one text and whom its answer is for.
type pending struct {
	text   memory.NewText
	answer chan<- answered
}

type answered struct {
	added memory.Added
	err   error
}

// NewBatch returns a Batch before where notes go; each batch as a whole ends
// within limit, or with life.
func NewBatch(life context.Context, to Adder, limit time.Duration) *Batch {
	return &Batch{to: to, life: life, limit: limit, after: func(d time.Duration, do func()) { time.AfterFunc(d, do) }}
}

// Add adds texts together with those of others.
func (b *Batch) Add(ctx context.Context, texts []memory.NewText) ([]memory.Added, error) {
	answers := make([]chan answered, len(texts))
	b.mu.Lock()
	for i, t := range texts {
		answers[i] = make(chan answered, 1) // nobody waits for who has gone
		b.waiting = append(b.waiting, pending{t, answers[i]})
		if len(b.waiting) == memory.MaxAdded {
			go b.send(b.take())
		}
	}
	switch waits := len(b.waiting); {
	case waits == 0:
	case b.sending == 0:
		go b.send(b.take())
	case waits <= len(texts): // the first that wait
		b.after(Together, func() {
			b.mu.Lock()
			some := b.take()
			b.mu.Unlock()
			b.send(some)
		})
	}
	b.mu.Unlock()
	all := make([]memory.Added, len(texts))
	for i, a := range answers {
		select {
		case one := <-a:
			if one.err != nil {
				return nil, one.err
			}
			all[i] = one.added
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return all, nil
}

// take empties the list of who waits. The caller holds mu.
func (b *Batch) take() []pending {
	some := b.waiting
	if b.waiting = nil; len(some) > 0 {
		b.sending++
	}
	return some
}

func (b *Batch) send(some []pending) {
	if len(some) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(b.life, b.limit)
	defer cancel()
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.sending--; b.sending == 0 {
			go b.send(b.take())
		}
	}()
	texts := make([]memory.NewText, len(some))
	for i, p := range some {
		texts[i] = p.text
	}
	added, err := b.to.Add(ctx, texts)
	for i, p := range some {
		one := answered{err: err}
		if err == nil {
			one.added = added[i]
		}
		p.answer <- one
	}
}
