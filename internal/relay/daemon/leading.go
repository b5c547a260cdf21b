package daemon

import (
	"context"
	"sync"
)

// whileLeading runs what only one of several nodes may do: while leads says that
// this node is the one, until ctx ends. run's context ends when it no longer is,
// and run is called again, when it has returned, if it is once more. changed
// returns a channel that is closed when leads may say something else than before
// the call (changes.next). A nil leads is a process that is alone: then run is
// simply run.
func whileLeading(ctx context.Context, leads func() bool, changed func() <-chan struct{}, run func(context.Context)) {
	if leads == nil {
		run(ctx)
		return
	}
	end := func() {}
	defer func() { end() }()
	for leading := false; ctx.Err() == nil; {
		next := changed() // first: a change behind the look below closes it
		switch now := leads(); {
		case now && !leading:
			leading, end = true, begin(ctx, run)
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
