package events

import (
	"context"
	"fmt"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/apply"
	"engramd/internal/relay/store/sqlite/events/ledger"
	"engramd/internal/relay/store/sqlite/events/record"
	"engramd/internal/relay/store/sqlite/events/retention"
)

// Begin queues one event for the writer and returns without waiting for the
// commit; it blocks while the queue is full. Whose turn it is, is decided by
// share (fairness.From of ctx): events begun one after the other by the same
// connection are applied in that order and may share a transaction.
//
// ev must have been checked: strict shape, id and signature. It must not be
// changed afterwards. The error is ctx's when it ended before there was room,
// ErrClosed, or that of a malformed event; once an event is queued, its outcome
// comes through the Pending whatever becomes of ctx.
func (s *Store) Begin(ctx context.Context, ev *nostr.Event, o store.PutOptions) (store.Pending, error) {
	var class gate.Class
	if o.Class != nil {
		class = *o.Class
	} else {
		class = s.o.Table.Classify(ev)
	}
	own := &struct {
		apply.Pending
		record.Record
	}{}
	if err := own.Record.Read(ev, class); err != nil {
		return nil, err
	}
	p := &own.Pending
	p.Rec, p.Opts = &own.Record, o
	p.Init(p, own.Cost())
	if s.several != nil {
		return s.several.begin(ctx, p)
	}
	if err := s.db.Push(ctx, &p.Member); err != nil {
		return nil, err
	}
	return p, nil
}

// Put is Begin and Wait: it returns after the event is durable, or after it is
// known that it will not be.
func (s *Store) Put(ctx context.Context, ev *nostr.Event, o store.PutOptions) store.Result {
	p, err := s.Begin(ctx, ev, o)
	if err != nil {
		return store.Result{Outcome: store.Failed, Err: err}
	}
	return p.Wait()
}

// followedKey begins the keys of the table meta that say how far another relay
// was followed.
const followedKey = "followed "

// Follow notes how far a relay was followed, by a name of the caller's.
func (s *Store) Follow(ctx context.Context, source string, to store.Place) error {
	return store.Orders(s.order).Tell(ctx, store.Followed{Source: source, To: to})
}

// FollowedTo is what Follow noted last, the zero Place for nothing. Errors are
// as of Query.
func (s *Store) FollowedTo(ctx context.Context, source string) (to store.Place, err error) {
	text, err := engine.Look(ctx, s.db, (*engine.Conn).Text, engine.SQLMeta, followedKey+source)
	if err == nil && text != "" {
		_, err = fmt.Sscanf(text, "%d %d", &to.Number, &to.Time)
	}
	return to, err
}

// Tell has a command executed that has no answer, and waits until it is durable.
func (s *Store) Tell(ctx context.Context, c store.Command) error {
	return store.Orders(s.order).Tell(ctx, c)
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
	h, byAge := c.(store.Housekeep)
	if byAge {
		h.After = w.Others.Contracts.Done()
		c = h
	}
	_, err = w.Step(func() (bool, error) {
		if byAge && !w.s.o.Confirmed() { // which is asked when the step has its time
			return false, store.ErrClock
		}
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
	if w.s.o.executed != nil {
		w.s.o.executed(store.Executed{At: at, Command: c})
	}
}

// Applied records an event that is durable.
func (w *writer) Applied(m *engine.Member) {
	if w.s.o.executed == nil {
		return
	}
	p := m.Of.(*apply.Pending)
	w.record(p.At(), p.Put())
}

// execute does what a command says, within a transaction.
func (w *writer) execute(c store.Command) (answer any, err error) {
	switch c := c.(type) {
	case store.Configure:
		return nil, w.configure(c.Live)
	case store.Stage:
		return nil, w.restoring.StageEvents(c)
	case store.Unstage:
		return w.restoring.Unstage(c.Restore)
	case store.SwitchState:
		return w.restoring.Switch(c)
	case store.ReleaseQuarantine:
		return w.restoring.Release(c.Name)
	case store.DropQuarantine:
		return nil, w.restoring.Drop(c.Name)
	case store.RemoveRows:
		return retention.RemoveRows(w.Writer, c.Rows)
	case store.Retire:
		return retention.Retire(w.Writer, w.s.o.Observe, c.Events)
	case store.GoOn:
		return w.GoOn()
	case store.Housekeep:
		return w.Housekeep(c)
	case store.Followed:
		return nil, w.SetMeta(followedKey+c.Source, fmt.Sprintf("%d %d", c.To.Number, c.To.Time))
	case store.Tighten:
		return w.Keys.Tighten(ledger.LooseChunk)
	}
	answer, handled, err := w.Others.Execute(c)
	if !handled {
		return nil, fmt.Errorf("%T is no command that is executed here", c) // a PutEvent or PutCopy is a member with a record
	}
	return answer, err
}
