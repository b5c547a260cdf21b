package websocket

import (
	"slices"
	"sync"
)

// field is what the index knows a filter by: the most telling one it has.
type field uint8

const (
	byID field = iota
	byAuthor
	byTag
	byKind
	byAll
)

// placesOf lists where the filters belong, sorted, each place once.
func placesOf(h hasher, filters []matcher) (places []uint64) {
	for i := range filters {
		m := &filters[i]
		switch {
		case m.ids.hashes != nil:
			places = append(places, m.ids.hashes...)
		case m.authors.hashes != nil:
			places = append(places, m.authors.hashes...)
		case len(m.tags) > 0:
			places = append(places, m.tags[0].hashes...)
		case m.kinds != nil:
			for _, kind := range m.kinds {
				places = append(places, h.kind(kind))
			}
		default:
			places = append(places, h.all())
		}
	}
	slices.Sort(places)
	return slices.Clip(slices.Compact(places))
}

// without returns the places that are not among others; both are sorted.
func without(places, others []uint64) []uint64 {
	kept := places[:0:0]
	at := 0
	for _, p := range places {
		at += seek(len(others)-at, func(n int) bool { return others[at+n] >= p })
		if at == len(others) || others[at] != p {
			kept = append(kept, p)
		}
	}
	return kept
}

// index finds the connections that an event may concern by one field of each of
// their filters: what it costs to deliver an event depends on how many want it,
// not on how many there are. Connections are known by small numbers.
type index struct {
	hash   hasher
	mu     sync.RWMutex
	places map[uint64]place
	feeds  []*feed
	free   []uint32
	rounds sync.Pool
}

func newIndex() *index {
	return &index{hash: newHasher(), places: make(map[uint64]place)}
}

// place holds the connections in one place of the index. Most places have one.
type place struct {
	one  uint32
	many *crowd // nil while there is one
}

// crowd is several connections. Large ones also know where in the list each is,
// so that thousands of clients can leave at once.
type crowd struct {
	list []uint32
	at   map[uint32]int
}

// crowdLarge is the size from which a crowd keeps positions.
const crowdLarge = 32

// placesPerLock is how many places are changed before others are let in.
const placesPerLock = 256

// enter gives a connection its number.
func (x *index) enter(f *feed) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if n := len(x.free); n > 0 {
		f.slot = x.free[n-1]
		x.free = x.free[:n-1]
		x.feeds[f.slot] = f
		return
	}
	f.slot = uint32(len(x.feeds))
	x.feeds = append(x.feeds, f)
}

// leave frees a number that is in no place any more.
func (x *index) leave(f *feed) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if int(f.slot) < len(x.feeds) && x.feeds[f.slot] == f {
		x.feeds[f.slot] = nil
		x.free = append(x.free, f.slot)
	}
}

// add puts a connection into places where it is not yet.
func (x *index) add(slot uint32, places []uint64) {
	for part := range slices.Chunk(places, placesPerLock) {
		x.mu.Lock()
		for _, p := range part {
			at, ok := x.places[p]
			switch {
			case !ok:
				at.one = slot
			case at.many == nil:
				at.many = &crowd{list: []uint32{at.one, slot}}
			default:
				at.many.add(slot)
				continue
			}
			x.places[p] = at
		}
		x.mu.Unlock()
	}
}

func (x *index) remove(slot uint32, places []uint64) {
	for part := range slices.Chunk(places, placesPerLock) {
		x.mu.Lock()
		for _, p := range part {
			at, ok := x.places[p]
			if ok && (at.many == nil && at.one == slot || at.many != nil && at.many.remove(slot)) {
				delete(x.places, p)
			}
		}
		x.mu.Unlock()
	}
}

func (b *crowd) add(slot uint32) {
	b.list = append(b.list, slot)
	switch {
	case b.at != nil:
		b.at[slot] = len(b.list) - 1
	case len(b.list) == crowdLarge:
		b.at = make(map[uint32]int, 2*crowdLarge)
		for i, other := range b.list {
			b.at[other] = i
		}
	}
}

func (b *crowd) remove(slot uint32) (empty bool) {
	i := -1
	if b.at == nil {
		i = slices.Index(b.list, slot)
	} else if at, ok := b.at[slot]; ok {
		i = at
		delete(b.at, slot)
	}
	if i < 0 {
		return len(b.list) == 0
	}
	last := len(b.list) - 1
	if i != last {
		b.list[i] = b.list[last]
		if b.at != nil {
			b.at[b.list[i]] = i
		}
	}
	b.list = b.list[:last]
	return last == 0
}

// concerned notes for every connection that the event may concern through which
// places.
func (x *index) concerned(r *round, ev *prepared) {
	r.begin()
	x.mu.RLock()
	defer x.mu.RUnlock()
	for _, p := range ev.places {
		at, ok := x.places[p]
		switch {
		case !ok:
		case at.many == nil:
			r.note(x, at.one, p)
		default:
			for _, slot := range at.many.list {
				r.note(x, slot, p)
			}
		}
	}
}
