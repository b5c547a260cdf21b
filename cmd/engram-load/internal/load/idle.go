package load

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"
)

const (
	// idleBuffer is the first size of a connection's read buffer: of thousands.
	idleBuffer = 512
	// spareFiles are descriptors for everything but the connections.
	spareFiles = 64

	settleEvery = 250 * time.Millisecond
	settleFor   = 2 * time.Second  // without a change of more than settleShare
	settleMost  = 20 * time.Second // after which what is there counts
	settleShare = 0.005
)

// idleWorkload measures what a connection costs that does nothing.
func idleWorkload() Workload {
	return Workload{
		Name: "idle", Unit: "connections/s", Needs: NeedsEmpty, run: runIdle,
		Help: "open connections, each authenticated as another key and with one subscription, no compression, and look at the " +
			"relay's memory when it has settled (kib_per_connection); needs the pid, of a process that was idle until then",
		Defaults: Options{Count: 5000, Connections: 8, Warmup: 200, Auth: AuthRequire, Timeout: 5 * time.Minute},
	}
}

// runIdle: o.Count connections, o.Connections at work at once. o.Warmup others
// are opened and closed before the first look at the memory.
func runIdle(ctx context.Context, t Target, o Options) (Result, error) {
	if t.PID == 0 {
		return Result{}, fmt.Errorf("%w: the memory of a relay is seen with its pid only", ErrOptions)
	}
	most := max(o.Count, o.Warmup)
	if err := enoughFiles(most + spareFiles); err != nil {
		return Result{}, err
	}
	keys, err := idleKeys(ctx, o.Seed, most)
	if err != nil {
		return Result{}, err
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	if o.Warmup > 0 {
		warm := &crowd{target: t, o: o, keys: keys, end: end}
		if err := warm.open(ctx, o.Warmup); err != nil {
			return Result{}, errors.Join(err, warm.close())
		}
		if err := warm.close(); err != nil {
			return Result{}, err
		}
	}
	c := &crowd{target: t, o: o, keys: keys, end: end}
	r, err := c.measure(ctx)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause // the first failure; others follow from it
	}
	end(err)
	return r, errors.Join(err, c.close())
}

// crowd is many connections that do nothing. Each is read by a goroutine of its
// own, so that pings are answered and a close or an event is noticed.
type crowd struct {
	target Target
	o      Options
	keys   []Key
	end    context.CancelCauseFunc

	mu      sync.Mutex
	members []*listener
	reading sync.WaitGroup
}

func (c *crowd) measure(ctx context.Context) (Result, error) {
	before, err := settle(ctx, c.target.PID)
	if err != nil {
		return Result{}, err
	}
	r, err := Measure(ctx, c.target, func(ctx context.Context) (int, error) { return c.o.Count, c.open(ctx, c.o.Count) })
	if err != nil {
		return Result{}, err
	}
	opened, err := memoryOf(c.target.PID)
	if err != nil {
		return Result{}, err
	}
	after, err := settle(ctx, c.target.PID)
	if err != nil {
		return Result{}, err
	}
	// All must still be there: otherwise the memory is that of fewer.
	if err := c.askAll(); err != nil {
		return Result{}, err
	}
	if err := context.Cause(ctx); err != nil {
		return Result{}, err
	}
	if after.rss <= before.rss {
		return Result{}, fmt.Errorf("%w: the relay has less memory than before it had the connections: it must be a new process", ErrOptions)
	}
	per := func(kib int64) float64 { return float64(kib) / float64(c.o.Count) }
	r.Extra = map[string]float64{
		"kib_per_connection":           per(after.rss - before.rss),
		"anonymous_kib_per_connection": per(after.anonymous - before.anonymous),
		"opened_kib_per_connection":    per(opened.rss - before.rss), // before it settled
		"total_kib_per_connection":     per(after.rss),               // with what it has without them
	}
	r.RSSBefore, r.RSSAfter = before.rss, after.rss
	return r, nil
}

// open opens n connections with one subscription each: for what is addressed to
// the connection's key.
func (c *crowd) open(ctx context.Context, n int) error {
	workers := min(c.o.Connections, n)
	return Parallel(ctx, workers, func(inner context.Context, worker int) error {
		for i := worker; i < n; i += workers {
			if err := context.Cause(inner); err != nil {
				return err
			}
			if err := c.add(ctx, &c.keys[i]); err != nil {
				return fmt.Errorf("connection %d: %w", i+1, err)
			}
		}
		return nil
	})
}

func (c *crowd) add(ctx context.Context, k *Key) error {
	conn, err := OpenWith(ctx, c.target, c.o, k, DialOptions{Buffer: idleBuffer})
	if err != nil {
		return err
	}
	l := &listener{conn: conn, subs: []subscription{{liveSub, `{"kinds":[30174],"#p":["` + k.Pub + `"]}`}}}
	if err := l.subscribe(); err != nil {
		conn.Close()
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.members = append(c.members, l)
	c.reading.Go(func() {
		if err := l.listen(); err != nil {
			c.end(fmt.Errorf("an idle connection: %w", err))
		}
	})
	return nil
}

// askAll asks each connection a last question and waits for all answers.
func (c *crowd) askAll() error {
	for _, l := range c.members {
		if err := l.conn.Send([]byte(endQuestion)); err != nil {
			return err
		}
	}
	c.reading.Wait()
	return nil
}

// close ends the listeners and the connections.
func (c *crowd) close() error {
	for _, l := range c.members {
		// A member that is gone has told why.
		_ = l.conn.Send([]byte(endQuestion))
	}
	c.reading.Wait()
	var all error
	for _, l := range c.members {
		all = errors.Join(all, l.conn.Close())
	}
	c.members = nil
	return all
}

// idleKeys makes the keys on all cores: there are thousands.
func idleKeys(ctx context.Context, seed uint64, n int) ([]Key, error) {
	const workers = 4
	keys := make([]Key, n)
	return keys, Parallel(ctx, workers, func(ctx context.Context, worker int) (err error) {
		for i := worker; i < n && err == nil; i += workers {
			if err = context.Cause(ctx); err == nil {
				keys[i], err = NewKey(seed, "idle", i)
			}
		}
		return err
	})
}

// enoughFiles reports whether this process may open so many files. (Go raises
// the soft limit to the hard one by itself.)
func enoughFiles(n int) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("limit of open files: %w", err)
	}
	if limit.Max < uint64(n) {
		return fmt.Errorf("%w: %d files may be open and there must be %d: raise ulimit -n, here and for the relay", ErrOptions, limit.Max, n)
	}
	return nil
}

// settle waits until the memory of a process stays as it is, or settleMost is
// over.
func settle(ctx context.Context, pid int) (memory, error) {
	start := time.Now()
	last, err := memoryOf(pid)
	since := start
	for err == nil && time.Since(since) < settleFor && time.Since(start) < settleMost {
		if err := pause(ctx, settleEvery); err != nil {
			return memory{}, err
		}
		var now memory
		if now, err = memoryOf(pid); err == nil && !now.near(last) {
			last, since = now, time.Now()
		}
	}
	if err != nil {
		return memory{}, err
	}
	return memoryOf(pid)
}
