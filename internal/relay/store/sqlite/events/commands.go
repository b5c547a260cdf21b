package events

import (
	"context"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/apply"
)

// tell has a command executed and waits until it is durable, or failed.
func (s *Store) tell(ctx context.Context, c store.Command) error {
	_, err := s.order(ctx, c)
	return err
}

// order has a command executed and waits for its answer (store.Orders).
func (s *Store) order(ctx context.Context, c store.Command) (answer any, err error) {
	if s.several != nil {
		return s.several.order(ctx, c)
	}
	err = s.db.Do(ctx, func() (err error) {
		answer, err = s.writer.executeAlone(c)
		return err
	})
	return answer, err
}

// apart runs work that is no command on the writer, in a transaction of its
// own, and waits for it: what is this process's own (DESIGN.md lists it).
func (s *Store) apart(ctx context.Context, work func(*writer) error) error {
	return s.db.Apart(ctx, func(*engine.Writer) error { return work(s.writer) })
}

// executeAlone executes a command in a transaction of its own.
func (w *writer) executeAlone(c store.Command) (answer any, err error) {
	if h, ok := c.(store.Housekeep); ok {
		h.After = w.Others.Contracts.Done()
		c = h
	}
	_, err = w.Step(func() (bool, error) {
		var err error
		answer, err = w.execute(c)
		return false, err
	})
	if err == nil {
		w.record(w.Now, c)
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

// Applied records an event that is durable.
func (w *writer) Applied(m *engine.Member) {
	if w.s.executed == nil {
		return
	}
	p := m.Of.(*apply.Pending)
	o := &p.Opts
	if o.Replica {
		w.record(p.At(), store.PutCopy{Event: p.Rec.JSON, Past: o.Past})
		return
	}
	w.record(p.At(), store.PutEvent{Event: p.Rec.JSON, Import: o.Import, Base: o.Base, Forward: o.Forward, KnownOnly: o.KnownOnly})
}
