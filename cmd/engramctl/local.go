package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"engramd/internal/client"
	"engramd/internal/memory/localcopy"
	"engramd/internal/memory/localcopy/follow"
	"engramd/nips/nipae"
)

const (
	// copyBudget is how long an answer from the local copy waits for the relays
	// if nobody says, and the copy was whole before.
	copyBudget = 2 * time.Second
	// copyGrace is how much of that the others get once one relay was compared.
	copyGrace = 500 * time.Millisecond
	// openBudget is how long another process may keep the copy from being opened.
	openBudget = 3 * time.Second
)

// localCopy is what this machine keeps of a pair's memory, while it is open.
type localCopy struct {
	*localcopy.Mirror
	Follower *follow.Follower

	c     *client.Client
	m     *client.Memory
	found atomic.Bool      // the agent's own list of relays was looked for
	last  []follow.Outcome // of catchUp
	stop  func()           // ends keepCurrent; nil without it

	settled chan struct{} // closed by keepCurrent: see settle
	// changed is told of new heads that the follower finds; nil tells nobody. It
	// counts from the next follow.
	changed func()
}

// openCopy opens the local copy of a pair's memory; what is written from now on
// goes into it at once. Where there is no place for it, it lies in memory. It
// must be closed, before the client. warn is told what became of the file, in a
// line, at any time.
func (a *app) openCopy(ctx context.Context, c *client.Client, m *client.Memory, warn func(string)) (*localCopy, error) {
	l := &localCopy{c: c, m: m}
	l.found.Store(a.NoDiscovery)
	o, err := a.copyOptions()
	if o.Warn = warn; err == nil {
		soon, cancel := context.WithTimeout(ctx, a.Allow(openBudget))
		l.Mirror, err = localcopy.Open(soon, pairOf(m), o)
		cancel()
	}
	if err != nil && !o.NoDisk && ctx.Err() == nil {
		warn(fmt.Sprintf("nothing of the memory is kept on this machine: %v", err))
		l.Mirror, err = localcopy.Open(ctx, pairOf(m), localcopy.Options{NoDisk: true})
	}
	if err != nil {
		return nil, err
	}
	l.follow(a.log)
	a.wrote.Store(l)
	return l, nil
}

// follow makes the follower of the copy that is open.
func (l *localCopy) follow(log *slog.Logger) {
	all := follow.Of(l.c)
	store := follow.Store(l.Mirror)
	if l.changed != nil {
		store = tellingStore{l.Mirror, l.changed}
	}
	l.Follower = follow.New(follow.Options{Filter: nipae.ListFilter(l.m.Agent(), l.m.Owner()), Store: store, Log: log,
		Sources: func() ([]follow.Source, bool) {
			sources, whole := all()
			return sources, whole && l.found.Load()
		}})
}

func pairOf(m *client.Memory) localcopy.Pair {
	return localcopy.Pair{Agent: m.Agent(), Owner: m.Owner(), Conversation: m.Conversation(), Reversed: m.Reversed()}
}

// copyOptions say where local copies lie.
func (a *app) copyOptions() (localcopy.Options, error) {
	s, err := a.Settings()
	if err != nil {
		return localcopy.Options{}, err
	}
	o := localcopy.Options{NoDisk: a.Flags.NoMirror || s.NoMirror}
	if !o.NoDisk {
		o.Dir, err = a.cacheFolder()
	}
	return o, err
}

// cacheFolder is where local copies lie: XDG_CACHE_HOME, else what the system
// has for caches.
func (a *app) cacheFolder() (string, error) {
	if base := a.Vars["XDG_CACHE_HOME"]; filepath.IsAbs(base) {
		return filepath.Join(base, "engramd"), nil
	}
	base := under(a.Home(), ".cache")
	switch runtime.GOOS {
	case "windows":
		base = cmp.Or(a.Vars["LOCALAPPDATA"], base)
	case "darwin":
		base = under(a.Home(), "Library/Caches")
	}
	if base == "" {
		return "", errors.New("there is no folder for caches: set XDG_CACHE_HOME, or give --no-mirror")
	}
	return filepath.Join(base, "engramd"), nil
}

// Close ends the use of the copy.
func (l *localCopy) Close() error {
	if l.stop != nil {
		l.stop()
	}
	return l.Mirror.Close()
}

// withCopy runs do on a pair's local copy, caught up within a budget. 0 is what
// suits a person: copyBudget; while no relay was ever compared, and with --strict,
// the time limit. What did not come in time is in the copy's freshness: do is
// called all the same.
func (a *app) withCopy(ctx context.Context, budget time.Duration, do func(ctx context.Context, l *localCopy) error) error {
	c, m, err := a.open(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	l, err := a.openCopy(ctx, c, m, func(line string) { a.Note("%s", line) })
	if err != nil {
		return err
	}
	defer func() { _ = l.Close() }() // what was kept is kept; the rest comes again
	if err := a.catchUp(ctx, l, budget); err != nil {
		return err
	}
	return do(ctx, l)
}

// catchUp brings a copy up to date within a budget. Relays that hang are not
// waited for longer than others take, unless everything rests on all of them.
func (a *app) catchUp(ctx context.Context, l *localCopy, budget time.Duration) error {
	network, done := a.Bounded(ctx)
	defer done()
	ask := follow.Ask{Grace: a.Allow(copyGrace), Progress: a.Progress.Reach}
	if budget == 0 {
		fresh, err := l.Follower.Freshness(ctx)
		budget = a.Allow(copyBudget)
		if all := a.Flags.Strict || a.Patient; all || err != nil || fresh.Latest.IsZero() {
			budget = a.Flags.Timeout
			if ask.Grace = a.Allow(copyBudget); all {
				ask.Grace = 0
			}
		}
	}
	within, cancel := context.WithTimeout(network, budget)
	defer cancel()
	// What it fails with is what asking the relays fails with as well.
	_ = a.Discover(within, l.c, l.m.Agent())
	l.found.Store(true)
	var err error
	if l.last, err = l.Follower.CatchUp(within, ask); err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	// The disk may be full. The relays have everything.
	a.Note("the local copy is left alone: %v", err)
	_ = l.Mirror.Close()
	if l.Mirror, err = localcopy.Open(ctx, pairOf(l.m), localcopy.Options{NoDisk: true}); err != nil {
		return err
	}
	l.follow(a.log)
	l.last, err = l.Follower.CatchUp(network, ask)
	return cmp.Or(ctx.Err(), err)
}

// status is what became of the relays, as of any question to them.
func (l *localCopy) status(fresh localcopy.Freshness) client.Status {
	s := client.Status{Partial: fresh.Stale || fresh.Unfinished}
	for _, o := range l.last {
		s.Relays = append(s.Relays, client.RelayStatus{URL: o.URL, Err: o.Err, Events: o.Took, Complete: o.Err == nil})
	}
	s.Relays = append(s.Relays, l.c.Doubts()...)
	return s
}

// How often a server looks for the agent's own list of relays, and again where it
// may not have found the newest one.
const (
	findEvery = 15 * time.Minute
	findAgain = time.Minute
)

// keepCurrent follows the relays until the copy is closed. find looks for the
// agent's own list of relays, first of all and from time to time; nil does not.
// within is how long settle waits for the first comparison, from now.
func (l *localCopy) keepCurrent(ctx context.Context, find func(context.Context) error, within time.Duration) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	l.settled = make(chan struct{})
	running.Go(func() {
		defer close(l.settled)
		first, done := context.WithTimeout(ctx, within)
		defer done()
		l.Follower.Await(first, copyBudget)
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
			if len(l.c.Doubts()) > 0 {
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
		l.Follower.Run(ctx)
	})
	l.stop = func() {
		cancel()
		running.Wait()
	}
}

// settle waits until the relays that keepCurrent follows were compared for the
// first time, but for those that take much longer than others.
func (l *localCopy) settle(ctx context.Context) {
	select {
	case <-l.settled:
	case <-ctx.Done():
	}
}
