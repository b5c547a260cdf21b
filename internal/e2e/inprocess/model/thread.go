package model

import "slices"

// thread is what counts together: what a poster said to himself, and he and the
// worker who took his offer first. All other pairs count for themselves.
type thread struct {
	last  int64
	items []*Item
}

// place gives an item its number.
func (c *Contract) place(it *Item, p pair) {
	t := c.thread(p)
	from := c.counter(t)
	from.last = max(from.last, t.last) + 1
	t.last = from.last
	it.N, it.thread = t.last, t
	t.items = append(t.items, it)
}

func (c *Contract) thread(p pair) *thread {
	if t := c.threads[p]; t != nil {
		return t
	}
	var t *thread
	if p[0] == p[1] {
		t = c.firstThreadOf(p[0])
	} else {
		t = c.freeOffer(p)
	}
	if t == nil {
		t = &thread{}
	} else if p[0] == p[1] {
		for _, s := range c.states {
			if with := c.threads[pairOf(s.Poster, s.Worker)]; s.Poster == p[0] && s.Worker != p[0] && with != nil {
				t.last = max(t.last, with.last)
			}
		}
	}
	c.threads[p] = t
	return t
}

// counter is the thread that a thread draws its numbers from.
func (c *Contract) counter(t *thread) *thread {
	for p, with := range c.threads {
		if s := c.states[p]; with == t && s != nil && p[0] != p[1] {
			if offer := c.threads[pairOf(s.Poster, s.Poster)]; offer != nil {
				return offer
			}
		}
	}
	return t
}

// firstThreadOf is the thread of the oldest pair that a poster has.
func (c *Contract) firstThreadOf(poster string) *thread {
	var oldest *State
	for p, s := range c.states {
		if s.Poster == poster && p[0] != p[1] && c.threads[p] != nil && (oldest == nil || s.age < oldest.age) {
			oldest = s
		}
	}
	if oldest == nil {
		return nil
	}
	return c.threads[pairOf(oldest.Poster, oldest.Worker)]
}

// freeOffer is the thread of the offer that a pair takes before all others.
func (c *Contract) freeOffer(p pair) *thread {
	s := c.states[p]
	if s == nil {
		return nil
	}
	own := c.threads[pairOf(s.Poster, s.Poster)]
	for other, t := range c.threads {
		if t == own && other[0] != other[1] {
			return nil
		}
	}
	return own
}

// join puts what a pair said before it had a state behind the offer that it
// takes.
func (c *Contract) join(p pair) {
	own, into := c.threads[p], c.freeOffer(p)
	if own == nil {
		return
	}
	from := c.counter(own)
	if into == nil {
		if from == own {
			return
		}
		into = &thread{last: from.last} // somebody else took the offer
	}
	for _, it := range own.items {
		it.N += into.last
		it.thread = into
		into.items = append(into.items, it)
	}
	into.last += own.last
	from.last = max(from.last, into.last)
	c.threads[p] = into
}

// items are all of the contract, in no order.
func (c *Contract) items() (all []*Item) {
	seen := map[*thread]bool{}
	for _, t := range c.threads {
		if !seen[t] {
			seen[t] = true
			all = append(all, t.items...)
		}
	}
	return all
}

// roleOf is what the author of an item is in its pair, "" if that is not known.
func (c *Contract) roleOf(it *Item) string {
	who, to := it.Event.PubKey, it.to()
	p := pairOf(who, to)
	s := c.states[p]
	switch {
	case it.decides() && c.threads[p] != it.thread:
		return ""
	case who == to:
		return "poster"
	case s == nil:
		return ""
	case s.Poster == who:
		return "poster"
	}
	return "worker"
}

func inOrder(items []*Item) []*Item {
	slices.SortFunc(items, func(x, y *Item) int { return int(x.N - y.N) })
	return items
}
