package session

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/memory/localcopy"
	"engramd/internal/memory/localcopy/follow"
	"engramd/internal/memory/recall/answer"
	"engramd/nips/nipae"
)

const (
	// copyBudget is how long an answer from the local copy waits for the relays
	// if nobody says, and the copy was whole before.
	copyBudget = 2 * time.Second
	// CopyGrace is how much of that the others get once one relay was compared.
	CopyGrace = 500 * time.Millisecond
	// OpenBudget is how long another process may keep a file from being opened.
	OpenBudget = 3 * time.Second
)

// Copy is what this machine keeps of a pair's memory, while it is open.
type Copy struct {
	*localcopy.Copy
	Follower *follow.Follower

	said    *localcopy.Copy  // what the owner proposes; nil where that is not known
	hearing *follow.Follower // keeps said up to date

	s     *Session
	found atomic.Bool      // the agent's own list of relays was looked for
	last  []follow.Outcome // of CatchUp
	depth follow.Depth     // of CatchUp
	stop  func()           // ends KeepCurrent; nil without it
	knows *client.Status   // what this machine knows beside relays that a person named; nil where none is

	settled chan struct{} // closed by KeepCurrent: see Settle
	changed func()        // see Tell
}

// Tell has changed told of new heads that are found from now on.
func (l *Copy) Tell(changed func()) {
	l.changed = changed
	l.follow()
}

// follow makes the follower of the copy that is open.
func (l *Copy) follow() {
	store := follow.Store(l.Copy)
	if l.changed != nil {
		store = tellingStore{l.Copy, l.changed}
	}
	o := follow.Options{Filter: nipae.ListFilter(l.s.Memory.Agent(), l.s.Memory.Owner()), Store: store, Clock: l.s.o.Client.Clock, Log: l.s.o.Log,
		Passed:  func(ctx context.Context, full bool) { l.s.settler.settle(ctx, l.Copy, full) },
		Sources: l.sources}
	if l.knows != nil {
		o.Passed = nil // nothing is laid over what is shown
	}
	l.Follower = follow.New(o)
}

// sources are the relays that are followed.
func (l *Copy) sources() ([]follow.Source, bool) {
	sources, whole := follow.Of(l.s.Client)()
	return sources, whole && l.found.Load()
}

// named makes a copy of what relays show that a person named for this one question. It is
// in memory: the one on disk has what others show.
func (c *Copies) named(ctx context.Context) (*Copy, error) {
	kept, err := localcopy.Open(ctx, c.pair(), localcopy.Options{NoDisk: true})
	if err != nil {
		return nil, err
	}
	l := &Copy{Copy: kept, s: c.s, knows: &client.Status{}}
	l.follow()
	return l, nil
}

// beside asks what this machine knows beside what the copy has.
func (l *Copy) beside(ctx context.Context) error {
	lasts, err := l.Newest(ctx)
	var shown []*nostr.Event
	for _, last := range lasts {
		if at, ok, err := l.At(ctx, last.D); err == nil && ok && at.Event != nil {
			shown = append(shown, at.Event)
		}
	}
	if err == nil {
		*l.knows = l.s.Memory.Besides(ctx, shown, client.Status{})
	}
	return err
}

// Close ends the use of the copy.
func (l *Copy) Close() error {
	if l.stop != nil {
		l.stop()
	}
	l.s.Copies.open.CompareAndSwap(l, nil)
	if l.said != nil {
		_ = l.said.Close() // what was kept is kept
	}
	return l.Copy.Close()
}

// Source is what recall and search read: what waits on this machine too, and what the
// owner says.
func (l *Copy) Source() answer.Source {
	return heard(l.s, l.s.Outbox.over(l.Confirmed(), l.s.Outbox.state), l.Copy, l.said, l.s.Outbox.state)
}

// Confirmed is what relays have, as far as it is here.
func (l *Copy) Confirmed() answer.Source {
	return answer.Local(l.Copy, func() ([]string, bool) {
		relays, whole := l.Follower.Relays()
		return relays, whole && (l.knows != nil || l.s.settler.lacks() == nil)
	})
}

// WithCopy runs do on the pair's local copy, caught up within a budget: see CatchUp.
// What did not come in time is in the copy's freshness: do is called all the same.
func (s *Session) WithCopy(ctx context.Context, budget time.Duration, do func(ctx context.Context, l *Copy) error) error {
	if s.o.Client.Named {
		l, err := s.Copies.named(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = l.Close() }() // it was in memory
		if err := l.CatchUp(ctx, budget); err != nil {
			return err
		}
		if l.Answered() {
			if err := l.beside(ctx); err != nil {
				return err
			}
			return do(ctx, l)
		}
		budget = s.allow(CopyGrace) // nobody answered: the copy does, and says so
	}
	l, err := s.Copies.Open(ctx, s.o.Note)
	if err != nil {
		return err
	}
	defer func() { _ = l.Close() }() // what was kept is kept; the rest comes again
	if err := l.CatchUp(ctx, budget); err != nil {
		return err
	}
	return do(ctx, l)
}

// CatchUp brings the copy up to date within a budget. 0 is what suits a person:
// copyBudget; while no relay was ever compared, and where all are waited for, the
// time limit. Relays that hang are not waited for longer than others take, unless
// everything depends on all of them.
func (l *Copy) CatchUp(ctx context.Context, budget time.Duration) error {
	network, done := l.s.o.Bound(ctx)
	defer done()
	ask := follow.Ask{Grace: l.s.allow(CopyGrace), Progress: l.s.o.Progress, Depth: l.depth}
	if budget == 0 {
		fresh, err := l.Follower.Freshness(ctx)
		budget = l.s.allow(copyBudget)
		if l.s.o.All || err != nil || fresh.Latest.IsZero() {
			budget = l.s.o.Timeout
			if ask.Grace = l.s.allow(copyBudget); l.s.o.All {
				ask.Grace = 0
			}
		}
	}
	within, cancel := context.WithTimeout(network, budget)
	defer cancel()
	// Where it fails, asking the relays fails too.
	_ = l.s.Discover(within)
	l.found.Store(true)
	defer l.hear(within, ask)()
	var err error
	if l.last, err = l.Follower.CatchUp(within, ask); err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	// The disk may be full. The relays have everything.
	l.s.note("the local copy is left alone: %v", err)
	_ = l.Copy.Close()
	if l.Copy, err = localcopy.Open(ctx, l.s.Copies.pair(), localcopy.Options{NoDisk: true}); err != nil {
		return err
	}
	l.follow()
	l.last, err = l.Follower.CatchUp(network, ask)
	return cmp.Or(ctx.Err(), err)
}

// Asked has the copy compared with the relays as they are known now, as long as ctx
// lasts. What does not come is stale.
func (l *Copy) Asked(ctx context.Context) {
	ask := follow.Ask{Grace: l.s.allow(CopyGrace)}
	defer l.hear(ctx, ask)()
	_, _ = l.Follower.CatchUp(ctx, ask)
}

// Found says that the agent's own list of relays was looked for.
func (l *Copy) Found() { l.found.Store(true) }

// Answered reports whether a relay was compared by the last CatchUp.
func (l *Copy) Answered() bool {
	return slices.ContainsFunc(l.last, func(o follow.Outcome) bool { return o.Err == nil })
}

// State says how far the copy can be trusted.
func (l *Copy) State(ctx context.Context) (state answer.State, err error) {
	err = l.Source().Read(ctx, func(v answer.View) error { state = v.State(); return nil })
	return state, err
}

// Status is what became of the relays, as of any question to them.
func (l *Copy) Status(as answer.State) client.Status {
	s := client.Status{Partial: as.Stale || as.Unfinished, Behind: as.Behind, Withheld: as.Withheld, BehindAt: as.BehindAt}
	if k := l.knows; k != nil {
		s.Named, s.Behind, s.BehindAt, s.Removed = k.Named, k.Behind, k.BehindAt, k.Removed
		s.Unknown, s.Partial = k.Unknown, s.Partial || k.Unknown != nil
	} else if err := l.s.settler.lacks(); err != nil {
		s.Unknown, s.Partial = err, true
	}
	for _, o := range l.last {
		s.Relays = append(s.Relays, client.RelayStatus{URL: o.URL, Err: o.Err, Events: o.Took, Complete: o.Err == nil})
	}
	s.Relays = append(s.Relays, l.s.Client.Doubts()...)
	return s
}

// How often a server looks for the agent's own list of relays, and again where it
// may not have found the newest one.
const (
	findEvery = 15 * time.Minute
	findAgain = time.Minute
)

// KeepCurrent follows the relays until the copy is closed. find looks for the
// agent's own list of relays, first of all and from time to time; nil does not.
// Settle waits for the first comparison for Options.Timeout from now.
func (l *Copy) KeepCurrent(ctx context.Context, find func(context.Context) error) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	l.settled = make(chan struct{})
	running.Go(func() {
		defer close(l.settled)
		first, done := context.WithTimeout(ctx, l.s.o.Timeout)
		defer done()
		l.Follower.Await(first, copyBudget)
		if l.hearing != nil {
			l.hearing.Await(first, copyBudget)
		}
	})
	found := make(chan struct{})
	running.Go(func() {
		defer close(found)
		for first := true; find != nil && ctx.Err() == nil; first = false {
			_ = find(ctx) // the relays' doubts say why
			if l.found.Store(true); first {
				found <- struct{}{}
			}
			pause := findEvery
			if len(l.s.Client.Doubts()) > 0 {
				pause = findAgain
			}
			select {
			case <-time.After(pause):
			case <-ctx.Done():
			}
		}
	})
	running.Go(func() {
		<-found
		if l.hearing != nil {
			running.Go(func() { l.hearing.Run(ctx) })
		}
		l.Follower.Run(ctx)
	})
	l.stop = func() {
		cancel()
		running.Wait()
	}
}

// Settle waits until the relays that KeepCurrent follows were compared for the
// first time, but for those that take much longer than others.
func (l *Copy) Settle(ctx context.Context) {
	select {
	case <-l.settled:
	case <-ctx.Done():
	}
}

// tellingStore is a local copy that tells when something in it changed.
type tellingStore struct {
	*localcopy.Copy
	tell func()
}

// Put tells of new heads.
func (s tellingStore) Put(ctx context.Context, relay string, events []*nostr.Event) (localcopy.Changes, error) {
	return s.told(s.Copy.Put(ctx, relay, events))
}

// Lost tells of heads that went.
func (s tellingStore) Lost(ctx context.Context, relay string, ids [][32]byte) (localcopy.Changes, error) {
	return s.told(s.Copy.Lost(ctx, relay, ids))
}

func (s tellingStore) told(c localcopy.Changes, err error) (localcopy.Changes, error) {
	if c.Heads > 0 {
		s.tell()
	}
	return c, err
}
