package events

import (
	"context"
	"reflect"
	"slices"
	"time"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/retention"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/query"
)

const (
	sqlCountKind  = `SELECT count(*) FROM events INDEXED BY events_kind WHERE kind = ?`
	sqlOldest     = `SELECT seq, created_at, length(json) FROM events INDEXED BY events_kind WHERE kind = ? AND created_at < ? ORDER BY created_at LIMIT ?`
	sqlRetired    = `SELECT kind, pubkey, d, class FROM events WHERE seq = ?`
	sqlRetiredOld = `SELECT seq, pubkey, length(json) FROM history WHERE kind = ? AND pubkey = ? AND d = ? LIMIT ?`
)

// retainer applies Live.Retention: at open, when it changes, and every hour. It
// finds what has to go on a read connection and removes it in transactions of
// its own, as RemoveMatching does.
type retainer struct {
	cancel  context.CancelFunc
	stopped chan struct{}
	changed chan struct{} // holds a token when the rules are others
}

func (s *Store) startRetainer(after func(time.Duration) <-chan time.Time) {
	ctx, cancel := context.WithCancel(context.Background())
	s.retainer = &retainer{cancel: cancel, stopped: make(chan struct{}), changed: make(chan struct{}, 1)}
	go s.retainer.run(ctx, s, after)
}

func (r *retainer) run(ctx context.Context, s *Store, after func(time.Duration) <-chan time.Time) {
	defer close(r.stopped)
	for {
		var tick <-chan time.Time
		if len(s.live.Load().Retention) > 0 && s.leads() {
			wait := pruneEvery
			if err := s.retainAll(s.lease(ctx)); err != nil {
				if ctx.Err() != nil {
					return
				}
				s.log.Error("retention failed", "err", err)
				wait = retryAfter
			}
			tick = after(time.Duration(wait) * time.Second)
		}
		if tick == nil && s.several != nil {
			tick = after(time.Duration(retryAfter) * time.Second) // it may lead then
		}
		select {
		case <-r.changed:
		case <-tick:
		case <-ctx.Done():
			return
		}
	}
}

// stop ends what is under way between two transactions.
func (r *retainer) stop() {
	if r != nil {
		r.cancel()
		<-r.stopped
	}
}

// retainAnew has rules that differ from the old ones applied at once.
func (s *Store) retainAnew(old, now []retention.Rule) {
	if s.retainer == nil || reflect.DeepEqual(old, now) {
		return
	}
	select {
	case s.retainer.changed <- struct{}{}:
	default:
	}
}

// retainAll removes what the rules in force do not keep: heads and regular
// events by created_at, and with a head every superseded version of its
// address. Two at a time would each remove what is beyond a number.
func (s *Store) retainAll(ctx context.Context) error {
	s.retaining.Lock()
	defer s.retaining.Unlock()
	for _, rule := range s.live.Load().Retention {
		kinds, err := s.kindsUnder(ctx, rule)
		if err != nil {
			return err
		}
		if rule.Age > 0 {
			before := s.clock().Add(-rule.Age).Unix()
			for _, kind := range kinds {
				if err := s.retireBefore(ctx, kind, before); err != nil {
					return err
				}
			}
		}
		if rule.Count > 0 {
			if err := s.retireBeyond(ctx, kinds, rule.Count); err != nil {
				return err
			}
		}
	}
	return nil
}

// kindsUnder lists the kinds of a rule of which there are events.
func (s *Store) kindsUnder(ctx context.Context, rule retention.Rule) (kinds []int64, err error) {
	err = s.db.Read(ctx, engine.Scan, func(ctx context.Context, c *engine.Conn) error {
		return c.Query(ctx, query.SQLKinds, nil, func(v []engine.Value) error {
			if kind, ok := v[0].(int64); ok && rule.Covers(int(kind)) {
				kinds = append(kinds, kind)
			}
			return nil
		})
	})
	return kinds, err
}

// retireBefore removes the events of a kind with an earlier created_at.
func (s *Store) retireBefore(ctx context.Context, kind, before int64) error {
	for {
		old, err := s.oldest(ctx, kind, before, removalRows)
		if err != nil || len(old) == 0 {
			return err
		}
		if _, err := s.retire(ctx, old); err != nil {
			return err
		}
	}
}

// retireBeyond removes the oldest events of the kinds until there are no more
// than most of them together.
func (s *Store) retireBeyond(ctx context.Context, kinds []int64, most int64) error {
	excess := -most
	for _, kind := range kinds {
		err := s.db.Read(ctx, engine.Scan, func(_ context.Context, c *engine.Conn) error {
			n, err := c.Number(sqlCountKind, kind)
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
			some, err := s.oldest(ctx, kind, 1<<62, min(removalRows, excess))
			if err != nil {
				return err
			}
			old = append(old, some...)
		}
		if len(old) == 0 {
			return nil
		}
		slices.SortStableFunc(old, func(a, b aged) int { return int(min(1, max(-1, a.createdAt-b.createdAt))) })
		n, err := s.retire(ctx, old[:min(int64(len(old)), removalRows, excess)])
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
func (s *Store) oldest(ctx context.Context, kind, before, most int64) (out []aged, err error) {
	err = s.db.Read(ctx, engine.Scan, func(ctx context.Context, c *engine.Conn) error {
		return c.Query(ctx, sqlOldest, []engine.Value{kind, before, most}, func(v []engine.Value) error {
			out = append(out, aged{v[0].(int64), v[1].(int64), v[2].(int64)})
			return nil
		})
	})
	return out, err
}

// tagCost is how much more than its size an event with many tags costs at most
// (record.cost).
const tagCost = 4

// retire removes the first of a list, as many as one transaction may, and
// reports how many.
func (s *Store) retire(ctx context.Context, list []aged) (n int, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	c := store.Retire{Events: make([]store.RetiredEvent, len(list))}
	for i, f := range list {
		c.Events[i] = store.RetiredEvent{Seq: f.seq, Size: f.size}
	}
	return store.Answer[int](ctx, s.order, c)
}

func (w *writer) retireSome(list []store.RetiredEvent) (n int, err error) {
	classes := map[gate.Class]int{}
	cost := int64(0)
	for _, f := range list {
		if cost += tagCost * f.Size; cost > removalCost && n > 0 {
			break
		}
		class, gone, full, err := w.retire(f.Seq)
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
			w.s.observe.Retired(class.String(), n)
		}
	})
	return n, nil
}

// retire removes an event, if it is there, with the superseded versions of its
// address. full says that these alone were as many as one transaction takes: it
// is to be called again.
func (w *writer) retire(seq int64) (class gate.Class, gone, full bool, err error) {
	row, err := w.Conn().One(sqlRetired, seq)
	if err != nil || row == nil {
		return 0, false, false, err
	}
	if row[2] != nil && w.known.history {
		n, err := w.removeHistory(byRetention, sqlRetiredOld, row[0], row[1], row[2], int64(sweepChunk))
		if err != nil || n >= sweepChunk {
			return 0, false, true, err
		}
	}
	return gate.Class(row[3].(int64)), true, false, w.removeEvent(seq, byRetention)
}
