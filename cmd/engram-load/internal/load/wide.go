package load

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"time"
)

// perConnection is how many subscriptions one connection of live-wide has:
// fewer than relays commonly allow.
const perConnection = 50

// wideWorkload measures what subscriptions cost that do not match.
func wideWorkload() Workload {
	return Workload{
		Name: "live-wide",
		Help: "publish notes while there are many subscriptions, 50 on a connection, of which one matches; " +
			"and as many with none at all, in the order none, wide, wide, none. The ratio of both rates is wide_to_none",
		Unit:     "OK/s",
		Defaults: Options{Count: 40_000, Connections: 8, Pipeline: 128, Warmup: 2000, Subscriptions: 10_000, Auth: AuthNever},
		Needs:    NeedsEmpty,
		run:      runWide,
	}
}

// wideRun is one run: o.Warmup events, then four parts of o.Count events, the
// middle two with subscriptions.
type wideRun struct {
	target     Target
	o          Options
	set        *Set
	publishers []*Conn
	a          *audience
}

func runWide(ctx context.Context, t Target, o Options) (Result, error) {
	if o.Subscriptions < 1 || o.Subscriptions > MaxSubscriptions {
		return Result{}, fmt.Errorf("%w: subscriptions is %d and must be between 1 and %d", ErrOptions, o.Subscriptions, MaxSubscriptions)
	}
	o.Count -= o.Count % 4
	if o.Count == 0 {
		return Result{}, fmt.Errorf("%w: count must be at least 4", ErrOptions)
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	set, err := PrepareSet(ctx, o.Cache, SetSpec{Name: "wide", Count: o.Count + o.Warmup, Authors: 1, Seed: o.Seed})
	if err != nil {
		return Result{}, err
	}
	conns, closeAll, err := OpenAll(ctx, t, o, o.Connections, func(int) *Key { return &set.Authors[0] })
	defer closeAll()
	if err != nil {
		return Result{}, err
	}
	w := &wideRun{target: t, o: o, set: set, publishers: conns}
	r, err := w.measure(ctx, end)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause // the first failure; others follow from it
		}
		return Result{}, err
	}
	return r, nil
}

func (w *wideRun) measure(ctx context.Context, end context.CancelCauseFunc) (Result, error) {
	part := w.o.Count / 4
	at := func(n int) int { return w.o.Warmup + n*part }
	if w.o.Warmup > 0 {
		if _, _, err := w.publish(ctx, 0, w.o.Warmup); err != nil {
			return Result{}, err
		}
	}
	none, _, err := w.publish(ctx, at(0), at(1))
	if err != nil {
		return Result{}, err
	}
	wide, took, err := w.wide(ctx, end, at(1), at(2), at(3))
	if err != nil {
		return Result{}, err
	}
	if err := pause(ctx, quiet); err != nil { // in which the relay forgets the subscriptions
		return Result{}, err
	}
	last, _, err := w.publish(ctx, at(3), at(4))
	if err != nil {
		return Result{}, err
	}
	none.add(last)
	wide.Latency = NewLatency(took...)
	rate := func(r Result) float64 { return float64(r.Count) / r.Seconds }
	wide.Extra = map[string]float64{
		"rate_none": rate(none), "rate_wide": rate(wide), "wide_to_none": rate(wide) / rate(none),
		"deliveries": float64(w.a.ledger.delivered.Load()), "subscriptions": float64(w.o.Subscriptions),
	}
	if none.Usage != nil {
		wide.Extra["cpu_us_per_op_none"], wide.Extra["cpu_us_per_op_wide"] = none.CPUPerOp, wide.CPUPerOp
	}
	return wide, nil
}

// wide opens the subscriptions, publishes two parts, and closes them.
func (w *wideRun) wide(ctx context.Context, end context.CancelCauseFunc, from, middle, to int) (Result, [][]time.Duration, error) {
	closeAll, err := w.subscribe(ctx, from, to)
	defer closeAll()
	if err != nil {
		return Result{}, nil, err
	}
	w.a.end = end
	w.a.listen()
	r, took, err := w.publishBoth(ctx, from, middle, to)
	if err == nil {
		err = w.a.await(ctx)
	}
	if err == nil {
		err = w.a.finish(ctx)
	}
	if err != nil {
		end(err)
		w.a.reading.Wait()
	}
	return r, took, err
}

func (w *wideRun) publishBoth(ctx context.Context, from, middle, to int) (Result, [][]time.Duration, error) {
	r, took, err := w.publish(ctx, from, middle)
	if err != nil {
		return r, nil, err
	}
	second, more, err := w.publish(ctx, middle, to)
	if err != nil {
		return r, nil, err
	}
	r.add(second)
	return r, append(took, more...), nil
}

// subscribe opens o.Subscriptions subscriptions. The middle one matches the
// events of the set between from and to-1; nothing older, which is stored.
func (w *wideRun) subscribe(ctx context.Context, from, to int) (func(), error) {
	events := make([][]byte, 0, to-from)
	for i := from; i < to; i++ {
		events = append(events, w.set.JSON(i))
	}
	l := newLedger(events)
	l.untimed = true
	l.expect(int64(len(events)))
	n := (w.o.Subscriptions + perConnection - 1) / perConnection
	readers, err := newKeys(w.o.Seed, "listener", n)
	if err != nil {
		return func() {}, err
	}
	conns, closeAll, err := OpenAll(ctx, w.target, w.o, n, func(i int) *Key { return &readers[i] })
	if err != nil {
		return closeAll, err
	}
	w.a = &audience{ledger: l, quiet: quiet, missing: missing, listeners: make([]*listener, n)}
	for i, c := range conns {
		w.a.listeners[i] = &listener{conn: c}
	}
	for i := range w.o.Subscriptions {
		one := w.a.listeners[i/perConnection]
		s := subscription{fmt.Sprintf("s%d", i%perConnection), strangeFilter(w.o.Seed, i)}
		if i == w.o.Subscriptions/2 {
			s = subscription{liveSub, fmt.Sprintf(`{"kinds":[1],"authors":["%s"],"since":%d}`, w.set.Authors[0].Pub, createdAt(from))}
			one.match, one.receipts = s.id, newReceipts(l)
		}
		one.subs = append(one.subs, s)
	}
	return closeAll, w.a.subscribe(ctx)
}

// strangeFilter asks for notes that nobody publishes, as feeds, inboxes and
// topics do.
func strangeFilter(seed uint64, i int) string {
	b := binary.BigEndian.AppendUint64([]byte("strange "), seed)
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(b, uint64(i)))
	field := [...]string{"authors", "#p", "#t"}[i%3]
	return `{"kinds":[1],"` + field + `":["` + hex.EncodeToString(sum[:]) + `"]}`
}

// publish publishes the events from to to-1 of the set and returns what that
// took, and for each how long it was until the OK.
func (w *wideRun) publish(ctx context.Context, from, to int) (Result, [][]time.Duration, error) {
	n := len(w.publishers)
	lanes, err := w.set.lanes(w.o, from, to, n)
	if err != nil {
		return Result{}, nil, err
	}
	took := make([][]time.Duration, n)
	r, err := Measure(ctx, w.target, func(ctx context.Context) (int, error) {
		return to - from, Parallel(ctx, n, func(ctx context.Context, i int) (err error) {
			defer w.publishers[i].endWith(ctx)()
			took[i], err = lanes[i].publish(w.publishers[i], 0, lanes[i].len(), w.o.Pipeline)
			return err
		})
	})
	return r, took, err
}

// add adds another part of the same measurement.
func (r *Result) add(more Result) {
	r.Seconds += more.Seconds
	r.Count += more.Count
	r.ClientCPU += more.ClientCPU
	if r.Usage == nil || more.Usage == nil {
		return
	}
	first, second := *r.Usage, more.Usage
	per := (first.CPUPerOp*float64(r.Count-more.Count) + second.CPUPerOp*float64(more.Count)) / float64(max(r.Count, 1))
	r.Usage = &Usage{
		CPUUser: first.CPUUser + second.CPUUser, CPUSystem: first.CPUSystem + second.CPUSystem, CPUPerOp: per,
		RSSBefore: first.RSSBefore, RSSAfter: second.RSSAfter, RSSPeak: max(first.RSSPeak, second.RSSPeak),
	}
}

// pause waits.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
