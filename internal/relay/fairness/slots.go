package fairness

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// Why Slots give no place.
var (
	// ErrCrowded means that too many wait already, of this share or in all.
	ErrCrowded = errors.New("too many are waiting")
	// ErrPatience means that no place came free in time.
	ErrPatience = errors.New("no place came free in time")
)

// SlotLimits bound what Slots lend. Numbers are of holders, not of bytes.
type SlotLimits struct {
	Places          int           // lent at once
	PerShare        int           // of them to one share, others waiting or not; 0 is no bound
	Waiting         int           // for a place, in all
	WaitingPerShare int           // and of one share
	Patience        time.Duration // how long one waits
}

// Slots lend places for work whose length nobody can say, and that is not
// interrupted: a request, not a page of one. So that a newcomer finds some
// free, a share may not hold more than it leaves for others (a dynamic
// threshold): one share alone gets half of the places, ten at a time ten
// elevenths. Those who wait are served by what their share holds, then by how
// long ago it was served, then the same within it by part, then in their order.
//
// PerShare and WaitingPerShare do not hold for who is exempt, nor for Local,
// behind which there may be everybody. Slots are safe for concurrent use.
type Slots struct {
	mu     sync.Mutex
	limits SlotLimits
	used   int
	queued int
	served uint64 // places given so far
	came   uint64 // and asked for
	shares map[string]*party
}

// party is a share or a part that has places or waits for some.
type party struct {
	held    int
	waiting int
	served  uint64            // when it was given its last place; 0 is never
	parts   map[string]*party // of a share
	queue   []*Slot           // of a part
}

// Slot is a place that is held, or waited for.
type Slot struct {
	slots       *Slots
	who         Who
	share, part *party
	given       chan struct{}
	came        uint64 // its number among all that came
}

// NewSlots makes slots under limits.
func NewSlots(l SlotLimits) *Slots {
	return &Slots{limits: l, shares: make(map[string]*party)}
}

// SetLimits replaces the limits. Who holds a place keeps it.
func (s *Slots) SetLimits(l SlotLimits) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limits = l
	s.serve()
}

// Used returns how many places are lent, and Waiting how many wait for one.
func (s *Slots) Used() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}

// Waiting returns how many wait for a place.
func (s *Slots) Waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queued
}

// Acquire waits for a place, no longer than patience lasts. The error is
// ErrCrowded, ErrPatience or that of ctx. Give the place back with Release.
func (s *Slots) Acquire(ctx context.Context, who Who) (*Slot, error) {
	s.mu.Lock()
	limits := s.limits
	crowded := s.queued >= limits.Waiting
	if h := s.shares[who.Share]; h != nil && !who.unbound() && h.waiting >= limits.WaitingPerShare {
		crowded = true
	}
	p := s.join(who)
	if crowded && !p.has() {
		s.drop(p)
		s.mu.Unlock()
		return nil, ErrCrowded
	}
	s.mu.Unlock()
	return p, p.wait(ctx, limits.Patience)
}

// Reacquire is Acquire for who gave a place back to let others work meanwhile: it
// waits for as long as ctx lasts, however many do. How many come again must be
// bounded by what they hold beside the place.
func (s *Slots) Reacquire(ctx context.Context, who Who) (*Slot, error) {
	s.mu.Lock()
	p := s.join(who)
	s.mu.Unlock()
	return p, p.wait(ctx, 0)
}

// Release gives the place back. Giving it back twice, or none, does nothing.
func (p *Slot) Release() {
	if p == nil || p.slots == nil {
		return
	}
	s := p.slots
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leave(p)
	p.slots = nil
}

// unbound reports whether the bounds of one share are not for who.
func (w Who) unbound() bool { return w.Exempt || w.Share == Local }

func (p *Slot) has() bool {
	select {
	case <-p.given:
		return true
	default:
		return false
	}
}

func (p *Slot) wait(ctx context.Context, patience time.Duration) error {
	if p.has() {
		return nil
	}
	var late <-chan time.Time
	if patience > 0 {
		timer := time.NewTimer(patience)
		defer timer.Stop()
		late = timer.C
	}
	err := ErrPatience
	select {
	case <-p.given:
		return nil
	case <-late:
	case <-ctx.Done():
		err = ctx.Err()
	}
	s := p.slots
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.has() { // both at once
		s.leave(p)
	} else {
		s.drop(p)
	}
	p.slots = nil
	return err
}

// join puts a place at the end of the queue and serves who can be.
func (s *Slots) join(who Who) *Slot {
	p := &Slot{slots: s, who: who, given: make(chan struct{})}
	p.share = s.shares[who.Share]
	if p.share == nil {
		p.share = &party{parts: make(map[string]*party)}
		s.shares[who.Share] = p.share
	}
	p.part = p.share.parts[who.Part]
	if p.part == nil {
		p.part = &party{}
		p.share.parts[who.Part] = p.part
	}
	s.came++
	p.came = s.came
	p.share.waiting++
	p.part.waiting++
	p.part.queue = append(p.part.queue, p)
	s.queued++
	s.serve()
	return p
}

// serve gives free places to those whose turn it is.
func (s *Slots) serve() {
	for s.used < s.limits.Places && s.queued > 0 {
		p := s.next()
		if p == nil {
			return
		}
		p.part.queue = p.part.queue[1:]
		s.queued--
		s.used++
		s.served++
		for _, h := range [...]*party{p.share, p.part} {
			h.waiting--
			h.held++
			h.served = s.served
		}
		close(p.given)
	}
}

// next returns the one who waits and is to be served, nil for nobody.
func (s *Slots) next() (best *Slot) {
	for _, share := range s.shares {
		if share.waiting == 0 || best != nil && best.share.before(share) {
			continue
		}
		for _, part := range share.parts {
			if part.waiting > 0 && s.may(part.queue[0]) && (best == nil || part.queue[0].before(best)) {
				best = part.queue[0]
			}
		}
	}
	return best
}

// may reports whether a place would leave as many for others as its share has.
func (s *Slots) may(p *Slot) bool {
	if bound := s.limits.PerShare; bound > 0 && p.share.held >= bound && !p.who.unbound() {
		return false
	}
	return p.share.held < s.limits.Places-s.used
}

// before reports whether p is served before q, which is of another part.
func (p *Slot) before(q *Slot) bool {
	switch {
	case p.share != q.share && p.share.before(q.share):
		return true
	case p.share != q.share && q.share.before(p.share):
		return false
	case p.part.before(q.part):
		return true
	}
	return !q.part.before(p.part) && p.came < q.came
}

// before reports whether h has less than o, or as much and that for longer.
func (h *party) before(o *party) bool {
	if h.held != o.held {
		return h.held < o.held
	}
	return h.served < o.served
}

// leave takes a place back that was given.
func (s *Slots) leave(p *Slot) {
	s.used--
	p.share.held--
	p.part.held--
	s.tidy(p)
	s.serve()
}

// drop takes out a place that was not given.
func (s *Slots) drop(p *Slot) {
	if i := slices.Index(p.part.queue, p); i >= 0 {
		p.part.queue = slices.Delete(p.part.queue, i, i+1)
	}
	s.queued--
	p.share.waiting--
	p.part.waiting--
	s.tidy(p)
}

// tidy forgets who has nothing and waits for nothing.
func (s *Slots) tidy(p *Slot) {
	if p.part.held+p.part.waiting == 0 {
		delete(p.share.parts, p.who.Part)
	}
	if p.share.held+p.share.waiting == 0 {
		delete(s.shares, p.who.Share)
	}
}
