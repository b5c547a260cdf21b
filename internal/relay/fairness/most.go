package fairness

// asked is how many connections are asked to give way for one piece at most,
// when they say no.
const asked = 16

// noes are the connections that had nothing to give when they were asked.
type noes []*Stake

// held is what holders have of it. The budget's lock is held.
func (no *noes) held() map[*holder]int64 {
	if len(*no) == 0 {
		return nil
	}
	held := make(map[*holder]int64)
	for _, s := range *no {
		for at := s.at; at != nil; at = at.above {
			held[at] += s.used
		}
	}
	return held
}

// until tries to take something until it is had, or nobody gives way for it any
// more. Who says no is passed over from then on.
func until(try func(no *noes) (Over, *Stake)) Over {
	var no noes
	for {
		over, most := try(&no)
		if over == Within || most == nil {
			return over
		}
		if !most.giveWay() {
			if no = append(no, most); len(no) == asked {
				return over
			}
		}
	}
}

// most returns the connection that has most below h, of the part, of the share
// that has most, fixed not counted; nil if that is not more than who asks would
// have, n bytes on, at the level where the two part. Who asks may be nil: then
// nothing is compared.
func (h *holder) most(asks *Stake, level int, n int64, fixed map[*holder]int64) *Stake {
	if h == nil {
		return nil
	}
	var names [3]any
	own := asks != nil // h is on the path of who asks
	if own {
		names = asks.names()
	}
	for ; level < len(names); level++ {
		most, has := h.largest(fixed)
		if most == nil {
			return nil
		}
		if mine := h.below[names[level]]; own && mine != most {
			want := n
			if mine != nil {
				want += mine.used
			}
			if has <= want {
				if most = mine; most == nil {
					return nil
				}
			}
			own = most == mine
		}
		h = most
	}
	if h.stake == asks {
		return nil
	}
	return h.stake
}

// largest returns the one right below h that has most, fixed not counted; nil if
// none has anything.
func (h *holder) largest(fixed map[*holder]int64) (most *holder, has int64) {
	for _, child := range h.below {
		if n := child.used - fixed[child]; n > has {
			most, has = child, n
		}
	}
	return most, has
}

// Keep takes n bytes for one who never gives way, within what all of those may
// have together. Whoever else has most gives way for it, however little that is.
func (p *Budget) Keep(n int64) bool {
	return until(func(no *noes) (Over, *Stake) {
		p.mu.Lock()
		defer p.mu.Unlock()
		switch {
		case p.limits.Kept > 0 && p.kept+n > p.limits.Kept:
			return OverTotal, nil
		case p.limits.Total > 0 && p.root.used+n > p.limits.Total:
			return OverTotal, p.root.most(nil, 0, n, no.held())
		}
		p.kept += n
		p.root.used += n
		return Within, nil
	}) == Within
}

// GiveKept gives back what Keep took.
func (p *Budget) GiveKept(n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kept -= n
	p.root.used -= n
	p.serve()
}
