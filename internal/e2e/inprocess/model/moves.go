package model

import (
	"iter"
	"maps"
	"slices"
)

func values[K comparable, V any](m map[K]V) iter.Seq[V] { return maps.Values(m) }

// who may make each move: p the poster, w the worker.
var moves = map[[2]string]string{
	{"open", "accepted"}: "w", {"open", "cancelled"}: "p",
	{"accepted", "submitted"}: "w", {"accepted", "cancelled"}: "w", {"accepted", "disputed"}: "pw",
	{"submitted", "accepted"}: "p", {"submitted", "completed"}: "p", {"submitted", "disputed"}: "pw",
	{"disputed", "completed"}: "p", {"disputed", "cancelled"}: "w",
}

// What times a state may have, in seconds.
const (
	mostBehind = 60
	mostAhead  = 60
)

// decides reports whether a state is the word of somebody who is no party.
func (s *said) decides() bool {
	return s.status != "" && (len(s.keys) == 2 || s.status == "expired")
}

// move judges a state, and places it if there is nothing against it.
func (c *Contract) move(it *Item, now int64, imported bool) (why []string) {
	at := int64(it.Event.CreatedAt)
	if !imported && at > now+mostAhead {
		why = append(why, "invalid")
	}
	if it.decides() {
		return c.decision(it, imported, why)
	}
	who := it.Event.PubKey
	owner, committed := c.ownerAfter(it)
	if owner != "" && owner != who && (it.status == "open" || committed && !c.partOf(it, owner)) {
		why = append(why, "blocked")
	}
	if c.last[who] >= at {
		why = append(why, "invalid")
	}
	next := c.next(it, committed && owner == who)
	if next == nil {
		why = append(why, "invalid")
	}
	switch {
	case len(why) == 0:
		c.adopt(it, next)
		return nil
	case imported:
		c.last[who] = max(c.last[who], at)
		c.place(it, pairOf(who, it.to()))
		it.astray, it.taken.Astray = true, true
		c.waiting = append(c.waiting, it)
		return nil
	}
	return why
}

// next is the state that a party's move leads to, nil if it does not follow.
func (c *Contract) next(it *Item, owns bool) *State {
	who, to := it.Event.PubKey, it.to()
	begun := &State{Poster: who, Worker: to, Status: "open"}
	s := c.states[pairOf(who, to)]
	if s != nil && it.status == "open" && owns && s.Poster != who {
		return begun // somebody else's stood where the owner's belongs
	}
	from := []*State{s}
	if s == nil {
		if from = []*State{c.states[pairOf(who, who)], c.states[pairOf(to, to)]}; from[0] == nil && from[1] == nil {
			if it.status == "open" && it.previous == "" {
				return begun
			}
			return nil
		}
	}
	for _, s := range from {
		if s == nil || int64(it.Event.CreatedAt) < s.At-mostBehind {
			continue
		}
		offers := s.Poster == s.Worker
		if offers && s.Status == "open" && s.Poster == who && to != who && it.status == "open" && (it.previous == "" || it.previous == "open") {
			return begun // names the worker
		}
		if it.previous != s.Status {
			continue
		}
		may := moves[[2]string{it.previous, it.status}]
		role := byte(0)
		switch {
		case who == s.Poster && (to == s.Worker || offers):
			role = 'p'
		case to == s.Poster && (who == s.Worker || offers && it.status == "accepted"):
			role = 'w'
		}
		if role == 0 || !slices.Contains([]byte(may), role) {
			continue
		}
		next := &State{Poster: s.Poster, Worker: to, Status: it.status}
		if role == 'w' {
			next.Worker = who
		}
		return next
	}
	return nil
}

// adopt makes a move count.
func (c *Contract) adopt(it *Item, next *State) {
	who := it.Event.PubKey
	next.At, next.Event = int64(it.Event.CreatedAt), it.Event.ID
	c.last[who] = max(c.last[who], next.At)
	p := pairOf(next.Poster, next.Worker)
	if was := c.states[p]; was != nil && was.Poster != next.Poster {
		c.accepted = slices.DeleteFunc(c.accepted, func(a acceptance) bool { return pairOf(a.poster, a.worker) == p })
	}
	c.set(p, next)
	switch {
	case it.status == "open":
		c.offered = append(c.offered, offer{next.Poster, next.Worker, it.terms})
	case it.status == "accepted" && it.previous == "open":
		c.accepted = append(c.accepted, acceptance{next.Poster, next.Worker})
		c.repeated = append(c.repeated, offer{next.Poster, next.Worker, it.terms})
	}
	c.claim(it, it.status == "open")
	if it.thread == nil {
		c.place(it, pairOf(who, it.to()))
	}
	c.retry()
}

// set puts a state in the place of the one before; a pair's first takes the
// place of the offer that it came from.
func (c *Contract) set(p pair, next *State) {
	c.talks = nil
	offer := c.states[pairOf(next.Poster, next.Poster)]
	was := c.states[p]
	c.states[p] = next
	if was != nil {
		next.second, next.taken, next.age = was.second, was.taken, was.age
		if p[0] != p[1] && offer != nil {
			offer.taken = true
		}
		return
	}
	next.age = len(c.states)
	if p[0] == p[1] {
		next.taken = slices.ContainsFunc(slices.Collect(values(c.states)), func(s *State) bool { return s.Poster == next.Poster && s != next })
		return
	}
	if offer != nil {
		next.second, offer.taken = offer.taken, true
		next.age, offer.age = offer.age, next.age
	}
	c.join(p)
}

// retry adopts what did not follow before and does now, the oldest first.
func (c *Contract) retry() {
	slices.SortFunc(c.waiting, func(x, y *Item) int { return int(x.Event.CreatedAt - y.Event.CreatedAt) })
	for _, it := range c.waiting {
		if it.decides() {
			if held := c.holds(it); len(held) > 0 {
				c.found(it)
				c.carry(it, held)
				return
			}
			continue
		}
		s := c.states[pairOf(it.Event.PubKey, it.to())]
		next := c.next(it, false)
		if s == nil || next == nil || c.signedLater(it) {
			continue
		}
		c.found(it)
		c.adopt(it, next)
		return
	}
}

// found takes an item from those that wait.
func (c *Contract) found(it *Item) {
	c.waiting = slices.DeleteFunc(c.waiting, func(w *Item) bool { return w == it })
	it.astray, it.taken.Astray = false, false
	it.taken.Import = it.Withdrawn // then it cannot be sent any more
	c.settled = append(c.settled, it)
}

// signedLater reports whether a later state of the same author counts already.
func (c *Contract) signedLater(it *Item) bool {
	return slices.ContainsFunc(c.items(), func(o *Item) bool {
		return o.status != "" && !o.decides() && !o.astray && o.Event.PubKey == it.Event.PubKey && o.Event.CreatedAt >= it.Event.CreatedAt &&
			pairOf(o.Event.PubKey, o.to()) == pairOf(it.Event.PubKey, it.to())
	})
}

// adopted moves what was adopted just now, after what made it follow, in the
// order of effects.
func (c *Contract) adopted(r *Relay) {
	for _, it := range c.settled {
		r.Taken = append(slices.DeleteFunc(r.Taken, func(t *Taken) bool { return t == it.taken }), it.taken)
	}
	c.settled = nil
}
