package memlimit

import (
	"bytes"
	"context"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Pressure is the share of the limit above which the process is pressed.
const Pressure = 0.9

// every is the time between two looks: clients can fill a hundred megabytes in
// the second after which garbage may be collected only to see how much is left.
const (
	every       = 100 * time.Millisecond
	collectEach = 10 // looks
)

// Usage is what the process has, in bytes.
type Usage struct {
	Live  int64 // Go's objects that the last collection found in use
	Other int64 // stacks and the runtime's own
	Go    int64 // all that Go has mapped, garbage and reserves included
	Anon  int64 // all that the process has for itself; 0 where it cannot be told

	Collections int64 // so far
}

// Foreign returns what C has allocated.
func (u Usage) Foreign() int64 { return max(0, u.Anon-u.Go) }

// Needed returns what no collection could free.
func (u Usage) Needed() int64 { return u.Live + u.Other + u.Foreign() }

// Options are how a Watch is made; zero fields are the process itself.
type Options struct {
	// Fixed says that Go's limit was set from outside (GOMEMLIMIT): it is left as
	// it is, and what is in use is held against it.
	Fixed    bool
	Read     func() Usage
	SetLimit func(int64) int64 // as debug.SetMemoryLimit
	Collect  func()            // as runtime.GC
}

// Watch looks at the memory of the process. Make one with New.
type Watch struct {
	fixed    bool
	read     func() Usage
	setLimit func(int64) int64
	collect  func()

	mu          sync.Mutex
	collections int64 // at the last look

	limit   atomic.Int64
	needed  atomic.Int64
	pressed atomic.Bool
}

// New sets a limit in bytes, 0 for none, and looks for the first time. Run
// keeps looking.
func New(limit int64, o Options) *Watch {
	w := &Watch{fixed: o.Fixed, read: o.Read, setLimit: o.SetLimit, collect: o.Collect}
	if w.read == nil {
		w.read = read
	}
	if w.setLimit == nil {
		w.setLimit = debug.SetMemoryLimit
	}
	if w.collect == nil {
		w.collect = runtime.GC
	}
	w.SetLimit(limit)
	return w
}

// SetLimit replaces the limit, unless it was set from outside.
func (w *Watch) SetLimit(limit int64) {
	switch {
	case w.fixed:
		limit = w.setLimit(-1)
	case limit <= 0:
		limit = math.MaxInt64
	}
	w.limit.Store(limit)
	w.look()
}

// Run looks ten times a second until ctx ends.
func (w *Watch) Run(ctx context.Context) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			w.see(n%collectEach == 0)
		}
	}
}

// look takes what C has off Go's limit, of which at least half remains, and
// sees whether the process is pressed. Then little is served and little garbage
// made: if nothing was collected since the last look, it is now, so that it is
// seen when the pressure is gone.
func (w *Watch) look() { w.see(true) }

// see is look; collections go on being compared with those of the last look
// that might collect.
func (w *Watch) see(mayCollect bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	u, limit := w.read(), w.limit.Load()
	if mayCollect {
		if pressed(u, limit) && u.Collections == w.collections {
			w.collect()
			u = w.read()
		}
		w.collections = u.Collections
	}
	w.needed.Store(u.Needed())
	w.pressed.Store(pressed(u, limit))
	if w.fixed {
		return
	}
	if limit != math.MaxInt64 {
		limit = max(limit-u.Foreign(), limit/2)
	}
	w.setLimit(limit)
}

func pressed(u Usage, limit int64) bool { return float64(u.Needed()) > Pressure*float64(limit) }

// Pressed reports whether more is in use than nine tenths of the limit.
func (w *Watch) Pressed() bool { return w.pressed.Load() }

// Limit returns the limit in bytes, 0 for none.
func (w *Watch) Limit() int64 {
	if limit := w.limit.Load(); limit != math.MaxInt64 {
		return limit
	}
	return 0
}

// Needed returns what was in use at the last look, in bytes.
func (w *Watch) Needed() int64 { return w.needed.Load() }

// The metrics of the runtime that a Usage is made of.
var names = []string{
	"/gc/heap/live:bytes", "/memory/classes/total:bytes", "/memory/classes/heap/released:bytes",
	"/memory/classes/heap/objects:bytes", "/memory/classes/heap/free:bytes", "/memory/classes/heap/unused:bytes",
	"/gc/cycles/total:gc-cycles",
}

func read() Usage {
	samples := make([]metrics.Sample, len(names))
	for i, name := range names {
		samples[i].Name = name
	}
	metrics.Read(samples)
	var v [7]int64
	for i := range samples {
		if samples[i].Value.Kind() == metrics.KindUint64 {
			v[i] = int64(samples[i].Value.Uint64())
		}
	}
	live, total, released, objects, free, unused := v[0], v[1], v[2], v[3], v[4], v[5]
	return Usage{Live: live, Other: total - released - objects - free - unused, Go: total - released, Anon: anonymous(), Collections: v[6]}
}

// anonymous returns what the process has in memory that no file stands behind,
// as Linux says; 0 where it does not.
func anonymous() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	return anonIn(status)
}

// anonIn finds RssAnon in a status file of proc(5), which is in kB.
func anonIn(status []byte) int64 {
	_, rest, found := bytes.Cut(status, []byte("\nRssAnon:"))
	if !found {
		return 0
	}
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	n, err := strconv.ParseInt(string(bytes.TrimSpace(bytes.TrimSuffix(bytes.TrimSpace(line), []byte("kB")))), 10, 64)
	if err != nil {
		return 0
	}
	return n << 10
}
