package session

import (
	"cmp"
	"slices"
	"sync"

	"github.com/nbd-wtf/go-nostr"
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

// key is one place in the index.
type key struct {
	field field
	tag   string // name of the tag, for byTag
	kind  int    // for byKind
	value string
}

// keysOf lists where the filters belong, each place once.
func keysOf(filters []matcher) (keys []key) {
	for i := range filters {
		m := &filters[i]
		switch {
		case m.ids != nil:
			for _, id := range m.ids {
				keys = append(keys, key{field: byID, value: id})
			}
		case m.authors != nil:
			for _, author := range m.authors {
				keys = append(keys, key{field: byAuthor, value: author})
			}
		case len(m.tags) > 0:
			for _, value := range m.tags[0].values {
				keys = append(keys, key{field: byTag, tag: m.tags[0].name, value: value})
			}
		case m.kinds != nil:
			for _, kind := range m.kinds {
				keys = append(keys, key{field: byKind, kind: kind})
			}
		default:
			keys = append(keys, key{field: byAll})
		}
	}
	if len(filters) > 1 {
		slices.SortFunc(keys, func(a, b key) int {
			return cmp.Or(cmp.Compare(a.field, b.field), cmp.Compare(a.kind, b.kind),
				cmp.Compare(a.tag, b.tag), cmp.Compare(a.value, b.value))
		})
		keys = slices.Compact(keys)
	}
	return keys
}

// lookFor lists every place where a subscription that matches the event can be.
func lookFor(dst []key, ev *nostr.Event) []key {
	dst = append(dst, key{field: byAll}, key{field: byKind, kind: ev.Kind},
		key{field: byAuthor, value: ev.PubKey}, key{field: byID, value: ev.ID})
	for _, tag := range ev.Tags {
		if len(tag) >= 2 && len(tag[0]) == 1 {
			dst = append(dst, key{field: byTag, tag: tag[0], value: tag[1]})
		}
	}
	return dst
}

// index finds the subscriptions that an event may concern by one field of each
// of their filters: what it costs to deliver an event depends on how many want
// it, not on how many there are.
type index struct {
	mu      sync.RWMutex
	buckets map[key]*bucket
	scratch sync.Pool
}

// bucket holds the subscriptions in one place. Large ones also know where in
// the list each is, so that thousands of clients can leave at once.
type bucket struct {
	list []*subscription
	at   map[*subscription]int
}

// bucketLarge is the size from which a bucket keeps positions.
const bucketLarge = 32

// lockFor is how many places are changed before others are let in.
const lockFor = 256

func (x *index) add(s *subscription) {
	for part := range slices.Chunk(s.keys, lockFor) {
		x.mu.Lock()
		if x.buckets == nil {
			x.buckets = make(map[key]*bucket)
		}
		for _, k := range part {
			b := x.buckets[k]
			if b == nil {
				b = &bucket{}
				x.buckets[k] = b
			}
			b.add(s)
		}
		x.mu.Unlock()
	}
}

func (x *index) remove(s *subscription) {
	for part := range slices.Chunk(s.keys, lockFor) {
		x.mu.Lock()
		for _, k := range part {
			if b := x.buckets[k]; b != nil && b.remove(s) {
				delete(x.buckets, k)
			}
		}
		x.mu.Unlock()
	}
}

func (b *bucket) add(s *subscription) {
	b.list = append(b.list, s)
	switch {
	case b.at != nil:
		b.at[s] = len(b.list) - 1
	case len(b.list) == bucketLarge:
		b.at = make(map[*subscription]int, 2*bucketLarge)
		for i, other := range b.list {
			b.at[other] = i
		}
	}
}

func (b *bucket) remove(s *subscription) (empty bool) {
	i := -1
	if b.at == nil {
		i = slices.Index(b.list, s)
	} else if at, in := b.at[s]; in {
		i = at
		delete(b.at, s)
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
	b.list[last] = nil
	b.list = b.list[:last]
	return last == 0
}

// found is what delivery works with; they are used again.
type found struct {
	keys  []key
	subs  []*subscription
	start []*conn // whose writers must be started
}

// clear forgets what was found, so that it can be freed.
func (f *found) clear() {
	clear(f.keys[:cap(f.keys)])
	clear(f.subs[:cap(f.subs)])
	clear(f.start[:cap(f.start)])
	if cap(f.keys) > 1<<10 || cap(f.subs) > 16<<10 {
		*f = found{}
	}
}

// concerned appends every subscription that the event may concern, each once.
func (x *index) concerned(f *found, ev *nostr.Event) {
	f.keys = lookFor(f.keys[:0], ev)
	f.subs = f.subs[:0]
	places := 0
	x.mu.RLock()
	for _, k := range f.keys {
		if b := x.buckets[k]; b != nil {
			f.subs = append(f.subs, b.list...)
			places++
		}
	}
	x.mu.RUnlock()
	if places > 1 {
		slices.SortFunc(f.subs, func(a, b *subscription) int { return cmp.Compare(a.order, b.order) })
		f.subs = slices.Compact(f.subs)
	}
}
