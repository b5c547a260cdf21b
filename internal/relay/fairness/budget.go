package fairness

import "sync"

// BudgetLimits bound what a Budget holds, in bytes. Zero or less is no bound.
type BudgetLimits struct {
	Conn  int64 // for one connection
	Share int64 // for one share; exempt peers and those that cannot be told apart are each their own
	Total int64
	Kept  int64 // of Total, for those who never give way
}

// Budget is memory that connections divide: bounded for each, for each share and
// in all. A connection that has little gets more while another has much: when a
// bound is reached, the connection that has most in the share that has most
// gives way. It is safe for concurrent use.
type Budget struct {
	mu      sync.Mutex
	limits  BudgetLimits
	root    holder
	kept    int64     // of what root has, by those who never give way
	waiting []*holder // shares of which somebody waits
}

// holder is a share, a part of one or a connection, with what it has.
type holder struct {
	used  int64
	above *holder
	name  any
	below map[any]*holder
	stake *Stake   // of a connection
	queue []*claim // of a share: who waits
}

// NewBudget makes an empty budget.
func NewBudget(l BudgetLimits) *Budget { return &Budget{limits: l} }

// SetLimits replaces the bounds. Nobody has to give way for it at once, and who
// waits goes on to wait until something is given back.
func (p *Budget) SetLimits(l BudgetLimits) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.limits = l
}

// Used returns what is held in all.
func (p *Budget) Used() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.root.used
}

// Stake is what one connection holds of a budget. Its methods are safe for
// concurrent use; Close it with the connection.
type Stake struct {
	budget  *Budget
	who     Who
	at      *holder // nil before it holds something
	used    int64
	waits   *claim // of Await; a connection waits for one thing at a time
	giveWay func() bool
}

// Open begins a stake. The budget calls giveWay, without a lock held and from any
// goroutine, to have the connection give something back; false says that there
// is nothing to be had.
func (p *Budget) Open(who Who, giveWay func() bool) *Stake {
	return &Stake{budget: p, who: who, giveWay: giveWay}
}

// Over says which bound was reached.
type Over int

// The bounds of a Budget.
const (
	Within Over = iota
	OverConn
	OverShare
	OverTotal
)

// TryTake takes n bytes if nobody has to give way for them.
func (s *Stake) TryTake(n int64) bool {
	s.budget.mu.Lock()
	defer s.budget.mu.Unlock()
	if s.fits(n) != Within {
		return false
	}
	s.add(n)
	return true
}

// Take takes n bytes, for which others may have to give way, or says why not.
func (s *Stake) Take(n int64) Over {
	return until(func(no *noes) (Over, *Stake) { return s.try(n, no) })
}

// Give gives n bytes back.
func (s *Stake) Give(n int64) {
	s.budget.mu.Lock()
	defer s.budget.mu.Unlock()
	s.add(-min(n, s.used)) // a stake may be closed before the last is given back
}

// Used returns what the connection holds.
func (s *Stake) Used() int64 {
	s.budget.mu.Lock()
	defer s.budget.mu.Unlock()
	return s.used
}

// Move charges what the connection holds, and will, to another share.
func (s *Stake) Move(who Who) {
	s.budget.mu.Lock()
	defer s.budget.mu.Unlock()
	c := s.waits
	if c != nil {
		s.budget.unline(c)
	}
	n := s.used
	s.change(-n)
	s.leave()
	s.who = who
	s.change(n)
	if c != nil {
		s.budget.settle(c, s.fits(c.n))
	}
	s.budget.grant(s)
}

// Close gives everything back.
func (s *Stake) Close() {
	s.budget.mu.Lock()
	defer s.budget.mu.Unlock()
	s.add(-s.used)
	s.leave()
}

// try takes n bytes, or says which bound is in the way and who has most of it;
// nil if nobody has more than who asks would, but for those who said no.
func (s *Stake) try(n int64, no *noes) (Over, *Stake) {
	p := s.budget
	p.mu.Lock()
	defer p.mu.Unlock()
	over := s.fits(n)
	switch over {
	case Within:
		s.add(n)
	case OverShare:
		return over, s.path()[0].most(s, 1, n, no.held())
	case OverTotal:
		return over, p.root.most(s, 0, n, no.held())
	}
	return over, nil
}

// fits reports which bound n more bytes would break.
func (s *Stake) fits(n int64) Over {
	l := &s.budget.limits
	switch {
	case l.Conn > 0 && s.used+n > l.Conn:
		return OverConn
	case l.Share > 0 && s.used+n > l.Share:
		return OverShare
	case l.Share > 0 && s.shareUsed()+n > l.Share:
		return OverShare
	case l.Total > 0 && s.budget.root.used+n > l.Total:
		return OverTotal
	}
	return Within
}

// names returns those of the share, the part and the connection.
func (s *Stake) names() [3]any {
	if s.who.Exempt || s.who.Share == Local {
		return [3]any{s.who.Conn, "", s}
	}
	return [3]any{s.who.Share, s.who.Part, s}
}

// path finds the holders of a stake that exist, wide to narrow.
func (s *Stake) path() (path [3]*holder) {
	at := &s.budget.root
	for i, name := range s.names() {
		if at = at.below[name]; at == nil {
			break
		}
		path[i] = at
	}
	return path
}

func (s *Stake) shareUsed() int64 {
	if s.at != nil {
		return s.at.above.above.used
	}
	if at := s.budget.root.below[s.names()[0]]; at != nil {
		return at.used
	}
	return 0
}

// add changes what the stake and those above it have, and grants what others
// wait for when there is less. The lock is held.
func (s *Stake) add(n int64) {
	if s.change(n); n < 0 {
		s.budget.grant(s)
	}
}

// change does the sums of add.
func (s *Stake) change(n int64) {
	if n == 0 {
		return
	}
	s.used += n
	if s.at == nil {
		s.at = s.enter()
	}
	for at := s.at; at != nil; at = at.above {
		at.used += n
	}
}

// leave forgets the holders of a stake that holds nothing.
func (s *Stake) leave() {
	if s.at == nil {
		return
	}
	s.at.stake = nil
	for at := s.at; at.above != nil && at.idle(); at = at.above {
		delete(at.above.below, at.name)
	}
	s.at = nil
}

// idle reports whether nobody needs a holder any more.
func (h *holder) idle() bool {
	return h.used == 0 && h.stake == nil && len(h.below) == 0 && len(h.queue) == 0
}

// enter makes the holders of a stake.
func (s *Stake) enter() *holder {
	at := &s.budget.root
	for _, name := range s.names() {
		at = at.child(name)
	}
	at.stake = s
	return at
}

func (h *holder) child(name any) *holder {
	next := h.below[name]
	if next == nil {
		next = &holder{above: h, name: name}
		if h.below == nil {
			h.below = make(map[any]*holder)
		}
		h.below[name] = next
	}
	return next
}
