package events

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"

	"engramd/internal/relay/fairness"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/apply"
)

// sequence is what a store is beside, that is one of several which execute the
// same commands: it hands over what is to be written, and executes what comes.
type sequence struct {
	s       *Store
	to      store.Sequencer
	cancel  context.CancelFunc
	working sync.WaitGroup

	otherGate bool // stored events are classed by others than the rules in force
}

// errAlone answers writes of a store that has not joined the others yet.
var errAlone = errors.New("the store has no place in the order of commands yet")

// Join has a store that was opened as Sequenced hand over what is written, from
// now on. It is called once, before the first write and the first Execute.
func (s *Store) Join(to store.Sequencer) {
	q := s.several
	q.to = to
	// Restores are numbered by each store, and what they stage lies side by side.
	s.writer.restoring.NumberFrom(rand.Int64N(1 << 62))
	ctx, cancel := context.WithCancel(context.Background())
	q.cancel = cancel
	q.working.Go(func() { q.keepHouse(ctx) })
	s.retainer.Start(s.o.After)
}

// SequenceState is what the Sequencer stored with the last transaction (State),
// nil at first. The error is store.ErrOtherGate if the store must not be joined.
func (s *Store) SequenceState(ctx context.Context) (state []byte, err error) {
	if s.several != nil && s.several.otherGate {
		return nil, store.ErrOtherGate
	}
	return engine.Look(ctx, s.db, (*engine.Conn).Blob, engine.SQLMeta, metaState)
}

func (q *sequence) stop() {
	if q != nil && q.cancel != nil {
		q.cancel()
		q.working.Wait()
	}
}

func (q *sequence) halt(err error) {
	if q.to != nil {
		q.to.Halt(err)
	}
}

// awaited is an event on its way, or another command, and its answer: that of
// the command, unless it fails before.
type awaited struct {
	own    *apply.Pending // nil for another command
	once   sync.Once
	done   chan struct{}
	result store.Result
	answer any
}

func (a *awaited) Done() <-chan struct{} { return a.done }

func (a *awaited) Wait() store.Result {
	<-a.done
	return a.result
}

func (a *awaited) finish(r store.Result, answer any) {
	a.once.Do(func() {
		a.result, a.answer = r, answer
		close(a.done)
	})
}

// Fail answers who waits that it is not known what became of it.
func (a *awaited) Fail(err error) { a.finish(store.Result{Outcome: store.Failed, Err: err}, nil) }

// begin hands an event over.
func (q *sequence) begin(ctx context.Context, p *apply.Pending) (store.Pending, error) {
	if q.to == nil {
		return nil, errAlone
	}
	a := &awaited{own: p, done: make(chan struct{})}
	p.Sent = fairness.From(ctx)
	p.Tell(func(r store.Result) { a.finish(r, nil) })
	if err := q.to.Append(ctx, p.Command(), a); err != nil {
		return nil, err
	}
	return a, nil
}

// order hands a command over and waits for its answer.
func (q *sequence) order(ctx context.Context, c store.Command) (any, error) {
	if q.to == nil {
		return nil, errAlone
	}
	a := &awaited{done: make(chan struct{})}
	if err := q.to.Append(ctx, c, a); err != nil {
		return nil, err
	}
	select {
	case <-a.done:
		return a.answer, a.result.Err
	case <-ctx.Done():
		return nil, fmt.Errorf("it is not known what became of a command: %w", ctx.Err())
	}
}

// digest names a command among all others.
func digest(c store.Command) ([32]byte, error) {
	if c == nil {
		return [32]byte{}, nil
	}
	b, err := store.AppendCommand(nil, store.Executed{Command: c})
	return sha256.Sum256(b), err
}
