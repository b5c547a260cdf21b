package fairness

// chain is a doubly linked list of things that have their link in themselves,
// so that nothing is allocated for it.
type chain[T any] struct {
	first, last *link[T]
	n           int
}

type link[T any] struct {
	prev, next *link[T]
	of         *T
}

// push puts a thing at the end, by its link.
func (l *chain[T]) push(at *link[T], of *T) {
	*at = link[T]{prev: l.last, of: of}
	if l.last == nil {
		l.first = at
	} else {
		l.last.next = at
	}
	l.last = at
	l.n++
}

// remove takes a thing out that is in the list.
func (l *chain[T]) remove(at *link[T]) {
	if at.prev == nil {
		l.first = at.next
	} else {
		at.prev.next = at.next
	}
	if at.next == nil {
		l.last = at.prev
	} else {
		at.next.prev = at.prev
	}
	*at = link[T]{}
	l.n--
}

// ordered is a heap of things that know their place in it, the first in front.
type ordered[T interface {
	before(T) bool
	place() *int // -1 when it is not among them
}] []T

func (h *ordered[T]) push(x T) {
	*x.place() = len(*h)
	*h = append(*h, x)
	h.fix(x)
}

func (h *ordered[T]) remove(x T) {
	end := len(*h) - 1
	last, at := (*h)[end], *x.place()
	clear((*h)[end:])
	*h = (*h)[:end]
	if *x.place() = -1; at != end {
		(*h)[at], *last.place() = last, at
		h.fix(last)
	}
}

// fix puts a thing that has changed where it belongs.
func (h *ordered[T]) fix(x T) {
	all, at := *h, *x.place()
	set := func(other T, to int) { all[to], *other.place() = other, to }
	for at > 0 && x.before(all[(at-1)/2]) {
		set(all[(at-1)/2], at)
		at = (at - 1) / 2
	}
	for {
		child := 2*at + 1
		if child+1 < len(all) && all[child+1].before(all[child]) {
			child++
		}
		if child >= len(all) || !all[child].before(x) {
			break
		}
		set(all[child], at)
		at = child
	}
	set(x, at)
}

// waiting is a node in which turns of a sort wait. The one with the lowest clock
// comes first.
type waiting struct {
	*node
	sort sort
}

func (w waiting) place() *int { return &w.at[w.sort] }

func (w waiting) before(other waiting) bool {
	if w.clock != other.clock {
		return w.clock < other.clock
	}
	return w.order < other.order
}
