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

// clocks is a heap of nodes in which turns of one sort wait, the lowest clock
// first. A node knows its place in it.
type clocks []*node

func (n *node) before(other *node) bool {
	if n.clock != other.clock {
		return n.clock < other.clock
	}
	return n.order < other.order
}

func (h *clocks) push(n *node, s sort) {
	n.at[s] = len(*h)
	*h = append(*h, n)
	h.fix(n, s)
}

func (h *clocks) remove(n *node, s sort) {
	end := len(*h) - 1
	last, at := (*h)[end], n.at[s]
	(*h)[end] = nil
	*h = (*h)[:end]
	if last != n {
		(*h)[at], last.at[s] = last, at
		h.fix(last, s)
	}
}

// fix puts a node where its clock belongs.
func (h *clocks) fix(n *node, s sort) {
	nodes := *h
	at := n.at[s]
	set := func(other *node, to int) {
		nodes[to], other.at[s] = other, to
	}
	for at > 0 && n.before(nodes[(at-1)/2]) {
		set(nodes[(at-1)/2], at)
		at = (at - 1) / 2
	}
	for {
		child := 2*at + 1
		if child+1 < len(nodes) && nodes[child+1].before(nodes[child]) {
			child++
		}
		if child >= len(nodes) || !nodes[child].before(n) {
			break
		}
		set(nodes[child], at)
		at = child
	}
	set(n, at)
}
