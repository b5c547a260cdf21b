package model

import (
	"cmp"
	"slices"
)

// Contract is everything under one contract id.
type Contract struct {
	ID        string
	Owner     string // whose contract the id means, "" while nobody opened one
	Committed bool   // the id shows that he made it

	states   map[pair]*State
	threads  map[pair]*thread
	talks    []*talk
	accepted []acceptance
	last     map[string]int64 // created_at of each author's last state
	offered  []offer          // in opens
	repeated []offer          // in acceptances
	waiting  []*Item          // states and decisions that do not follow yet
	settled  []*Item          // of them those that do now
}

// pair are two keys, the lower first; both the same for what a key says to
// itself.
type pair [2]string

func pairOf(x, y string) pair { return pair{min(x, y), max(x, y)} }

func (p pair) has(key string) bool { return p[0] == key || p[1] == key }

func (p pair) other(key string) string {
	if p[0] == key {
		return p[1]
	}
	return p[0]
}

// State is where a contract stands between a poster and a worker, who is the
// poster himself while none is named.
type State struct {
	Poster, Worker string
	Status         string
	At             int64
	Event          string
	Local          bool // the relay moved it without an event
	Decided        bool // by who is no party
	second         bool // somebody else had taken the offer before
	taken          bool // an offer that has become a pair
	age            int
}

type acceptance struct{ poster, worker string }

type offer struct {
	poster, worker string
	Terms
}

// talk is what two keys said to each other before any state was known.
type talk struct {
	pair
	first string
	at    int64
}

func newContract(id string) *Contract {
	return &Contract{ID: id, states: map[pair]*State{}, threads: map[pair]*thread{}, last: map[string]int64{}}
}

// ownerAfter is whose the id is once an item is taken.
func (c *Contract) ownerAfter(it *Item) (owner string, committed bool) {
	switch {
	case c.Committed:
		return c.Owner, true
	case it.proves:
		return it.Event.PubKey, true
	}
	return c.Owner, false
}

// claim is the item's, which is taken.
func (c *Contract) claim(it *Item, opens bool) {
	if c.Owner, c.Committed = c.ownerAfter(it); c.Owner == "" && opens {
		c.Owner = it.Event.PubKey
	}
}

// taker is who accepted a poster's offer first.
func (c *Contract) taker(poster string) string {
	for _, a := range c.accepted {
		if a.poster == poster {
			return a.worker
		}
	}
	return ""
}

// AnyOrder reports whether what the id means does not depend on what a relay
// heard first: it shows who made it, or nobody came too late.
func (c *Contract) AnyOrder() bool { return c.Committed || len(c.accepted) < 2 }

// of lists a poster's states, the oldest first, those behind another's last.
func (c *Contract) of(poster string) (all []*State) {
	for _, s := range c.states {
		if s.Poster == poster && !s.taken {
			all = append(all, s)
		}
	}
	slices.SortFunc(all, byAge)
	return all
}

func byAge(x, y *State) int {
	if x.second != y.second {
		return map[bool]int{true: 1, false: -1}[x.second]
	}
	return cmp.Compare(x.age, y.age)
}

// standing is a poster's contract: with who accepted it first, else what he
// offers.
func (c *Contract) standing(poster string) *State {
	if worker := c.taker(poster); worker != "" {
		if s := c.states[pairOf(poster, worker)]; s != nil && s.Poster == poster {
			return s
		}
	}
	if all := c.of(poster); len(all) > 0 {
		return all[0]
	}
	return nil
}

// partOf reports whether an author other than the owner may write under a
// committed id.
func (c *Contract) partOf(it *Item, owner string) bool {
	who := it.Event.PubKey
	if worker := c.taker(owner); worker != "" {
		return worker == who
	}
	if c.states[pairOf(who, owner)] != nil {
		return true
	}
	if it.to() != owner {
		return false
	}
	if offer := c.states[pairOf(owner, owner)]; offer != nil && it.status != "" {
		return offer.Status == "open"
	}
	return !slices.ContainsFunc(slices.Collect(values(c.states)), func(s *State) bool { return s.Poster == owner })
}

// entry judges an entry, and places it if there is nothing against it.
func (c *Contract) entry(it *Item, imported bool) (why []string) {
	owner, committed := c.ownerAfter(it)
	who := it.Event.PubKey
	if !imported {
		if committed && who != owner && !c.partOf(it, owner) {
			why = append(why, "blocked")
		}
		s := c.states[pairOf(who, it.to())]
		switch {
		case who == it.to() && c.standing(who) != nil:
			s = c.standing(who) // his notes to himself are part of it
		case s == nil:
			s = c.states[pairOf(who, who)]
		}
		switch {
		case s == nil:
		case final(s.Status):
			if int64(it.Event.CreatedAt) > s.At {
				why = append(why, "blocked")
			}
		case s.Status == "open" && who != s.Poster:
			why = append(why, "blocked")
		}
	}
	if len(why) > 0 {
		return why
	}
	c.claim(it, false)
	if p := pairOf(who, it.to()); len(c.states) == 0 && !slices.ContainsFunc(c.talks, func(t *talk) bool { return t.pair == p }) {
		c.talks = append(c.talks, &talk{p, who, it.Received})
	}
	c.place(it, pairOf(who, it.to()))
	return nil
}

func final(status string) bool {
	return status == "completed" || status == "cancelled" || status == "expired"
}

// forget ends a talk of which nothing is left.
func (c *Contract) forget(it *Item) {
	if it.Event.Kind != KindEntry {
		return
	}
	p := pairOf(it.Event.PubKey, it.to())
	for _, left := range c.threads[p].items {
		if left.Event.Kind == KindEntry && !left.Gone && pairOf(left.Event.PubKey, left.to()) == p {
			return
		}
	}
	c.talks = slices.DeleteFunc(c.talks, func(t *talk) bool { return t.pair == p })
}
