package fairness

// sort is what somebody waits for.
type sort int

const (
	newQuick sort = iota // the first place, for a look-up
	newSlow              // the first place, for more
	paused               // another place, for what is under way
	numSorts
)

// sorts is a set of them.
type sorts [numSorts]bool

// tree holds who waits, and has had something lately: shares, their parts, and
// connections as leaves.
type tree struct {
	root   *node
	nodes  map[nodeName]*node
	idle   chain[node] // connections that have nothing to do, the longest idle first
	orders uint64
	debt   float64 // most that is remembered of who was idle; 0 is all
}

// nodeName names a node: level 0 is a share, 1 a part, 2 a connection.
type nodeName struct {
	level int
	who   Who
}

// node is a share, a part or a connection. Its clock is what it has had, in
// units.
type node struct {
	name     nodeName
	path     [3]*node // from the share down to itself
	parent   *node
	children int
	clock    float64
	order    uint64  // among those with the same clock
	floor    float64 // of its children: the clock of the one served last
	active   int     // turns held, waited for or under way below it
	under    int     // turns under way below it
	waiting  [numSorts]int
	heaps    [numSorts]ordered[waiting] // children with turns of a sort waiting
	at       [numSorts]int              // its places in its parent's heaps
	queues   [numSorts]chain[Turn]      // of a connection
	idle     link[node]
}

// maxIdle is how many connections that have nothing to do are remembered.
const maxIdle = 4096

func newTree() tree { return tree{root: &node{}, nodes: make(map[nodeName]*node)} }

// enter returns the node of a connection and counts one more turn there.
func (t *tree) enter(who Who) *node {
	who.Exempt = false
	leaf := t.nodes[nodeName{2, who}]
	if leaf == nil {
		share := t.node(t.root, nodeName{0, Who{Share: who.Share}})
		part := t.node(share, nodeName{1, Who{Share: who.Share, Part: who.Part}})
		leaf = t.node(part, nodeName{2, who})
		leaf.path = [3]*node{share, part, leaf}
	} else if leaf.active == 0 {
		t.idle.remove(&leaf.idle)
	}
	for _, n := range leaf.path {
		if n.active == 0 {
			t.orders++
			n.clock, n.order = max(n.clock, n.parent.floor), t.orders
			if t.debt > 0 {
				n.clock = min(n.clock, n.parent.floor+t.debt)
			}
		}
		n.active++
	}
	return leaf
}

func (t *tree) node(parent *node, name nodeName) *node {
	n := t.nodes[name]
	if n == nil {
		n = &node{name: name, parent: parent}
		parent.children++
		t.nodes[name] = n
	}
	return n
}

// release counts one turn less. A connection that has nothing to do any more is
// remembered, among a number of others.
func (t *tree) release(leaf *node) {
	for _, n := range leaf.path {
		n.active--
	}
	if leaf.active > 0 {
		return
	}
	t.idle.push(&leaf.idle, leaf)
	if t.idle.n <= maxIdle {
		return
	}
	oldest := t.idle.first.of
	t.idle.remove(&oldest.idle)
	for n := oldest; n != t.root && n.children == 0; n = n.parent {
		delete(t.nodes, n.name)
		n.parent.children--
	}
}

// push puts a turn behind the others of its connection.
func (t *tree) push(turn *Turn) {
	t.orders++
	turn.order, turn.waits = t.orders, true
	turn.leaf.queues[turn.sort].push(&turn.queued, turn)
	for _, n := range turn.leaf.path {
		if n.waiting[turn.sort]++; n.waiting[turn.sort] == 1 {
			n.parent.heaps[turn.sort].push(waiting{n, turn.sort})
		}
	}
}

// remove takes a turn out that waits.
func (t *tree) remove(turn *Turn) {
	turn.waits = false
	turn.leaf.queues[turn.sort].remove(&turn.queued)
	for _, n := range turn.leaf.path {
		if n.waiting[turn.sort]--; n.waiting[turn.sort] == 0 {
			n.parent.heaps[turn.sort].remove(waiting{n, turn.sort})
		}
	}
}

// next returns the turn that is to be served next of those that are of certain
// sorts.
func (t *tree) next(which sorts) *Turn {
	at := t.root
	for range at.path {
		var best waiting
		for s, wanted := range which {
			if h := at.heaps[s]; wanted && len(h) > 0 && (best.node == nil || h[0].before(best)) {
				best = h[0]
			}
		}
		if best.node == nil {
			return nil
		}
		at = best.node
	}
	var first *Turn
	for s, wanted := range which {
		if head := at.queues[s].first; wanted && head != nil && (first == nil || head.of.order < first.order) {
			first = head.of
		}
	}
	return first
}

// served notes that it was the turn of a connection: who comes later starts
// level.
func (leaf *node) served() {
	for _, n := range leaf.path {
		n.parent.floor = max(n.parent.floor, n.clock)
	}
}

// charge adds to the clocks.
func (t *tree) charge(leaf *node, units float64) {
	t.orders++
	for _, n := range leaf.path {
		n.clock, n.order = n.clock+units, t.orders
		for s, some := range n.waiting {
			if some > 0 {
				n.parent.heaps[s].fix(waiting{n, sort(s)})
			}
		}
	}
}

// count counts turns under way.
func (leaf *node) count(by int) {
	for _, n := range leaf.path {
		n.under += by
	}
}
