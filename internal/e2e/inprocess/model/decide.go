package model

// Offered are the terms that a poster offers a worker, or to whoever accepts
// where the worker is the poster.
func (c *Contract) Offered(poster, worker string) (t Terms) {
	for _, to := range []string{poster, worker} {
		for _, o := range c.offered {
			if o.poster != poster || o.worker != to {
				continue
			}
			t.fill(o.Terms)
		}
	}
	return t
}

func (t *Terms) fill(with Terms) {
	for _, f := range [][2]*string{{&t.Arbitrator, &with.Arbitrator}, {&t.Decider, &with.Decider}, {&t.Expirer, &with.Expirer}, {&t.Order, &with.Order}} {
		if *f[1] != "" {
			*f[0] = *f[1]
		}
	}
	if with.Deadline != 0 {
		t.Deadline = with.Deadline
	}
}

// Agreed are the terms that a worker's acceptance repeats of what he was
// offered.
func (c *Contract) Agreed(poster, worker string) (t Terms) {
	for _, r := range c.repeated {
		if r.poster != poster || r.worker != worker {
			continue
		}
		for _, o := range c.offered {
			if o.poster != poster || o.worker != poster && o.worker != worker {
				continue
			}
			both := Terms{}
			if o.Arbitrator == r.Arbitrator {
				both.Arbitrator = r.Arbitrator
			}
			if o.Decider == r.Decider {
				both.Decider = r.Decider
			}
			if o.Expirer == r.Expirer {
				both.Expirer = r.Expirer
			}
			if o.Order == r.Order {
				both.Order = r.Order
			}
			if o.Deadline == r.Deadline {
				both.Deadline = r.Deadline
			}
			t.fill(both)
		}
	}
	for _, key := range []*string{&t.Arbitrator, &t.Decider, &t.Expirer, &t.Order} {
		if *key == poster || *key == worker {
			*key = ""
		}
	}
	return t
}

// hold are the terms of a state now: while it is open what is offered, then what
// was agreed.
func (c *Contract) hold(s *State) Terms {
	if s.Status == "open" {
		return c.Offered(s.Poster, s.Worker)
	}
	return c.Agreed(s.Poster, s.Worker)
}

// decision judges the word of somebody who is no party.
func (c *Contract) decision(it *Item, imported bool, why []string) []string {
	held, who, at := c.holds(it), it.Event.PubKey, int64(it.Event.CreatedAt)
	if len(held) == 0 || c.last[who] >= at {
		why = append(why, "invalid")
	}
	switch {
	case len(why) == 0:
		c.carry(it, held)
		return nil
	case imported:
		c.last[who] = max(c.last[who], at)
		it.astray, it.taken.Astray = true, true
		c.place(it, c.decided(it))
		c.waiting = append(c.waiting, it)
		return nil
	}
	return why
}

// holds are the states that a decision moves.
func (c *Contract) holds(it *Item) (held []*State) {
	if len(it.keys) == 2 {
		s := c.states[pairOf(it.keys[0], it.keys[1])]
		if s != nil && s.Poster == it.keys[0] && c.allows(it, s) {
			held = append(held, s)
		}
		return held
	}
	for _, s := range c.states {
		if s.Poster == it.to() && s.Status != "open" {
			return nil // somebody has taken the offer, or it is over
		}
		if s.Poster == it.to() && it.previous == "open" && c.allows(it, s) {
			held = append(held, s)
		}
	}
	return held
}

func (c *Contract) allows(it *Item, s *State) bool {
	who, at, t := it.Event.PubKey, int64(it.Event.CreatedAt), c.hold(s)
	switch {
	case it.previous != s.Status || at < s.At-mostBehind || who == s.Poster || who == s.Worker:
		return false
	case it.status == "expired":
		return (s.Status == "open" || s.Status == "accepted") && who == t.Expirer && t.Deadline != 0 && at >= t.Deadline
	}
	return s.Status == "disputed" && (it.status == "completed" || it.status == "cancelled") && (who == t.Arbitrator || who == t.Decider)
}

// decided is the pair that a decision is about, if the poster has named its
// author; what others say is a matter between them and whom they say it to.
func (c *Contract) decided(it *Item) pair {
	who := it.Event.PubKey
	if len(it.keys) == 2 {
		t := c.Offered(it.keys[0], it.keys[1])
		if it.status == "expired" && who == t.Expirer || it.status != "expired" && (who == t.Arbitrator || who == t.Decider) {
			return pairOf(it.keys[0], it.keys[1])
		}
		return pairOf(who, it.to())
	}
	for _, s := range c.of(it.to()) {
		if c.Offered(s.Poster, s.Worker).Expirer == who {
			return pairOf(s.Poster, s.Worker)
		}
	}
	return pairOf(who, it.to())
}

func (c *Contract) carry(it *Item, held []*State) {
	c.last[it.Event.PubKey] = max(c.last[it.Event.PubKey], int64(it.Event.CreatedAt))
	if it.thread == nil {
		c.place(it, c.decided(it))
	}
	for _, s := range held {
		s.Status, s.At, s.Event, s.Decided = it.status, int64(it.Event.CreatedAt), it.Event.ID, true
	}
	c.retry()
}

// Due are the states whose deadline has come.
func (c *Contract) Due(now int64) (due []*State) {
	for _, s := range c.states {
		if at := c.deadline(s); at != 0 && now >= at && (s.Status == "open" || s.Status == "accepted") {
			due = append(due, s)
		}
	}
	return due
}

func (c *Contract) deadline(s *State) int64 { return c.hold(s).Deadline }

// Expire moves a state by the relay alone, without an event.
func (c *Contract) Expire(s *State) { c.Decide(s, "expired", c.deadline(s)) }

// Decide is a decision that holds on this relay only.
func (c *Contract) Decide(s *State, status string, at int64) {
	s.Status, s.At, s.Local, s.Decided = status, max(at, s.At+1), true, true
}

// SignsExpiry reports whether the relay of a key has to sign that a state has
// expired: its key was agreed on, or stands in an offer that nobody has taken.
func (c *Contract) SignsExpiry(s *State, key string) bool {
	if c.hold(s).Expirer != key {
		return false
	}
	for _, o := range c.states {
		if s.Status == "open" && o.Poster == s.Poster && o.Status != "open" {
			return false
		}
	}
	return true
}
