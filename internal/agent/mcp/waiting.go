package mcp

import (
	"context"
	"fmt"
	"sync"

	"engramd/internal/memory/consolidation"
	recallanswer "engramd/internal/memory/recall/answer"
)

// waitingWrite is the answer of a write where episodes can be consolidated: each
// time that another consolidation.MicroBatch of them wait, it says so.
type waitingWrite struct {
	writeOut
	Waiting int    `json:"episodes_waiting,omitempty" jsonschema:"about how many wait to be consolidated; said now and then"`
	Next    string `json:"next,omitempty" jsonschema:"what to do about them, when it suits"`
}

// waiters know about how many episodes wait. All are counted at the first new one,
// and again when a batch may be full: what others write or consolidate meanwhile is
// found then.
type waiters struct {
	mu      sync.Mutex
	counted bool
	now     int // about
	said    int // at how many it was said last, in whole batches
}

// another takes a new episode in, and returns how many wait if that is worth a word.
func (w *waiters) another(count func() (int, error)) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now++
	if w.counted && w.now < w.said+consolidation.MicroBatch {
		return 0, nil
	}
	n, err := count()
	if err != nil {
		return 0, err
	}
	if !w.counted { // what waited before this process was said by another
		w.counted, w.said = true, max(0, n-1)/consolidation.MicroBatch*consolidation.MicroBatch
	}
	w.now, w.said = n, min(w.said, n/consolidation.MicroBatch*consolidation.MicroBatch)
	if n < w.said+consolidation.MicroBatch {
		return 0, nil
	}
	w.said = n / consolidation.MicroBatch * consolidation.MicroBatch
	return n, nil
}

// andWaiting adds to the answer of a write how many episodes wait. Failing to count
// them fails no write.
func andWaiting[In any](m *memories, do func(context.Context, In) (writeOut, error)) func(context.Context, In) (waitingWrite, error) {
	return func(ctx context.Context, in In) (waitingWrite, error) {
		out, err := do(ctx, in)
		if err != nil || !out.episode || m.session.Source() == nil {
			return waitingWrite{writeOut: out}, err
		}
		n, err := m.waiters.another(func() (n int, err error) {
			err = m.session.Source().Read(ctx, func(v recallanswer.View) error {
				n = consolidation.Waiting(v)
				return nil
			})
			return n, err
		})
		if err != nil {
			m.calls.log.Warn("it is not known how many episodes wait", "error", err)
		}
		more := waitingWrite{writeOut: out, Waiting: n}
		if n > 0 {
			more.Next = fmt.Sprintf("%d episodes wait to be made into knowledge: when it suits, call mind_prepare, then mind_commit.", n)
		}
		return more, nil
	}
}
