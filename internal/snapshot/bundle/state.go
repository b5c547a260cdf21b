package bundle

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
)

// State is which events a bundle stands for, and as what: its own and those of
// its parents that are still there. It holds ids and addresses, no events;
// about 220 bytes for each.
type State struct {
	items map[[32]byte]item
	heads map[address][32]byte
}

type item struct {
	addr    address
	class   class8
	own     bool // given by the bundle itself, or seen by its writer
	created int64
}

// class8 is a Class in one byte: there is one for each event of a bundle.
type class8 uint8

func newState() *State {
	return &State{items: map[[32]byte]item{}, heads: map[address][32]byte{}}
}

// child returns a copy for a bundle that rests on this one.
func (s *State) child() *State {
	c := newState()
	if s == nil {
		return c
	}
	maps.Copy(c.items, s.items)
	maps.Copy(c.heads, s.heads)
	c.rebase()
	return c
}

// Len returns the number of events.
func (s *State) Len() int { return len(s.items) }

// add takes an event in. A head takes the place of the one at its address,
// which becomes history. It reports whether the event was not there as this
// class before, and an error if the bundle itself has given it already.
func (s *State) add(r *record, class Class) (added bool, err error) {
	old, ok := s.items[r.id]
	if ok && old.own {
		return false, fmt.Errorf("event %s is there twice", r.ev.ID)
	}
	if class.isHead() {
		if head, taken := s.heads[r.addr]; taken && head != r.id {
			it := s.items[head]
			if it.own {
				return false, fmt.Errorf("events %x and %s are heads of one address", head, r.ev.ID)
			}
			it.class = class8(History)
			s.items[head] = it
		}
		s.heads[r.addr] = r.id
	} else if ok && s.heads[r.addr] == r.id {
		delete(s.heads, r.addr)
	}
	s.items[r.id] = item{addr: r.addr, class: class8(class), own: true, created: int64(r.ev.CreatedAt)}
	return !ok || Class(old.class) != class, nil
}

// take is add for a writer, which is forgiven that a source gives an event
// twice.
func (s *State) take(r *record, class Class) (added bool, err error) {
	if it, ok := s.items[r.id]; ok && it.own && Class(it.class) == class {
		return false, nil
	}
	return s.add(r, class)
}

// rebase makes the state that of a bundle which rests on it.
func (s *State) rebase() {
	for id, it := range s.items {
		if it.own {
			it.own = false
			s.items[id] = it
		}
	}
}

// remove takes out what the parents had and is no more.
func (s *State) remove(id [32]byte) error {
	it, ok := s.items[id]
	if !ok {
		return fmt.Errorf("event %x is said to be gone and was not there", id)
	}
	if it.own {
		return fmt.Errorf("event %x is said to be gone and is there", id)
	}
	if s.heads[it.addr] == id && Class(it.class).isHead() {
		delete(s.heads, it.addr)
	}
	delete(s.items, id)
	return nil
}

// unseen returns the ids that the parents gave and the bundle did not, sorted.
func (s *State) unseen() [][32]byte {
	var ids [][32]byte
	for id, it := range s.items {
		if !it.own {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b [32]byte) int { return bytes.Compare(a[:], b[:]) })
	return ids
}

// root is HeadsRoot of the engram heads.
func (s *State) root() [32]byte {
	leaves := make([]Leaf, 0, len(s.heads))
	for addr, id := range s.heads {
		if addr[0] == addrEngram {
			leaves = append(leaves, NewLeaf([32]byte(addr[1:]), id, s.items[id].created))
		}
	}
	return HeadsRoot(leaves)
}

// checkHeads checks that no event of the state supersedes the head of its
// address (NIP-01: greater created_at, between equals the lower id). It returns
// the number that do and the first of them by id.
func (s *State) checkHeads() (int, error) {
	wrong, first := 0, [32]byte{}
	for id, it := range s.items {
		head, ok := s.heads[it.addr]
		if !ok || head == id || it.addr[0] == addrNone {
			continue
		}
		of := s.items[head].created
		if it.created > of || it.created == of && bytes.Compare(id[:], head[:]) < 0 {
			if wrong == 0 || bytes.Compare(id[:], first[:]) < 0 {
				first = id
			}
			wrong++
		}
	}
	if wrong == 0 {
		return 0, nil
	}
	return wrong, fmt.Errorf("event %x supersedes %x, which is given as the head", first, s.heads[s.items[first].addr])
}
