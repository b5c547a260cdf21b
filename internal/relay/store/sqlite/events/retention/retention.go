package retention

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"time"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/retention"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/apply"
	"engramd/internal/relay/store/sqlite/events/query"
)

const (
	sqlCountKind  = `SELECT count(*) FROM events INDEXED BY events_kind WHERE kind = ? AND class = ?`
	sqlOldest     = `SELECT seq, created_at, length(json) FROM events INDEXED BY events_kind WHERE kind = ? AND class = ? AND created_at < ? ORDER BY created_at LIMIT ?`
	sqlRetired    = `SELECT kind, pubkey, d, class FROM events WHERE seq = ?`
	sqlRetiredOld = `SELECT seq, pubkey, length(json) FROM history WHERE kind = ? AND pubkey = ? AND d = ? LIMIT ?`
)

// Retainer applies Live.Retention: at open, when it changes, and every hour. It
// finds what has to go on a read connection and removes it in transactions of
// its own, as RemoveMatching does.
type Retainer struct {
	Cleaner
	Options func() *store.Live
	Log     *slog.Logger
	// Leads reports whether it is this store that removes, of those that execute
	// the same commands, and Lease is the context to do it in; both are nil for a
	// store that is alone.
	Leads func() bool
	Lease func(context.Context) context.Context
	// Confirmed reports whether the clock may be gone by; what is old waits until it
	// may.
	Confirmed func() bool

	cancel  context.CancelFunc // nil when it is not started
	stopped chan struct{}
	changed chan struct{} // holds a token when the rules are others
	round   sync.Mutex    // one at a time
}

// Start has it work beside the writer.
func (r *Retainer) Start(after func(time.Duration) <-chan time.Time) {
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel, r.stopped, r.changed = cancel, make(chan struct{}), make(chan struct{}, 1)
	go r.run(ctx, after)
}

func (r *Retainer) run(ctx context.Context, after func(time.Duration) <-chan time.Time) {
	defer close(r.stopped)
	for {
		var tick <-chan time.Time
		if len(r.Options().Retention) > 0 && (r.Leads == nil || r.Leads()) {
			wait := apply.PruneEvery
			switch err := r.lead(ctx); {
			case ctx.Err() != nil:
				return
			case errors.Is(err, store.ErrClock):
				wait = apply.RetryAfter
			case err != nil:
				r.Log.Error("retention failed", "err", err)
				wait = apply.RetryAfter
			}
			tick = after(time.Duration(wait) * time.Second)
		}
		if tick == nil && r.Leads != nil {
			tick = after(time.Duration(apply.RetryAfter) * time.Second) // it may lead then
		}
		select {
		case <-r.changed:
		case <-tick:
		case <-ctx.Done():
			return
		}
	}
}

func (r *Retainer) lead(ctx context.Context) error {
	if r.Lease != nil {
		ctx = r.Lease(ctx)
	}
	return r.Round(ctx)
}

// Stop ends what is under way between two transactions.
func (r *Retainer) Stop() {
	if r.cancel != nil {
		r.cancel()
		<-r.stopped
	}
}

// Anew has rules that differ from the old ones applied at once.
func (r *Retainer) Anew(old, now []retention.Rule) {
	if r.cancel == nil || reflect.DeepEqual(old, now) {
		return
	}
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// Round removes what the rules in force do not keep: heads and regular
// events by created_at, and with a head every superseded version of its
// address. Two at a time would each remove what is beyond a number. Rules by age
// wait for a clock that is confirmed: then the error is ErrClock.
func (r *Retainer) Round(ctx context.Context) (late error) {
	r.round.Lock()
	defer r.round.Unlock()
	for _, rule := range r.Options().Retention {
		kinds, err := r.kindsUnder(ctx, rule)
		if err != nil {
			return err
		}
		if rule.Age > 0 {
			before := r.Reader.Clock().Add(-rule.Age).Unix()
			old := kinds
			if !r.Confirmed() {
				old, late = nil, store.ErrClock
			}
			for _, kind := range old {
				if err := r.retireBefore(ctx, kind, before); err != nil {
					return err
				}
			}
		}
		if rule.Count > 0 {
			if err := r.retireBeyond(ctx, kinds, rule.Count); err != nil {
				return err
			}
		}
	}
	return late
}

// ofClass is the events of a kind that are of a class, as the index has them.
type ofClass struct{ kind, class engine.Value }

// kindsUnder lists the kinds of a rule of which there are events, by class.
func (r *Retainer) kindsUnder(ctx context.Context, rule retention.Rule) (kinds []ofClass, err error) {
	err = r.Reader.DB.Read(ctx, engine.Scan, func(ctx context.Context, c *engine.Conn) error {
		return c.Query(ctx, query.SQLPairs, nil, func(v engine.Row) error {
			if kind, ok := v[0].(int64); ok && rule.Covers(int(kind)) {
				kinds = append(kinds, ofClass{kind, v[1]})
			}
			return nil
		})
	})
	return kinds, err
}

// retireBefore removes the events of a kind with an earlier created_at.
func (r *Retainer) retireBefore(ctx context.Context, kind ofClass, before int64) error {
	for {
		old, err := r.oldest(ctx, kind, before, removalRows)
		if err != nil || len(old) == 0 {
			return err
		}
		if _, err := r.retire(ctx, old); err != nil {
			return err
		}
	}
}

// retireBeyond removes the oldest events of the kinds until there are no more
// than most of them together.
func (r *Retainer) retireBeyond(ctx context.Context, kinds []ofClass, most int64) error {
	excess := -most
	for _, kind := range kinds {
		err := r.Reader.DB.Read(ctx, engine.Scan, func(_ context.Context, c *engine.Conn) error {
			n, err := c.Number(sqlCountKind, kind.kind, kind.class)
			excess += n
			return err
		})
		if err != nil {
			return err
		}
	}
	for excess > 0 {
		var old []aged
		for _, kind := range kinds {
			some, err := r.oldest(ctx, kind, 1<<62, min(removalRows, excess))
			if err != nil {
				return err
			}
			old = append(old, some...)
		}
		if len(old) == 0 {
			return nil
		}
		slices.SortStableFunc(old, func(a, b aged) int { return int(min(1, max(-1, a.createdAt-b.createdAt))) })
		n, err := r.retire(ctx, old[:min(int64(len(old)), removalRows, excess)])
		if err != nil {
			return err
		}
		excess -= int64(n)
	}
	return nil
}

// aged is an event that may have to go.
type aged struct{ seq, createdAt, size int64 }

// oldest finds the oldest events of a kind.
func (r *Retainer) oldest(ctx context.Context, kind ofClass, before, most int64) (out []aged, err error) {
	return engine.ReadList(ctx, r.Reader.DB, engine.Scan, func(v engine.Row) (aged, error) { return aged{v.Int(0), v.Int(1), v.Int(2)}, nil },
		sqlOldest, kind.kind, kind.class, before, most)
}

// tagCost is how much more than its size an event with many tags costs at most
// (record.cost).
const tagCost = 4

// retire has the first of a list removed, and reports how many.
func (r *Retainer) retire(ctx context.Context, list []aged) (n int, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	c := store.Retire{Events: make([]store.RetiredEvent, len(list))}
	for i, f := range list {
		c.Events[i] = store.RetiredEvent{Seq: f.seq, Size: f.size}
	}
	return store.Answer[int](ctx, r.Order, c)
}

// Retire removes the first of a list, as many as one transaction may, and reports
// how many.
func Retire(w *apply.Writer, observe store.Observer, list []store.RetiredEvent) (n int, err error) {
	classes := map[gate.Class]int{}
	cost := int64(0)
	for _, f := range list {
		if cost += tagCost * f.Size; cost > engine.StepCost && n > 0 {
			break
		}
		class, gone, full, err := retireOne(w, f.Seq)
		if err != nil {
			return 0, err
		}
		if full {
			break
		}
		if gone {
			classes[class]++
		}
		n++
	}
	w.After(func() {
		for class, n := range classes {
			observe.Retired(class.String(), n)
		}
	})
	return n, nil
}

// retireOne removes an event, if it is there, with the superseded versions of its
// address. full says that these alone were as many as one transaction takes: it
// is to be called again.
func retireOne(w *apply.Writer, seq int64) (class gate.Class, gone, full bool, err error) {
	row, err := w.Conn().One(sqlRetired, seq)
	if err != nil || row == nil {
		return 0, false, false, err
	}
	if row[2] != nil && w.Known.History {
		n, err := w.RemoveHistory(apply.ByRetention, sqlRetiredOld, row[0], row[1], row[2], int64(apply.SweepChunk))
		if err != nil || n >= apply.SweepChunk {
			return 0, false, true, err
		}
	}
	return gate.Class(row[3].(int64)), true, false, w.RemoveEvent(seq, apply.ByRetention)
}
