package niptemp

import "github.com/nbd-wtf/go-nostr"

// Adopt applies a kind-30091 event that comes by import or restore, where the
// lifecycle is not checked: the newest event wins, ties by lowest id. It
// returns the pair's state after it and whether that differs from current
// (which is chosen as for Next; nil for none).
//
// Events may come in any order, so who the poster is may have to be inferred:
// from the state that is known, else from who could make the move. An older
// open arriving later sets it right without changing the status.
func Adopt(current *State, ev *nostr.Event) (State, bool) {
	t, err := parseTransition(ev)
	if err != nil || current != nil && t.contract != current.Contract {
		if current == nil {
			return State{}, false
		}
		return *current, false
	}
	if current == nil {
		return t.adopted(ev), true
	}
	next := t.adopted(ev)
	ownPair := current.Worker != "" || t.author == t.to
	if t.status != Open {
		next.Poster, next.Worker = current.Poster, current.Worker
		if !ownPair {
			// The open addressed to the poster himself, seen from a pair.
			next.Worker = t.to
			if t.author != current.Poster {
				next.Worker = t.author
			}
		}
	}
	newer := next.CreatedAt > current.CreatedAt ||
		next.CreatedAt == current.CreatedAt && next.EventID < current.EventID
	switch {
	case newer || !ownPair:
		return next, next != *current
	case t.status == Open:
		old := *current
		old.Poster, old.Worker = next.Poster, next.Worker
		return old, old != *current
	default:
		return *current, false
	}
}

// adopted is the state that t leads to where nothing else is known.
func (t transition) adopted(ev *nostr.Event) State {
	s := t.begin(ev)
	if t.author != t.to && t.status != Open && mover(t.previous, t.status) == worker {
		s.Poster, s.Worker = t.to, t.author
	}
	return s
}
