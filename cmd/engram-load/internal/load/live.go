package load

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
)

const liveSub = "live"

// liveWorkload measures how fast one event reaches those who wait for it.
func liveWorkload() Workload {
	return Workload{
		Name: "live",
		Help: "publish notes one after the other at a given rate to connections with one subscription each, every second of which matches; " +
			"the latency is from the write of an event to its delivery, for each delivery",
		Unit:     "deliveries/s",
		Defaults: Options{Count: 300, Connections: 200, Warmup: 20, Rate: 100, Auth: AuthNever},
		Needs:    NeedsEmpty,
		run:      runLive,
	}
}

// runLive: o.Connections listeners, of which the even ones match; o.Warmup and
// then o.Count events at o.Rate a second. The author is a new one in every run,
// so that the relay may hold what it will.
func runLive(ctx context.Context, t Target, o Options) (Result, error) {
	if o.Rate == 0 {
		return Result{}, fmt.Errorf("%w: rate must be above 0", ErrOptions)
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	events, author, err := liveEvents(o)
	if err != nil {
		return Result{}, err
	}
	p := &pacer{ledger: newLedger(events), interval: time.Duration(float64(time.Second) / o.Rate), missing: missing}
	if p.lane, err = laneOf(o, events); err != nil {
		return Result{}, err
	}
	a, closeAll, err := liveAudience(ctx, t, o, p.ledger, author)
	defer closeAll()
	if err != nil {
		return Result{}, err
	}
	a.end = end
	if p.conn, err = Open(ctx, t, o, &author); err != nil {
		return Result{}, err
	}
	defer p.conn.Close()
	if err := a.subscribe(ctx); err != nil {
		return Result{}, err
	}
	a.listen()
	r, err := measureLive(ctx, t, o, p, a)
	if err != nil {
		// The first failure is the one that tells: others follow from it.
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		end(err)
		a.reading.Wait()
		return Result{}, err
	}
	return r, nil
}

// measureLive publishes and waits for the deliveries.
func measureLive(ctx context.Context, t Target, o Options, p *pacer, a *audience) (Result, error) {
	matching := a.matching()
	publish := func(from, to int) error {
		a.ledger.expect(int64(to) * int64(matching))
		if err := p.publish(ctx, from, to); err != nil {
			return err
		}
		return a.await(ctx)
	}
	if o.Warmup > 0 {
		if err := publish(0, o.Warmup); err != nil {
			return Result{}, err
		}
	}
	p.late = 0
	r, err := Measure(ctx, t, func(context.Context) (int, error) {
		return o.Count * matching, publish(o.Warmup, o.Warmup+o.Count)
	})
	if err != nil {
		return Result{}, err
	}
	if err := a.finish(ctx); err != nil {
		return Result{}, err
	}
	var samples [][]time.Duration
	unordered := 0
	for _, l := range a.listeners {
		if l.receipts != nil {
			samples = append(samples, l.receipts.samples[o.Warmup:])
			unordered += l.receipts.unordered
		}
	}
	r.Latency = NewLatency(samples...)
	ok := NewLatency(p.oks[o.Warmup:])
	r.Extra = map[string]float64{
		"events": float64(o.Count), "matching_connections": float64(matching),
		"ok_p50_us": ok.P50, "ok_p99_us": ok.P99,
		"publisher_late_us": micros(p.late), "unordered_deliveries": float64(unordered),
	}
	if r.Usage != nil {
		r.Extra["cpu_us_per_delivery"] = r.Usage.CPUPerOp
		r.Extra["cpu_us_per_event"] = r.Usage.CPUPerOp * float64(matching)
	}
	return r, nil
}

// liveEvents are signed notes of a new author, one second after the other until
// now.
func liveEvents(o Options) ([][]byte, Key, error) {
	now := o.Clock()
	stream := "live " + strconv.FormatInt(now.UnixNano(), 36)
	author, err := NewKey(o.Seed, stream, 0)
	if err != nil {
		return nil, Key{}, err
	}
	g := generator{seed: o.Seed, stream: stream}
	events := make([][]byte, o.Warmup+o.Count)
	for i := range events {
		ev, err := g.note(i, author, now.Unix()-int64(len(events)-1-i), nostr.Tags{}, "")
		if err != nil {
			return nil, Key{}, err
		}
		events[i] = wire.AppendEvent(nil, ev)
	}
	return events, author, nil
}

// laneOf returns what one connection publishes, from events in canonical JSON.
func laneOf(o Options, events [][]byte) (*lane, error) {
	l := &lane{}
	for _, event := range events {
		if err := l.add(o, event); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// liveAudience opens the connections. The even ones ask for the author's notes,
// the odd ones for those of somebody who writes none.
func liveAudience(ctx context.Context, t Target, o Options, l *ledger, author Key) (*audience, func(), error) {
	nobody, err := NewKey(o.Seed, "live nobody", 0)
	if err != nil {
		return nil, func() {}, err
	}
	readers, err := newKeys(o.Seed, "listener", o.Connections)
	if err != nil {
		return nil, func() {}, err
	}
	conns, closeAll, err := OpenAll(ctx, t, o, o.Connections, func(i int) *Key { return &readers[i] })
	if err != nil {
		return nil, closeAll, err
	}
	a := &audience{ledger: l, quiet: quiet, missing: missing, listeners: make([]*listener, len(conns))}
	for i, c := range conns {
		one := &listener{conn: c}
		by := nobody
		if i%2 == 0 {
			by, one.match, one.receipts = author, liveSub, newReceipts(l)
		}
		one.subs = []subscription{{liveSub, notesBy(by)}}
		a.listeners[i] = one
	}
	return a, closeAll, nil
}

func notesBy(k Key) string { return `{"kinds":[1],"authors":["` + k.Pub + `"]}` }

// matching returns how many listeners get each event.
func (a *audience) matching() (n int) {
	for _, l := range a.listeners {
		if l.receipts != nil {
			n++
		}
	}
	return n
}

// pacer publishes on one connection, one event after the other, each when it is
// due and whatever became of those before.
type pacer struct {
	conn     *Conn
	lane     *lane
	ledger   *ledger
	interval time.Duration
	missing  time.Duration

	late time.Duration   // the most that an event went out after it was due
	oks  []time.Duration // from publication to OK, by place
}

// publish sends the events from to to-1 and waits for the OK to each.
func (p *pacer) publish(ctx context.Context, from, to int) error {
	if p.oks == nil {
		p.oks = make([]time.Duration, len(p.ledger.events))
	}
	answered := make(chan error, 1)
	go func() { answered <- p.answers(from, to) }()
	err := p.send(ctx, from, to)
	if err != nil {
		p.conn.Close() // or the goroutine would wait for OKs that will not come
		return errors.Join(err, <-answered)
	}
	timer := time.NewTimer(p.missing)
	defer timer.Stop()
	select {
	case err := <-answered:
		return err
	case <-timer.C:
		p.conn.Close()
		<-answered
		return fmt.Errorf("%w: an OK is missing", ErrTimeout)
	}
}

func (p *pacer) send(ctx context.Context, from, to int) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	start := time.Now()
	for i := from; i < to; i++ {
		due := start.Add(time.Duration(i-from) * p.interval)
		timer.Reset(time.Until(due))
		select {
		case <-timer.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		p.late = max(p.late, time.Since(due))
		p.ledger.publishing(i)
		if err := p.conn.SendFrames(p.lane.slice(i, i+1)); err != nil {
			return err
		}
	}
	return nil
}

// answers takes one OK true for each of the events from to to-1, in any order.
func (p *pacer) answers(from, to int) error {
	for left := to - from; left > 0; {
		b, err := p.conn.Read()
		at := time.Now()
		if err != nil {
			return err
		}
		m, err := ParseMessage(b)
		if err != nil {
			return err
		}
		if m.Label != LabelOK {
			continue
		}
		i, known := p.ledger.place[string(m.ID)]
		if !known || i < from || i >= to || p.oks[i] != 0 {
			return fmt.Errorf("%w: an OK to %s, which waits for none", ErrWrong, printable(m.ID))
		}
		if !m.OK && strings.HasPrefix(unquoted(m.Text), "rate-limited:") {
			// Once more, and its time goes on. If the connection ends, reading says so.
			time.AfterFunc(firstPause, func() { _ = p.conn.SendFrames(p.lane.slice(i, i+1)) })
			continue
		}
		if !m.OK {
			return fmt.Errorf("%w: event %s: %s", ErrRefused, m.ID, printable(m.Text))
		}
		if strings.HasPrefix(unquoted(m.Text), "duplicate:") {
			return fmt.Errorf("%w: event %s", ErrHeld, m.ID)
		}
		if p.oks[i] = p.ledger.took(i, at); p.oks[i] <= 0 {
			return fmt.Errorf("%w: an OK to event %d before it was published", ErrWrong, i)
		}
		left--
	}
	return nil
}
