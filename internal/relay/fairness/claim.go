package fairness

import (
	"slices"
	"time"
)

// claim is what a connection waits for: in the queue of its share or, when its
// own connection must give something back first, in none.
type claim struct {
	stake *Stake
	n     int64
	given chan struct{}
	share *holder // nil in none
}

// spare is what a connection that holds nothing may always take: a short
// message, however full the budget.
const spare = 4 << 10

// Await takes n bytes, waiting until there is room. When there has been none
// for patience, who has most gives way. It reports false when stop was closed
// first, or when a connection may never have as much; then nothing is taken.
func (s *Stake) Await(stop <-chan struct{}, n int64, patience time.Duration) bool {
	c, ok := s.claim(n)
	if c == nil {
		return ok
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		select {
		case <-c.given:
			return true
		case <-stop:
			return s.withdraw(c)
		case <-timer.C:
			if most := s.inTheWay(n); most != nil {
				most.giveWay()
			}
			timer.Reset(patience)
		}
	}
}

// claim takes n bytes, or queues who wants them; without a claim, ok says
// whether they are taken.
func (s *Stake) claim(n int64) (c *claim, ok bool) {
	p := s.budget
	p.mu.Lock()
	defer p.mu.Unlock()
	over := s.fits(n)
	if over == Within || s.used == 0 && n <= spare {
		s.add(n)
		return nil, true
	}
	c = &claim{stake: s, n: n, given: make(chan struct{})}
	p.line(c, over)
	return c, false
}

// line has a claim wait for what it lacks.
func (p *Budget) line(c *claim, over Over) {
	c.share, c.stake.waits = nil, c
	if over == OverConn {
		return
	}
	c.share = p.root.child(c.stake.names()[0])
	if c.share.queue = append(c.share.queue, c); len(c.share.queue) == 1 {
		p.waiting = append(p.waiting, c.share)
	}
}

// unline takes a claim out of where it waits.
func (p *Budget) unline(c *claim) {
	c.stake.waits = nil
	if c.share == nil {
		return
	}
	c.share.queue = slices.DeleteFunc(c.share.queue, func(other *claim) bool { return other == c })
	if len(c.share.queue) == 0 {
		p.waiting = slices.DeleteFunc(p.waiting, func(h *holder) bool { return h == c.share })
		c.share.leave()
	}
}

// withdraw ends a claim; if it was granted just now, that is given back.
func (s *Stake) withdraw(c *claim) bool {
	p := s.budget
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-c.given:
		s.add(-c.n)
		return false
	default:
	}
	p.unline(c)
	return false
}

// inTheWay is who should give way so that n bytes can be had.
func (s *Stake) inTheWay(n int64) *Stake {
	p := s.budget
	p.mu.Lock()
	defer p.mu.Unlock()
	switch s.fits(n) {
	case OverShare:
		if at := p.root.below[s.names()[0]]; at != nil {
			return at.most(s, 1, n, nil)
		}
	case OverTotal:
		return p.root.most(s, 0, n, nil)
	}
	return nil
}

// leave forgets a share that has nothing and waits for nothing.
func (h *holder) leave() {
	if h.idle() && h.above != nil && h.above.below[h.name] == h {
		delete(h.above.below, h.name)
	}
}

// grant gives what a stake has given back to those who wait: to itself, and
// then to others.
func (p *Budget) grant(s *Stake) {
	if c := s.waits; c != nil && c.share == nil {
		p.settle(c, s.fits(c.n))
	}
	p.serve()
}

// serve gives what there is to the connection that has least, of the share that
// has least, of those that wait in queues, as long as there is enough for it.
func (p *Budget) serve() {
	for {
		c := p.next()
		if c == nil || c.stake.fits(c.n) != Within {
			return
		}
		p.unline(c)
		p.settle(c, Within)
	}
}

// seen is how many shares are looked at for the one that has least. If there
// are more, others are looked at the next time.
const seen = 256

// next returns the claim of the connection that has least, of the share that
// has least, of those that could have it as far as their share goes.
func (p *Budget) next() (next *claim) {
	if len(p.waiting) > seen {
		p.waiting = append(p.waiting[seen:], p.waiting[:seen]...)
	}
	for _, share := range p.waiting[:min(seen, len(p.waiting))] {
		if next != nil && share.used >= next.share.used {
			continue
		}
		var least *claim
		for _, c := range share.queue {
			if over := c.stake.fits(c.n); over != OverShare && over != OverConn && (least == nil || c.stake.used < least.stake.used) {
				least = c
			}
		}
		if least != nil {
			next = least
		}
	}
	return next
}

// settle grants a claim that fits, or lets it wait for what it lacks.
func (p *Budget) settle(c *claim, over Over) {
	if over != Within {
		p.line(c, over)
		return
	}
	c.stake.waits = nil
	c.stake.add(c.n)
	close(c.given)
}
