package model

import (
	"slices"
	"strconv"
	"strings"

	"github.com/nbd-wtf/go-nostr"
)

// Relay is one relay, as far as contract memory goes.
type Relay struct {
	Contracts map[string]*Contract

	held     map[string]*Item        // contract memory by event id, also what is gone
	heads    map[string]*Item        // what subscribers see of an address
	requests map[string]*nostr.Event // kind 5 by id
	further  map[string]bool         // ids of kind 62
	byID     map[[2]string]string    // what was taken back: author and id; the request
	byPlace  map[string]placeGone    // the same by address
	vanished map[string]int64        // until when
	arrivals int64
	// Taken is everything that the relay took, in the order in which it took
	// effect.
	Taken []*Taken
}

// Taken is an event that the relay took.
type Taken struct {
	Event  *nostr.Event
	Import bool // it came by import, and not by EVENT
	Astray bool // a state that does not follow, or does not yet
}

type placeGone struct {
	until   int64
	request string
}

// Item is what has a number in a thread.
type Item struct {
	*said
	Event     *nostr.Event
	N         int64
	Received  int64
	arrival   int64
	Withdrawn bool
	Request   string // by which it was
	Gone      bool   // a gap is left
	Role      string // of a gap
	astray    bool
	thread    *thread
	taken     *Taken
}

// Answer is what the relay says. Of a refusal Because has every reason there is,
// by NIP-01's word, and the relay may name any.
type Answer struct {
	OK      bool
	Because []string
}

// New is a relay with nothing in it.
func New() *Relay {
	return &Relay{
		Contracts: map[string]*Contract{}, held: map[string]*Item{}, heads: map[string]*Item{}, requests: map[string]*nostr.Event{}, further: map[string]bool{},
		byID: map[[2]string]string{}, byPlace: map[string]placeGone{}, vanished: map[string]int64{},
	}
}

func refused(because ...string) Answer { return Answer{Because: because} }

// Take is what becomes of an event at a time, which the relay is sent or
// imports.
func (r *Relay) Take(ev *nostr.Event, now int64, imported bool) Answer {
	switch ev.Kind {
	case KindDeletion:
		return r.takeBack(ev, now, imported)
	case KindVanish:
		return r.vanish(ev, imported)
	}
	s := read(ev)
	if s.expires && !imported {
		return refused("invalid")
	}
	request, gone := r.takenBack(ev)
	if gone && !imported {
		return refused("blocked")
	}
	if it := r.held[ev.ID]; it != nil && !it.Gone {
		return Answer{OK: true, Because: []string{"duplicate"}}
	}
	if r.hasVanished(ev) {
		return refused("blocked")
	}
	c := r.contract(s.contract)
	it := &Item{said: s, Event: ev, Received: now, taken: &Taken{Event: ev, Import: imported}}
	var why []string
	if ev.Kind == KindEntry {
		why = c.entry(it, imported)
	} else {
		why = c.move(it, now, imported)
	}
	if len(why) > 0 {
		return refused(why...)
	}
	r.held[ev.ID] = it
	r.took(it.taken)
	it.arrival = r.arrivals
	c.adopted(r)
	if gone {
		it.Withdrawn, it.Request = true, request
	} else if r.newest(it) {
		r.heads[addressOf(ev)] = it
	}
	return Answer{OK: true}
}

// newest reports whether nothing that was ever said at an item's address, and
// is still here, stands before it: greater created_at, or the lower id.
func (r *Relay) newest(it *Item) bool {
	address, head := addressOf(it.Event), r.heads[addressOf(it.Event)]
	if head != nil {
		return beats(it, head)
	}
	for _, o := range r.held {
		if o != it && !o.Gone && addressOf(o.Event) == address && beats(o, it) {
			return false
		}
	}
	return true
}

func beats(x, y *Item) bool {
	if x.Event.CreatedAt != y.Event.CreatedAt {
		return x.Event.CreatedAt > y.Event.CreatedAt
	}
	return x.Event.ID < y.Event.ID
}

func (r *Relay) took(t *Taken) {
	r.arrivals++
	r.Taken = append(r.Taken, t)
}

func (r *Relay) contract(id string) *Contract {
	if r.Contracts[id] == nil {
		r.Contracts[id] = newContract(id)
	}
	return r.Contracts[id]
}

func (r *Relay) hasVanished(ev *nostr.Event) bool {
	until, ok := r.vanished[ev.PubKey]
	return ok && until >= int64(ev.CreatedAt)
}

func (r *Relay) takenBack(ev *nostr.Event) (request string, gone bool) {
	if request, gone = r.byID[[2]string{ev.PubKey, ev.ID}]; gone {
		return request, true
	}
	at, ok := r.byPlace[addressOf(ev)]
	return at.request, ok && at.until >= int64(ev.CreatedAt)
}

func addressOf(ev *nostr.Event) string {
	return strconv.Itoa(ev.Kind) + ":" + ev.PubKey + ":" + ev.Tags.GetD()
}

// takeBack is a request by an author that what he said be withdrawn (NIP-09).
func (r *Relay) takeBack(ev *nostr.Event, now int64, imported bool) Answer {
	if r.requests[ev.ID] != nil {
		return Answer{OK: true, Because: []string{"duplicate"}}
	}
	if r.hasVanished(ev) {
		return refused("blocked")
	}
	r.requests[ev.ID] = ev
	for _, tag := range ev.Tags {
		switch {
		case tag[0] == "e":
			key := [2]string{ev.PubKey, tag[1]}
			if _, before := r.byID[key]; !before {
				r.byID[key] = ev.ID
			}
			if it := r.held[tag[1]]; it != nil && it.Event.PubKey == ev.PubKey {
				r.withdraw(it, ev.ID)
			}
		case tag[0] == "a" && strings.Split(tag[1], ":")[1] == ev.PubKey:
			if was, ok := r.byPlace[tag[1]]; !ok || was.until < int64(ev.CreatedAt) {
				r.byPlace[tag[1]] = placeGone{int64(ev.CreatedAt), ev.ID}
			}
			for _, it := range r.held {
				if addressOf(it.Event) == tag[1] && it.Event.CreatedAt <= ev.CreatedAt {
					r.withdraw(it, ev.ID)
				}
			}
		}
	}
	r.took(&Taken{Event: ev, Import: imported})
	return Answer{OK: true}
}

func (r *Relay) withdraw(it *Item, request string) {
	r.unhead(it)
	if !it.Withdrawn {
		it.Withdrawn, it.Request = true, request
	}
}

// unhead leaves an address without a head: no older version takes its place.
func (r *Relay) unhead(it *Item) {
	if r.heads[addressOf(it.Event)] == it {
		delete(r.heads, addressOf(it.Event))
	}
}

// vanish removes everything of an author up to a time (NIP-62).
func (r *Relay) vanish(ev *nostr.Event, imported bool) Answer {
	if r.further[ev.ID] {
		return Answer{OK: true, Because: []string{"duplicate"}}
	}
	if r.hasVanished(ev) {
		return refused("blocked")
	}
	r.further[ev.ID] = true
	r.vanished[ev.PubKey] = int64(ev.CreatedAt)
	for _, it := range r.held {
		if it.Event.PubKey == ev.PubKey && it.Event.CreatedAt <= ev.CreatedAt && !it.Gone {
			r.unhead(it)
			it.Gone, it.Role = true, r.Contracts[it.contract].roleOf(it)
			r.Contracts[it.contract].forget(it)
		}
	}
	for id, request := range r.requests {
		if request.PubKey == ev.PubKey && request.CreatedAt <= ev.CreatedAt {
			delete(r.requests, id)
		}
	}
	r.took(&Taken{Event: ev, Import: imported})
	return Answer{OK: true}
}

// Signed reports whether a request is shown in full with what it withdrew: it is
// here, and all that it names is of the contract.
func (r *Relay) Signed(contract, request string) bool {
	ev := r.requests[request]
	if ev == nil {
		return false
	}
	return !slices.ContainsFunc(ev.Tags, func(tag nostr.Tag) bool {
		switch tag[0] {
		case "e":
			it := r.held[tag[1]]
			return it == nil || it.Gone || it.contract != contract
		case "a":
			parts := strings.SplitN(tag[1], ":", 3)
			return parts[1] != ev.PubKey || parts[2] != contract || parts[0] != strconv.Itoa(KindEntry) && parts[0] != strconv.Itoa(KindState)
		}
		return false
	})
}
