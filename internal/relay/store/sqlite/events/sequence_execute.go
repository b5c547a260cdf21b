package events

import (
	"context"
	"errors"
	"fmt"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/apply"
	"engramd/internal/relay/store/sqlite/events/query"
	"engramd/internal/relay/store/sqlite/events/record"
	"engramd/nips/nip01"
)

// Execute has commands executed in their order, behind those of earlier calls,
// and returns when they are queued: their tickets, and the Sequencer, are told
// when they are durable. It is called from one goroutine. A command that cannot
// be executed halts the store (store.Sequencer), and so does one of the
// operator's own mistakes never: what it answers is the same everywhere.
func (s *Store) Execute(ctx context.Context, list []store.Placed) error {
	for _, p := range list {
		if err := s.several.execute(ctx, p); err != nil {
			return fmt.Errorf("command %d of message %d: %w", p.Place.Index, p.Place.Number, err)
		}
	}
	return nil
}

func (q *sequence) execute(ctx context.Context, p store.Placed) error {
	a, _ := p.Ticket.(*awaited)
	if a != nil && a.own != nil {
		return q.push(ctx, a.own, p)
	}
	own, err := q.pending(p.Command)
	if err != nil {
		return err
	}
	if own != nil {
		return q.push(ctx, own, p)
	}
	if a == nil {
		a = &awaited{done: make(chan struct{})}
	}
	var answer any
	return q.s.db.DoLater(ctx, func() (err error) {
		answer, err = q.executePlaced(p)
		return err
	}, func(err error) {
		r := store.Result{}
		if err != nil {
			r = store.Result{Outcome: store.Failed, Err: err}
		}
		a.finish(r, answer)
	})
}

func (q *sequence) push(ctx context.Context, own *apply.Pending, p store.Placed) error {
	own.Place = p.Place
	own.Stamp(p.At)
	return q.s.db.Push(ctx, &own.Member)
}

// pending is an event that another store was given, nil for any other command.
func (q *sequence) pending(c store.Command) (*apply.Pending, error) {
	p := &apply.Pending{}
	var event []byte
	switch c := c.(type) {
	case store.SubmitEvent:
		event, p.Asked = c.Event, true
		p.Opts = store.PutOptions{Base: c.Base, Forward: c.Forward, KnownOnly: c.KnownOnly, Vouched: c.Vouched}
	case store.PutEvent:
		event, p.Opts = c.Event, store.PutOptions{Import: c.Import, Base: c.Base, Forward: c.Forward, KnownOnly: c.KnownOnly}
	case store.PutCopy:
		event, p.Opts = c.Event, store.PutOptions{Replica: true, Past: c.Past}
	default:
		return nil, nil
	}
	var err error
	if p.Rec, err = record.Parse(event, q.s.o.Table); err != nil {
		return nil, err
	}
	p.Init(p, p.Rec.Cost())
	return p, nil
}

// executePlaced executes a command that is no event, in a transaction of its
// own. What the database or the program failed at halts the store; any other
// error is the command's answer everywhere, and its place is noted.
func (q *sequence) executePlaced(p store.Placed) (answer any, err error) {
	w := q.s.writer
	switch p.Command.(type) {
	case store.SwitchState, store.ReleaseQuarantine:
		defer w.restoring.Switching()()
	}
	sum, err := digest(p.Command)
	if err != nil {
		w.Halt(err)
		return nil, err
	}
	step := func(outcome store.Outcome, work func() error) error {
		_, err := w.Step(func() (bool, error) {
			w.Now = p.At
			if err := work(); err != nil {
				return false, err
			}
			w.Executed(p.Place, outcome, sum)
			return false, nil
		})
		return err
	}
	refused := step(store.Stored, func() (err error) {
		if p.Command != nil {
			answer, err = w.execute(p.Command)
		}
		return err
	})
	if refused != nil && !broken(refused) {
		answer = nil
		if err := step(store.Refused, func() error { return nil }); err != nil {
			refused = err
		}
	}
	if broken(refused) {
		w.Halt(refused)
		return nil, refused
	}
	if changed := q.s.o.Changed; refused == nil && changed != nil {
		changed(p.Command)
	}
	return answer, refused
}

// A row that is damaged here need not be elsewhere.
func broken(err error) bool {
	return engine.Broken(err) || errors.Is(err, errNoState) || errors.Is(err, store.ErrDamaged)
}

// metaState is what the Sequencer has stored with each transaction, in the table
// meta.
const metaState = "cluster.state"

// standsAlone refuses a database that is one of several.
func standsAlone(c *engine.Conn) error {
	shared, err := c.Exists(`SELECT 1 FROM meta WHERE key = ?`, metaState)
	if err == nil && shared {
		err = store.ErrShared
	}
	return err
}

// LeaveSequence makes the database one that stands alone again. The store must
// be opened anew.
func (s *Store) LeaveSequence(ctx context.Context) error {
	return s.db.Apart(ctx, func(w *engine.Writer) error {
		for _, name := range []string{metaState, metaLive} {
			if err := w.DropMeta(name); err != nil {
				return err
			}
		}
		return nil
	})
}

// noteState stores it with what was executed.
func (q *sequence) noteState(done []store.Done) error {
	if len(done) == 0 {
		return nil
	}
	state := q.to.State(done)
	if state == nil {
		return errNoState
	}
	return q.s.writer.SetMeta(metaState, state)
}

// errNoState means that the Sequencer will not have a transaction committed.
var errNoState = errors.New("what was executed is not what came next")

// endJobs finishes what a crash left of the last command, before anybody reads.
func endJobs(ctx context.Context, w *engine.Writer) error {
	for w.Busy() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := w.Step(w.GoOn); err != nil {
			return err
		}
	}
	return nil
}

// admitting asks an Admission about events, and shows it what is stored at the
// place of each.
type admitting struct{ w *writer }

func (a admitting) admit(p *apply.Pending) (*nip01.Refusal, error) {
	return a.w.s.o.Admit(p.Rec.Event, p.Opts.Vouched, a)
}

var _ store.Admitting = admitting{}

func (a admitting) Approved(owners []string, agent string) (bool, error) {
	return query.Approved(a.w.Conn(), owners, agent, a.w.Now)
}

func (a admitting) Provisioned(key string) (bool, error) {
	blob, ok := column.Hex32(key)
	if !ok {
		return false, nil
	}
	return a.w.Others.Identities.Provisioned(blob)
}
