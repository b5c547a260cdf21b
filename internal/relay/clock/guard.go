// Package clock says whether the relay's clock may be gone by: a clock that is
// wrong for seconds must not remove, or decide, what does not come back. It is
// believed as long as it agrees with an anchor: a time at which it was believed,
// carried on by a clock of the machine that nobody sets.
package clock

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

const (
	hour   = int64(time.Hour / time.Second)
	jump   = hour          // by more than so much the clock was set, and did not run
	gap    = 7 * 24 * hour // after more than so much without a run, an anchor says nothing
	needed = 24            // hours in which a clock that nothing else confirms must run
	every  = 10 * time.Second
)

// Machine is what the machine knows of time beside its clock.
type Machine interface {
	// Boot names this run of the machine, and says how long it has lasted, sleep
	// included.
	Boot() (name string, lasted time.Duration)
	// Synchronised is the machine's own time, if the machine says that it is
	// synchronised with others.
	Synchronised() (now time.Time, ok bool)
}

// Options say how a Guard works. Now and Machine are required.
type Options struct {
	Path    string           // of the file of the anchor; "" keeps none
	Now     func() time.Time // the relay's clock
	Machine Machine
	Log     *slog.Logger // nil discards
	Jumped  func()       // told of each jump; nil is not
}

// Guard says whether the clock is confirmed. Its methods may be called from many
// goroutines. Nothing is confirmed before Open.
type Guard struct {
	o Options

	mu      sync.Mutex
	opened  bool
	expects bool // the anchor was read, and is not opened yet
	state   state
	written int64 // when the file was, by the machine's run
	counted int64 // up to when hours were counted, the same
	jumps   int
	unsaved bool // the file could not be written, and that was said
}

// state is what outlives the process.
type state struct {
	Anchor  point  `json:"anchor"`            // when the clock was believed last
	Newest  int64  `json:"newest"`            // the latest time at which it was, and at which something arrived
	Doubted *point `json:"doubted,omitempty"` // the clock that is not believed; nil: it is
	Hours   int64  `json:"hours,omitempty"`   // it has run for so many
}

// point is one moment, by the clock and by the run of the machine.
type point struct {
	Clock  int64  `json:"clock"`  // Unix seconds
	Lasted int64  `json:"lasted"` // seconds of the run
	Boot   string `json:"boot"`   // which run
}

// expects is the clock's time at a later moment, if it runs as it did; known is
// false where that is of another run.
func (p point) expects(later point) (at int64, known bool) {
	return p.Clock + later.Lasted - p.Lasted, p.Boot == later.Boot
}

// allows reports whether the clock at a later moment agrees with this one. Where the
// machine does not name its runs, one that goes on as this did is the same.
func (p point) allows(later point) bool {
	at, known := p.expects(later)
	agrees := later.Clock-at <= jump && at-later.Clock <= jump
	if known || agrees && later.Lasted >= p.Lasted {
		return agrees
	}
	return later.Clock >= p.Clock-jump && later.Clock <= p.Clock+gap
}

// New makes a Guard.
func New(o Options) *Guard {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Jumped == nil {
		o.Jumped = func() {}
	}
	return &Guard{o: o}
}

// Expect reads the anchor of a node that does not know the log's time yet: until Open
// it judges other clocks (Trusts), and confirms nothing. What newest means see there.
func (g *Guard) Expect(newest int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.load() {
		g.state = state{Anchor: point{Clock: newest}, Newest: newest}
	}
	g.expects = true
}

// Open reads the anchor. Without one it is the newest arrival in the database, in
// Unix seconds; an empty database, 0, confirms every clock.
func (g *Guard) Open(newest int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now, found := g.now(), g.load()
	switch {
	case found && newest <= g.state.Newest+hour: // of between two hours; later than that it came by a clock that nobody believed
		g.state.Newest = max(g.state.Newest, newest)
	case found:
	case newest == 0:
		g.state = state{Anchor: now, Newest: now.Clock}
	default:
		g.state = state{Anchor: point{Clock: newest}, Newest: newest}
	}
	g.opened, g.expects, g.written, g.counted = true, false, now.Lasted, now.Lasted
	if g.look() {
		g.save()
	} else if g.jumps == 0 {
		g.o.Log.Info("the clock is not confirmed yet", "hours", g.state.Hours, "of", needed)
	}
}

// Run looks at the clock until ctx ends, and keeps the anchor. after is
// time.After outside of tests.
func (g *Guard) Run(ctx context.Context, after func(time.Duration) <-chan time.Time) {
	for {
		select {
		case <-ctx.Done():
			g.Close()
			return
		case <-after(every):
			g.Confirmed()
		}
	}
}

// Close keeps the anchor where it is now.
func (g *Guard) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.opened && g.look() {
		g.save()
	}
}

// Confirmed reports whether the clock may be gone by now. Whoever does goes by a
// time that he took before he asked: a clock that was set in between is noticed.
func (g *Guard) Confirmed() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.opened && g.look()
}

// Trusts reports whether another clock than the relay's, the machine's of a node that
// goes by the log's, agrees with the anchor or with a machine that is synchronised.
// Nothing is noted of it.
func (g *Guard) Trusts(clock time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	now, anchor := g.moment(clock), g.state.Anchor
	switch {
	case g.expects && anchor.Clock == 0: // an empty database
		return true
	case !g.expects && !g.opened:
		return false
	}
	return anchor.allows(now) || g.synchronised(now)
}

func (g *Guard) now() point { return g.moment(g.o.Now()) }

func (g *Guard) moment(clock time.Time) point {
	name, lasted := g.o.Machine.Boot()
	return point{clock.Unix(), int64(lasted / time.Second), name}
}

// synchronised reports whether the machine says so of a clock: a process may have
// another than its machine, and a node has the log's.
func (g *Guard) synchronised(now point) bool {
	at, ok := g.o.Machine.Synchronised()
	return ok && at.Unix()-now.Clock <= jump && now.Clock-at.Unix() <= jump
}

// look judges the clock as it is now.
func (g *Guard) look() bool {
	now := g.now()
	if g.state.Anchor.allows(now) {
		back := g.state.Doubted != nil
		if back {
			g.o.Log.Info("the clock agrees with what is known of the time again, and is confirmed")
		}
		g.state = state{Anchor: now, Newest: max(g.state.Newest, now.Clock)}
		if back || now.Lasted-g.written >= hour {
			g.save()
		}
		return true
	}
	synchronised := g.synchronised(now)
	if g.state.Doubted == nil || !g.state.Doubted.allows(now) {
		g.doubt(now, synchronised)
	}
	if n := (now.Lasted - g.counted) / hour; n > 0 {
		g.counted += n * hour
		g.state.Hours, g.state.Doubted = g.state.Hours+n, &now
		g.save()
	}
	switch {
	case synchronised:
		g.confirm(now, "the system says that its clock is synchronised")
	case g.state.Hours >= needed:
		g.confirm(now, "it has run for a day")
	default:
		return false
	}
	return true
}

// doubt begins to disbelieve a clock. A machine that was off for long, and whose
// clock is synchronised, is nothing to warn of.
func (g *Guard) doubt(now point, synchronised bool) {
	first, was := g.state.Doubted == nil, g.state.Anchor
	g.state.Doubted, g.state.Hours, g.counted = &now, 0, now.Lasted
	expected, known := was.expects(now)
	if !known {
		expected = was.Clock
	}
	if first && synchronised && !known && now.Clock > was.Clock {
		return
	}
	g.jumps++
	g.o.Jumped()
	g.o.Log.Warn("the clock is not what was expected: until it is confirmed, nothing is removed by age and no deadline is decided (engramd clock accept, docs/operating.md)",
		"clock", text(now.Clock), "expected", text(expected))
	g.save()
}

func text(at int64) string { return time.Unix(at, 0).UTC().Format(time.RFC3339) }

// confirm begins to believe the clock as it is. What arrived later by another one
// counts no more.
func (g *Guard) confirm(now point, why string) {
	g.o.Log.Info("the clock is confirmed", "clock", text(now.Clock), "because", why)
	g.state = state{Anchor: now, Newest: now.Clock}
	g.save()
}

// Accept believes the clock as it is, by the operator's word.
func (g *Guard) Accept() (Status, error) {
	g.mu.Lock()
	if !g.opened {
		g.mu.Unlock()
		return Status{}, errors.New("the relay is starting")
	}
	g.confirm(g.now(), "engramd clock accept")
	failed := g.unsaved
	g.mu.Unlock()
	if failed {
		return g.Status(), errors.New("the clock is accepted until the relay ends: its file cannot be written")
	}
	return g.Status(), nil
}

// Behind is by how much the clock is behind the latest time that is known; 0 or
// less: it is not.
func (g *Guard) Behind() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.opened || g.look() && g.state.Newest <= g.state.Anchor.Clock {
		return 0
	}
	return time.Duration(g.state.Newest-g.now().Clock) * time.Second
}

// Status is what is told of the clock.
type Status struct {
	Confirmed bool      `json:"confirmed"`
	Now       time.Time `json:"now"`
	Known     time.Time `json:"known"` // the latest time at which it was confirmed
	Hours     int64     `json:"hours"` // that it has run since it is not, of Needed
	Needed    int64     `json:"needed"`
	Jumps     int       `json:"jumps"` // since the start
}

// Status tells of the clock.
func (g *Guard) Status() Status {
	confirmed := g.Confirmed()
	g.mu.Lock()
	defer g.mu.Unlock()
	return Status{
		confirmed, g.o.Now().UTC().Truncate(time.Second), time.Unix(g.state.Newest, 0).UTC(), g.state.Hours, needed, g.jumps,
	}
}
