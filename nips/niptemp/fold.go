package niptemp

import (
	"cmp"
	"slices"

	"github.com/nbd-wtf/go-nostr"
)

// Step is what one kind-30091 event says, as a value that can be kept apart
// from the event.
type Step struct {
	Contract         string
	ID               string // the event's
	Author, To       string // pubkeys
	Status, Previous Status // Previous is empty where it names none
	CreatedAt        int64

	second string // the pubkey of the second p tag, which decisions have
}

// StepOf reads the move of a party. It judges it as CheckStateShape does.
func StepOf(ev *nostr.Event) (Step, error) {
	p, err := parseState(ev)
	if err == nil && p.second != "" {
		return Step{}, invalid("it has two p tags: that is a decision, and no move of a party")
	}
	return p, err
}

// compare returns the order in which an author signed: created_at, then id.
func (p Step) compare(o Step) int {
	return cmp.Or(cmp.Compare(p.CreatedAt, o.CreatedAt), cmp.Compare(p.ID, o.ID))
}

// Folded is where steps lead that came in any order.
type Folded struct {
	State State
	// Chain holds the ids of the steps that led there, from the open on. What is
	// not in it does not follow.
	Chain []string
	// Unproven says that no open was found: the state is that of the newest step.
	Unproven bool
}

// Fold finds the state of a contract between two keys, or, for an offer that
// names nobody yet, between a poster and the poster's own key (a == b), from
// all known steps of the two and the opens that either addressed to their own
// key. The order in which they are given has no effect. owner is the contract's
// owner, "" if that is not known: then the first open counts. ok is false if
// there is no state between the two.
//
// A state follows by the rules of Next and CheckTime. As each author's states
// rise in created_at, an author's next one is the oldest that is left; it is
// passed over only when nothing else follows.
func Fold(a, b, owner string, steps []Step) (f Folded, ok bool) {
	var pair, offers, closed []Step
	for _, p := range steps {
		switch {
		case p.Author == a && p.To == b || p.Author == b && p.To == a:
			pair = append(pair, p)
		case p.Author != p.To || p.Author != a && p.Author != b:
		case p.Status == Open:
			offers = append(offers, p)
		default:
			closed = append(closed, p)
		}
	}
	if len(pair) == 0 {
		return Folded{}, false
	}
	// The owner's open counts before another's, one to the other before an offer
	// to everybody.
	if owner != a && owner != b {
		owner = ""
	}
	began := false
	for _, by := range slices.Compact([]string{owner, ""}) {
		if root := firstOpen(pair, by); root != nil {
			return follow(*root, pair), true
		}
		root := firstOpen(offers, by)
		if root == nil {
			continue
		}
		began = true
		if f := follow(*root, beforeEnd(pair, closed, *root)); len(f.Chain) > 0 {
			return f, true
		}
	}
	if began { // an offer that the other has not taken up is no state of the two
		return Folded{}, false
	}
	return unproven(pair, owner), true
}

// follow returns where steps lead from an open, which is one of them or was
// addressed to its author.
func follow(root Step, pair []Step) (f Folded) {
	s := root.begin()
	f.State, f.Chain = s.Follow(map[string]int64{root.Author: root.CreatedAt}, pair)
	if slices.ContainsFunc(pair, func(p Step) bool { return p.ID == root.ID }) {
		f.Chain = append([]string{root.ID}, f.Chain...)
	}
	return f
}

// firstOpen returns the oldest open by a key, "" for anybody; nil for none.
func firstOpen(steps []Step, by string) *Step {
	var first *Step
	for i, p := range steps {
		if p.Status != Open || p.Previous != "" && p.Previous != Open || by != "" && p.Author != by {
			continue
		}
		if first == nil || p.compare(*first) < 0 {
			first = &steps[i]
		}
	}
	return first
}

// beforeEnd leaves out what takes an offer up after its poster has ended it.
func beforeEnd(pair, closed []Step, offer Step) []Step {
	return slices.DeleteFunc(slices.Clone(pair), func(p Step) bool {
		return p.Previous == Open && slices.ContainsFunc(closed, func(end Step) bool {
			return end.Author == offer.Author && end.Previous == Open && offer.CreatedAt < end.CreatedAt && end.compare(p) < 0
		})
	})
}

// unproven returns the state of the newest step. Who the poster is follows from
// the owner, or from who could make the move.
func unproven(pair []Step, owner string) Folded {
	newest := slices.MaxFunc(pair, func(p, o Step) int {
		return cmp.Or(cmp.Compare(p.CreatedAt, o.CreatedAt), cmp.Compare(o.ID, p.ID))
	})
	s := newest.begin()
	byWorker := newest.Status != Open && mover(newest.Previous, newest.Status) == worker
	if newest.Author != newest.To && (newest.To == owner || byWorker && newest.Author != owner) {
		s.Poster, s.Worker = newest.To, newest.Author
	}
	return Folded{State: s, Unproven: true}
}

// Follow adopts from s on what follows among steps, and returns the state after
// it and the ids of what was adopted, in order. last holds the created_at of
// each author's last state, and is brought up to date.
func (s State) Follow(last map[string]int64, steps []Step) (State, []string) {
	byAuthor := map[string]*authored{}
	var authors []*authored
	steps = slices.Clone(steps)
	slices.SortFunc(steps, Step.compare)
	for _, p := range steps {
		w := byAuthor[p.Author]
		if w == nil {
			w = &authored{after: map[Status][]Step{}}
			byAuthor[p.Author], authors = w, append(authors, w)
		}
		w.all = append(w.all, p)
		w.after[p.Previous] = append(w.after[p.Previous], p)
	}
	var chain []string
	for {
		var best *candidate
		for _, w := range authors {
			if c := w.next(&s, last); c != nil && (best == nil || c.before(best)) {
				best = c
			}
		}
		if best == nil {
			return s, chain
		}
		s, last[best.Author] = best.leads, best.CreatedAt
		chain = append(chain, best.ID)
	}
}

// authored are the steps of one author that may still be adopted, oldest first.
type authored struct {
	all   []Step
	after map[Status][]Step // by the status they follow
}

// candidate is a step that follows.
type candidate struct {
	Step
	leads State
	due   bool // its author has no older one left
}

func (c *candidate) before(o *candidate) bool {
	if c.due != o.due {
		return c.due
	}
	return c.compare(o.Step) < 0
}

// next returns the author's first step that follows s. What cannot follow the
// same status now never will, and is passed over for good: all of them together
// cost no more than there are.
func (w *authored) next(s *State, last map[string]int64) *candidate {
	for len(w.after[s.Status]) > 0 {
		p := w.after[s.Status][0]
		leads, err := s.next(p)
		if err == nil {
			err = s.CheckTime(p.CreatedAt, last[p.Author])
		}
		if err == nil {
			for len(w.all) > 0 && w.all[0].CreatedAt <= last[p.Author] {
				w.all = w.all[1:]
			}
			return &candidate{Step: p, leads: leads, due: len(w.all) > 0 && w.all[0].ID == p.ID}
		}
		w.after[s.Status] = w.after[s.Status][1:]
	}
	return nil
}
