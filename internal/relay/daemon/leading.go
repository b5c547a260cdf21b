package daemon

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay"
	"engramd/nips/niptemp"
)

// begin runs something, and returns what ends it and waits for its end.
func begin(ctx context.Context, run func(context.Context)) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		run(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}

// changes tells any number of listeners that something changed. Its zero value
// is ready.
type changes struct {
	mu   sync.Mutex
	wait chan struct{} // closed by tell; nil while nobody listens
}

// next returns a channel that the next tell closes.
func (c *changes) next() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.wait == nil {
		c.wait = make(chan struct{})
	}
	return c.wait
}

// tell wakes all who listen.
func (c *changes) tell() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.wait != nil {
		close(c.wait)
		c.wait = nil
	}
}

// leadership says when this node of several does what one of them does for all:
// contracts' deadlines, the outbox, scheduled snapshots, following other relays.
// The zero value is a process that is alone, and does all of it all the time.
type leadership struct {
	leads   func() bool
	changed func() <-chan struct{}                    // a channel that is closed when leads may say something else than before the call (changes.next)
	lease   func(ctx context.Context) context.Context // what is written in it is void once another node leads; nil changes nothing
	events  *changes                                  // contract events were stored, by any node
}

// alone reports whether there is no other node.
func (l *leadership) alone() bool { return l.leads == nil }

// errKeysInCluster answers who would change keys that all nodes have.
var errKeysInCluster = errors.New("all nodes of a cluster have this key: leave with one node, change it there, and begin again (docs/cluster.md)")

// aloneOnly refuses what cannot be done on a node of several.
func (l *leadership) aloneOnly() error {
	if !l.alone() {
		return errKeysInCluster
	}
	return nil
}

// here reports whether this process does what one does for all.
func (l *leadership) here() bool { return l.alone() || l.leads() }

// while runs what only one of several nodes may do: while leads says that this
// node is the one, until ctx ends. run's context ends when it no longer is, and
// run is called again, when it has returned, if it is once more. A process that is
// alone simply runs it.
func (l *leadership) while(ctx context.Context, run func(context.Context)) {
	if l.alone() {
		run(ctx)
		return
	}
	end := func() {}
	defer func() { end() }()
	for leading := false; ctx.Err() == nil; {
		next := l.changed() // first: a change behind the look below closes it
		switch now := l.leads(); {
		case now && !leading:
			leading, end = true, begin(ctx, func(ctx context.Context) {
				if l.lease != nil {
					ctx = l.lease(ctx)
				}
				run(ctx)
			})
		case !now && leading:
			end()
			leading, end = false, func() {}
		}
		select {
		case <-ctx.Done():
		case <-next:
		}
	}
}

// watch has the relay tell of contract events, whichever node took them. Call it
// before the relay is attached.
func (l *leadership) watch(r *relay.Relay) {
	if l.alone() {
		return
	}
	l.events = new(changes)
	r.Hooks.OnEventSaved = append(r.Hooks.OnEventSaved, func(_ context.Context, ev *nostr.Event) {
		if ev.Kind == niptemp.KindEntry || ev.Kind == niptemp.KindState {
			l.events.tell()
		}
	})
}

// rousedEvery is how soon work is seen that another node left without an event.
const rousedEvery = 2 * time.Second

// rousing calls rouse whenever other nodes may have left work to do, until ctx
// ends or the function that it returns was called. A process that is alone knows
// its own work.
func (l *leadership) rousing(ctx context.Context, rouse func()) (end func()) {
	if l.alone() {
		return func() {}
	}
	return begin(ctx, func(ctx context.Context) {
		due := time.NewTicker(rousedEvery)
		defer due.Stop()
		for {
			next := l.events.next()
			rouse()
			select {
			case <-ctx.Done():
				return
			case <-next:
			case <-due.C:
			}
		}
	})
}
