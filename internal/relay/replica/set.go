package replica

import (
	"context"
	"sync"
)

// Set runs a follower for each relay that is configured. Make it with NewSet.
type Set struct {
	ctx  context.Context
	stop context.CancelFunc
	make func(number int, s Spec) (*Follower, error)

	mu      sync.Mutex
	closed  bool
	follows context.Context // what runs ends with it; nil while nothing is followed
	running map[identity]*run
	order   []*run
}

// identity is what a follower is kept by when the configuration is read again.
type identity struct {
	number int
	spec   Spec
	pubkey string
}

type run struct {
	follower *Follower
	cancel   context.CancelFunc // nil before the first start
	done     chan struct{}
}

// end waits until the follower, if it was ever started, does nothing more.
func (r *run) end() {
	if r.cancel != nil {
		r.cancel()
		<-r.done
	}
}

// NewSet makes an empty set; make makes a follower, and fails if its key or its
// filter cannot be read.
func NewSet(make func(number int, s Spec) (*Follower, error)) *Set {
	s := &Set{make: make, running: map[identity]*run{}}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.follows = s.ctx
	return s
}

// Hold has the set follow nothing but while Follow runs: where several nodes
// hold the same memory, one of them follows for all. Call it before what Prepare
// returns.
func (s *Set) Hold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.follows = nil
}

// Follow follows what is configured until ctx ends, or Close is called, and
// returns when nothing more is done. It goes on from what the store says was
// followed, by whichever node.
func (s *Set) Follow(ctx context.Context) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	s.follows = ctx
	for _, r := range s.order {
		s.start(r)
	}
	s.mu.Unlock()
	select {
	case <-ctx.Done():
	case <-s.ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.follows = nil
	for _, r := range s.order {
		r.end()
	}
}

// Prepare makes what the specs ask for, and returns what puts it into force:
// those that are new are started, and those that are gone are ended. What did
// not change goes on.
func (s *Set) Prepare(specs []Spec) (apply func(), err error) {
	followers := make([]*Follower, len(specs))
	for i, spec := range specs {
		if followers[i], err = s.make(i+1, spec); err != nil {
			return nil, err
		}
	}
	return func() { s.apply(followers) }, nil
}

func (s *Set) apply(followers []*Follower) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	next, order := map[identity]*run{}, make([]*run, 0, len(followers))
	for _, f := range followers {
		id := identity{f.o.Number, f.o.Spec, f.o.PubKey}
		r := s.running[id]
		if r == nil {
			r = &run{follower: f}
			if s.follows != nil {
				s.start(r)
			}
		}
		next[id], order = r, append(order, r)
	}
	for id, r := range s.running {
		if next[id] == nil {
			r.end()
		}
	}
	s.running, s.order = next, order
}

func (s *Set) start(r *run) {
	ctx, cancel := context.WithCancel(s.follows)
	done := make(chan struct{})
	r.cancel, r.done = cancel, done
	go func() {
		defer close(done)
		r.follower.Run(ctx)
	}()
}

// Status is where each stands, in the order of the configuration; none while
// nothing is followed here.
func (s *Set) Status() (all []Status) {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.follows == nil {
		return nil
	}
	for _, r := range s.order {
		all = append(all, r.follower.Status())
	}
	return all
}

// Close ends all of them, and waits until nothing of theirs is on its way into
// the store.
func (s *Set) Close() {
	if s == nil {
		return
	}
	s.stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, r := range s.running {
		r.end()
	}
}
