package nipae

import (
	"cmp"
	"slices"
)

// Graph is how a pair's records refer to each other, and which of them can be
// reached from core (NIP-AE, "References and reachability").
type Graph struct {
	// Nodes are the records, core first and then by slug.
	Nodes []Node
	// Orphans are the memories that core does not lead to, by slug; all of them
	// if there is no core. They are to be shown, never deleted automatically.
	Orphans []Slug
	// Dangling are the references to slugs that have no record, in the order of
	// Nodes and then of the text.
	Dangling []Reference
}

// Node is one record in a Graph.
type Node struct {
	Slug Slug
	// To are the slugs that the text refers to, in order; some may dangle.
	To []Slug
	// From are the records that refer to this one, in the order of Nodes.
	From []Slug
	// Depth is the number of references on the shortest way from core, 0 for
	// core itself, -1 for an orphan.
	Depth int
}

// Reference is one [[slug]] in the text of a record.
type Reference struct {
	From, To Slug
}

// Reach returns the graph of a pair's heads. Tombstones are no records: what
// refers to them dangles. Of several engrams at one slug the newest counts.
func Reach(engrams []Engram) Graph {
	heads := make(map[Slug]Engram, len(engrams))
	for _, e := range engrams {
		if have, ok := heads[e.Slug()]; !ok || Newer(e.Event, have.Event) {
			heads[e.Slug()] = e
		}
	}
	var g Graph
	for slug, e := range heads {
		if text, ok := e.Body.Text(); ok {
			g.Nodes = append(g.Nodes, Node{Slug: slug, To: References(text), Depth: -1})
		}
	}
	slices.SortFunc(g.Nodes, func(a, b Node) int {
		if a.Slug.IsCore() != b.Slug.IsCore() {
			if a.Slug.IsCore() {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Slug, b.Slug)
	})
	index := make(map[Slug]int, len(g.Nodes))
	for i, n := range g.Nodes {
		index[n.Slug] = i
	}
	g.link(index)
	g.walk(index)
	return g
}

// Node returns the record at a slug.
func (g Graph) Node(s Slug) (Node, bool) {
	i := slices.IndexFunc(g.Nodes, func(n Node) bool { return n.Slug == s })
	if i < 0 {
		return Node{}, false
	}
	return g.Nodes[i], true
}

// Reachable reports whether core leads to the slug's record.
func (g Graph) Reachable(s Slug) bool {
	n, ok := g.Node(s)
	return ok && n.Depth >= 0
}

// link fills in From and Dangling.
func (g *Graph) link(index map[Slug]int) {
	for _, n := range g.Nodes {
		for _, to := range n.To {
			if i, ok := index[to]; ok {
				g.Nodes[i].From = append(g.Nodes[i].From, n.Slug)
			} else {
				g.Dangling = append(g.Dangling, Reference{From: n.Slug, To: to})
			}
		}
	}
}

// walk fills in Depth, breadth first, and Orphans.
func (g *Graph) walk(index map[Slug]int) {
	var queue []int
	if i, ok := index[Core]; ok {
		g.Nodes[i].Depth = 0
		queue = append(queue, i)
	}
	for len(queue) > 0 {
		n := g.Nodes[queue[0]]
		queue = queue[1:]
		for _, to := range n.To {
			if i, ok := index[to]; ok && g.Nodes[i].Depth < 0 {
				g.Nodes[i].Depth = n.Depth + 1
				queue = append(queue, i)
			}
		}
	}
	for _, n := range g.Nodes {
		if n.Depth < 0 {
			g.Orphans = append(g.Orphans, n.Slug)
		}
	}
}
