// Package ingest stores events from JSON lines on behalf of the operator: it
// checks every line as if its author had sent it, in the order of the lines,
// and reports refusals by line number. A Replacer switches the heads of whole
// agents to those of the input.
package ingest

import (
	"context"
	"fmt"
	"io"
	"runtime"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay/policy"
	"engramd/internal/relay/store"
)

// Store is what an import needs of the store: Begin queues an event, and the
// store applies events in the order in which they were begun.
type Store interface {
	Begin(ctx context.Context, ev *nostr.Event, o store.PutOptions) (store.Pending, error)
}

// Importer stores events from JSON lines. All cores check shapes and signatures
// ahead of the store; events are handed to the store, and reported, in the
// order of their lines.
type Importer struct {
	store Store
	rules policy.Hook // refuse what may not be stored, whoever brings it

	signatures wire.Verifier
}

// New returns an Importer with rules, as NewRules makes them.
func New(s Store, rules policy.Hook) *Importer {
	return &Importer{store: s, rules: rules}
}

// Run reads lines until the end, an error, or the end of ctx, and returns the
// tally of the lines that were decided. It always waits for events that were
// begun.
func (im *Importer) Run(ctx context.Context, in io.Reader, p Progress) (Tally, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	return im.put(ctx, cancel, im.parsed(ctx, cancel, in), p)
}

// parsed starts reading and parsing, and returns the batches in order. An error
// ends ctx before the channel is closed.
func (im *Importer) parsed(ctx context.Context, cancel context.CancelCauseFunc, in io.Reader) <-chan *batch {
	workers := runtime.GOMAXPROCS(0)
	work, ordered := make(chan *batch, workers), make(chan *batch, 2*workers)
	for range workers {
		go im.parseAll(ctx, work)
	}
	go func() {
		defer close(work)
		defer close(ordered)
		if err := readLines(ctx, in, work, ordered); err != nil {
			cancel(err)
		}
	}()
	return ordered
}

// put stores the events of batches, in order.
func (im *Importer) put(ctx context.Context, cancel context.CancelCauseFunc, ordered <-chan *batch, p Progress) (Tally, error) {
	begun := make(chan item, 8192)
	go func() {
		defer close(begun)
		if err := im.begin(ctx, ordered, begun); err != nil {
			cancel(err)
		}
	}()
	t, err := collect(begun, p, func(err error) { cancel(err) })
	if err == nil {
		err = context.Cause(ctx)
	}
	return t, err
}

// begin hands the events to the store, in order.
func (im *Importer) begin(ctx context.Context, ordered <-chan *batch, begun chan<- item) error {
	for {
		var b *batch
		select {
		case b = <-ordered:
		case <-ctx.Done(): // the input may never end
		}
		if b == nil {
			return nil
		}
		<-b.done
		for _, it := range b.items {
			if ctx.Err() != nil {
				return nil
			}
			if it.event != nil {
				var err error
				if it.pending, err = im.store.Begin(ctx, it.event, store.PutOptions{Import: true}); err != nil {
					return fmt.Errorf("line %d: %w", it.line, err)
				}
			}
			begun <- it // collect receives until begun is closed
		}
	}
}

// collect waits for the store's answers in order and counts them. It stops
// everything at the first failure of the store, and still waits for the events
// that were begun.
func collect(begun <-chan item, p Progress, stop func(error)) (Tally, error) {
	var t Tally
	var first error
	fail := func(err error) {
		if err != nil && first == nil {
			first = err
			stop(err)
		}
	}
	for it := range begun {
		reason := it.refusal
		if it.pending != nil {
			r := it.pending.Wait()
			if r.Outcome == store.Failed {
				fail(fmt.Errorf("line %d: %w", it.line, r.Err))
				continue
			}
			reason = t.count(r)
		} else {
			t.Skipped++
		}
		t.Lines++
		if reason != "" {
			fail(p.Skip(Skipped{it.line, reason}))
		}
		fail(p.Tick(t))
	}
	return t, first
}
