package sqlite

import (
	"context"
	"fmt"

	"engramd/internal/store"
)

// tell has a command executed and waits until it is durable, or failed.
func (s *Store) tell(ctx context.Context, c store.Command) error {
	_, err := s.order(ctx, c)
	return err
}

// ask is tell for a command that is answered with a T.
func ask[T any](ctx context.Context, s *Store, c store.Command) (answer T, err error) {
	v, err := s.order(ctx, c)
	if err != nil {
		return answer, err
	}
	answer, ok := v.(T)
	if !ok {
		return answer, fmt.Errorf("%T was answered with %T", c, v)
	}
	return answer, nil
}

func (s *Store) order(ctx context.Context, c store.Command) (any, error) {
	p := &Pending{command: c, done: make(chan struct{})}
	if err := s.queue.push(ctx, p); err != nil {
		return nil, err
	}
	err := p.Wait().Err
	return p.answer, err
}

// apart runs work that is no command on the writer, in a transaction of its
// own, and waits for it: what is this process's own (DESIGN.md lists it).
func (s *Store) apart(ctx context.Context, work func(*writer) error) error {
	p := &Pending{apart: work, done: make(chan struct{})}
	if err := s.queue.push(ctx, p); err != nil {
		return err
	}
	return p.Wait().Err
}

// commitAlone executes a command, or runs work of the process's own, in a
// transaction of its own and answers it.
func (w *writer) commitAlone(p *Pending) {
	var err error
	if p.apart != nil {
		_, err = w.stepAlone(func(w *writer) (bool, error) { return false, p.apart(w) })
	} else {
		p.answer, err = w.executeAlone(p.command)
	}
	p.finish(failure(err))
}

// executeAlone executes a command in a transaction of its own.
func (w *writer) executeAlone(c store.Command) (answer any, err error) {
	if h, ok := c.(store.Housekeep); ok {
		h.After = w.contractsDone
		c = h
	}
	_, err = w.stepAlone(func(w *writer) (bool, error) {
		var err error
		answer, err = w.execute(c)
		return false, err
	})
	if err == nil {
		w.record(w.now, c)
	}
	return answer, err
}

// issue executes a command of the store's own, which is answered with whether
// there is more to do.
func (w *writer) issue(c store.Command) (more bool, err error) {
	answer, err := w.executeAlone(c)
	more, _ = answer.(bool)
	return more && err == nil, err
}

// record tells of a command that is durable.
func (w *writer) record(at int64, c store.Command) {
	if w.s.executed != nil {
		w.s.executed(store.Executed{At: at, Command: c})
	}
}

func (w *writer) recordPut(p *Pending) {
	if w.s.executed == nil {
		return
	}
	o := &p.opts
	if o.Replica {
		w.record(p.at, store.PutCopy{Event: p.rec.json, Past: o.Past})
		return
	}
	w.record(p.at, store.PutEvent{Event: p.rec.json, Import: o.Import, Base: o.Base, Forward: o.Forward, KnownOnly: o.KnownOnly})
}
