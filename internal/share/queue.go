package share

import (
	"container/heap"
	"slices"
)

// Queue holds what waits for one server and gives it out fairly: the next item
// is of the share that has had least, within it of the part, and then of the
// connection that has had least; the items of one connection come in their
// order. The cost of its items measures what each has had (start-time fair
// queueing, as Turns). It is not safe for concurrent use; the zero Queue is
// empty.
type Queue[T any] struct {
	root lane[T]
	free []*lane[T] // for use again
}

// lane is a share, a part or a connection with items, or one that has had so
// much lately that it is not level with the others yet.
type lane[T any] struct {
	key     laneKey
	clock   float64 // what it has had
	floor   float64 // of those below: the clock of the one served last
	arrived uint64  // order among lanes of one clock
	last    uint64  // given to one below
	at      int     // in the ready lanes above
	n       int     // items in and below it
	cost    float64 // theirs
	ready   lanes[T]
	below   map[laneKey]*lane[T]
	items   []queued[T] // of a connection; those before first are gone
	first   int
}

// laneKey names a lane among those beside it: by text, or by number.
type laneKey struct {
	text   string
	number uint64
}

type queued[T any] struct {
	item T
	cost float64
}

// Push puts an item behind those of its connection. Cost is what it takes of
// the server, in any unit; none is for nothing.
func (q *Queue[T]) Push(who Who, item T, cost float64) {
	at := q.enter(who, max(cost, 1), 0)
	at.items = append(at.items, queued[T]{item, max(cost, 1)})
}

// PutBack puts an item that Pop gave, and that was not served, in front of
// those of its connection, and takes off what it was charged. Of several, the
// one that was taken last comes first.
func (q *Queue[T]) PutBack(who Who, item T, cost float64) {
	at := q.enter(who, max(cost, 1), max(cost, 1))
	back := queued[T]{item, max(cost, 1)}
	if at.first > 0 {
		at.first--
		at.items[at.first] = back
		return
	}
	at.items = slices.Insert(at.items, 0, back)
}

// enter finds the connection of an item that is put in, counts it, and takes
// off what was charged for it before.
func (q *Queue[T]) enter(who Who, cost, charged float64) *lane[T] {
	at := &q.root
	at.n++
	at.cost += cost
	for _, key := range [3]laneKey{{text: who.Share}, {text: who.Part}, {number: who.Conn}} {
		next := at.below[key]
		if next == nil {
			next = q.add(at, key)
		}
		if next.n == 0 {
			next.clock = max(next.clock-charged, at.floor)
			at.last++
			next.arrived = at.last
			heap.Push(&at.ready, next)
		} else if charged > 0 {
			next.clock = max(next.clock-charged, at.floor)
			heap.Fix(&at.ready, next.at)
		}
		next.n++
		next.cost += cost
		at = next
	}
	return at
}

// Next returns the item that Pop would take, and its cost; ok is false when
// there is none.
func (q *Queue[T]) Next() (item T, cost float64, ok bool) {
	at := &q.root
	if at.n == 0 {
		return item, 0, false
	}
	for len(at.ready) > 0 {
		at = at.ready[0]
	}
	next := &at.items[at.first]
	return next.item, next.cost, true
}

// Pop takes the item whose turn it is.
func (q *Queue[T]) Pop() (item T, ok bool) {
	if q.root.n == 0 {
		return item, false
	}
	path := [4]*lane[T]{&q.root}
	for i := range 3 {
		path[i+1] = path[i].ready[0]
	}
	first := path[3].pop()
	q.root.n--
	q.root.cost -= first.cost
	for i := 3; i > 0; i-- {
		q.served(path[i-1], path[i], first.cost)
	}
	return first.item, true
}

// pop takes a connection's first item.
func (l *lane[T]) pop() queued[T] {
	item := l.items[l.first]
	l.items[l.first] = queued[T]{}
	l.first++
	switch rest := len(l.items) - l.first; {
	case rest == 0:
		l.items, l.first = l.items[:0], 0
	case l.first > maxFree && rest <= l.first:
		copy(l.items, l.items[l.first:])
		clear(l.items[rest:])
		l.items, l.first = l.items[:rest], 0
	}
	return item
}

// Len returns how many items wait.
func (q *Queue[T]) Len() int { return q.root.n }

// Cost returns what all that wait cost.
func (q *Queue[T]) Cost() float64 { return q.root.cost }

// Shares returns how many shares have something waiting.
func (q *Queue[T]) Shares() int { return len(q.root.ready) }

// Of returns how many items of a share wait, and what they cost.
func (q *Queue[T]) Of(share string) (n int, cost float64) {
	if l := q.root.below[laneKey{text: share}]; l != nil {
		return l.n, l.cost
	}
	return 0, 0
}

// Has reports whether a connection has anything waiting.
func (q *Queue[T]) Has(who Who) bool {
	at := &q.root
	for _, key := range [3]laneKey{{text: who.Share}, {text: who.Part}, {number: who.Conn}} {
		if at = at.below[key]; at == nil || at.n == 0 {
			return false
		}
	}
	return true
}

func (q *Queue[T]) add(above *lane[T], key laneKey) *lane[T] {
	if above.below == nil {
		above.below = make(map[laneKey]*lane[T])
	}
	if len(above.below) >= maxIdle {
		q.sweep(above)
	}
	var l *lane[T]
	if last := len(q.free) - 1; last >= 0 {
		l, q.free = q.free[last], q.free[:last]
	} else {
		l = &lane[T]{}
	}
	l.key, l.clock = key, above.floor
	above.below[key] = l
	return l
}

// served charges a lane of which an item was taken. One that has nothing left
// is kept while others wait beside it, because it is ahead of them.
func (q *Queue[T]) served(above, l *lane[T], cost float64) {
	above.floor = max(above.floor, l.clock)
	l.clock += cost
	l.n--
	l.cost -= cost
	if l.n > 0 {
		heap.Fix(&above.ready, l.at)
		return
	}
	heap.Pop(&above.ready)
	if len(above.ready) > 0 {
		return
	}
	for _, l := range above.below {
		q.forget(above, l)
	}
	above.floor = 0
}

// sweep forgets lanes that have nothing waiting: those that are level with the
// others, or all of them if that is not enough.
func (q *Queue[T]) sweep(above *lane[T]) {
	for _, all := range []bool{false, true} {
		for _, l := range above.below {
			if l.n == 0 && (all || l.clock <= above.floor) {
				q.forget(above, l)
			}
		}
		if len(above.below) < maxIdle {
			return
		}
	}
}

// maxFree is how many lanes are kept for use again.
const maxFree = 64

// forget drops a lane that has nothing waiting, in it or below.
func (q *Queue[T]) forget(above, l *lane[T]) {
	delete(above.below, l.key)
	if len(q.free) < maxFree && cap(l.items) <= maxFree {
		*l = lane[T]{below: l.below, ready: l.ready, items: l.items[:0]}
		q.free = append(q.free, l)
	}
}

// lanes are those with items, as a heap: least had in front, then first come.
type lanes[T any] []*lane[T]

func (s lanes[T]) Len() int { return len(s) }

func (s lanes[T]) Less(i, j int) bool {
	if s[i].clock != s[j].clock {
		return s[i].clock < s[j].clock
	}
	return s[i].arrived < s[j].arrived
}

func (s lanes[T]) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].at, s[j].at = i, j
}

// Push and Pop are heap.Interface's.
func (s *lanes[T]) Push(x any) {
	l := x.(*lane[T])
	l.at = len(*s)
	*s = append(*s, l)
}

// Pop takes the last one.
func (s *lanes[T]) Pop() any {
	last := len(*s) - 1
	l := (*s)[last]
	(*s)[last] = nil
	*s = (*s)[:last]
	return l
}
