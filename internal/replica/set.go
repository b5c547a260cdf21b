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
	cancel   context.CancelFunc
	done     chan struct{}
}

// NewSet makes an empty set; make makes a follower, and fails if its key or its
// filter cannot be read.
func NewSet(make func(number int, s Spec) (*Follower, error)) *Set {
	s := &Set{make: make, running: map[identity]*run{}}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
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
			r = s.start(f)
		}
		next[id], order = r, append(order, r)
	}
	for id, r := range s.running {
		if next[id] == nil {
			r.cancel()
			<-r.done
		}
	}
	s.running, s.order = next, order
}

func (s *Set) start(f *Follower) *run {
	ctx, cancel := context.WithCancel(s.ctx)
	r := &run{f, cancel, make(chan struct{})}
	go func() {
		defer close(r.done)
		f.Run(ctx)
	}()
	return r
}

// Status is where each stands, in the order of the configuration.
func (s *Set) Status() (all []Status) {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
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
		<-r.done
	}
}
