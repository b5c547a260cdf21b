package fairness

import (
	"slices"
)

// Queue holds what waits for one server and gives it out fairly: the next item
// is of the share that will have had least with it, within that of such a part,
// and then of such a connection; the items of one connection come in their
// order. What was had is the items' cost (weighted fair queueing). A share with
// a small item comes before others that are level and have large ones: if only
// what they have had counted, it would wait for one item of each. It is not
// safe for concurrent use; the zero Queue is empty.
type Queue[T any] struct {
	root lane[T]
	free []*lane[T] // for use again
}

// lane is a share, a part or a connection with items, or one that has had so
// much lately that it is not level with the others yet.
type lane[T any] struct {
	key     laneKey
	clock   float64 // what it has had, from the floor on that it began at
	had     float64 // of that, since it is remembered
	floor   float64 // what one below begins with at least: about what the last one served had had
	arrived uint64  // order among lanes that are level
	last    uint64  // given to one below
	at      int     // in the ready lanes above, -1 when it is not among them
	n       int     // items in and below it
	cost    float64 // theirs
	ready   ordered[*lane[T]]
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
	path := q.enter(who, max(cost, 1), 0)
	at := path[3]
	at.items = append(at.items, queued[T]{item, max(cost, 1)})
	path.place()
}

// PutBack puts an item that Pop gave, and that was not served, in front of those
// of its connection, and takes off what it was charged. Of several, the one that
// was taken last comes first.
func (q *Queue[T]) PutBack(who Who, item T, cost float64) {
	path := q.enter(who, max(cost, 1), max(cost, 1))
	at, back := path[3], queued[T]{item, max(cost, 1)}
	if at.first > 0 {
		at.first--
		at.items[at.first] = back
	} else {
		at.items = slices.Insert(at.items, 0, back)
	}
	path.place()
}

// path leads from the root over a share and a part to a connection.
type path[T any] [4]*lane[T]

// enter finds the connection of an item that is to be put in, counts it, and
// takes off what was charged for it before.
func (q *Queue[T]) enter(who Who, cost, charged float64) (to path[T]) {
	at := &q.root
	at.n++
	at.cost += cost
	to[0] = at
	for i, key := range [3]laneKey{{text: who.Share}, {text: who.Part}, {number: who.Conn}} {
		next := at.below[key]
		switch {
		case next == nil:
			next = q.add(at, key)
		case charged > 0:
			if back := min(charged, next.had); back > 0 {
				next.clock, next.had = next.clock-back, next.had-back
				at.floor = min(at.floor, next.clock) // as it was before
			}
		case next.n == 0:
			next.clock = max(next.clock, at.floor)
		}
		if next.n == 0 {
			at.last++
			next.arrived = at.last
		}
		next.n++
		next.cost += cost
		at, to[i+1] = next, next
	}
	return to
}

// place puts the lanes of a path where they belong among those beside them, from
// below: an item may have become the next one of all that are above it.
func (p path[T]) place() {
	for i := len(p) - 1; i > 0; i-- {
		if l, ready := p[i], &p[i-1].ready; l.at < 0 {
			ready.push(l)
		} else {
			ready.fix(l)
		}
	}
}

// Next returns the item that Pop would take, and its cost; ok is false when
// there is none.
func (q *Queue[T]) Next() (item T, cost float64, ok bool) {
	at := &q.root
	if at.n == 0 {
		return item, 0, false
	}
	next := at.next()
	return next.item, next.cost, true
}

// after is what a lane that has items will have had with the next one.
func (l *lane[T]) after() float64 { return l.clock + l.next().cost }

// next is the item that is taken next of a lane that has some.
func (l *lane[T]) next() *queued[T] {
	for len(l.ready) > 0 {
		l = l.ready[0]
	}
	return &l.items[l.first]
}

// Pop takes the item whose turn it is.
func (q *Queue[T]) Pop() (item T, ok bool) {
	if q.root.n == 0 {
		return item, false
	}
	path := path[T]{&q.root}
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
	l.key, l.clock, l.had, l.at = key, above.floor, 0, -1
	above.below[key] = l
	return l
}

// rising is how many times its own cost a large item waits at most for small ones
// of lanes that nobody knew: each of them raises the floor at which the next one
// begins by this part of its cost.
const rising = 64

// served charges a lane of which an item was taken. One that has nothing left is
// kept while others wait beside it, because it is ahead of them.
func (q *Queue[T]) served(above, l *lane[T], cost float64) {
	above.floor = max(above.floor+cost/rising, l.clock)
	l.clock, l.had = l.clock+cost, l.had+cost
	l.n--
	l.cost -= cost
	if l.n > 0 {
		above.ready.fix(l)
		return
	}
	above.ready.remove(l)
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

// before orders lanes with items: in front is the one that will have had least once
// its next item is served, then the one that came first.
func (l *lane[T]) before(other *lane[T]) bool {
	if a, b := l.after(), other.after(); a != b {
		return a < b
	}
	return l.arrived < other.arrived
}

func (l *lane[T]) place() *int { return &l.at }
