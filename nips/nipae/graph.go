package nipae

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// Member returns the value of a member that NIP-AE does not define, as it was
// written, and whether there is one. It must not be changed.
func (b Body) Member(name string) (jsontext.Value, bool) {
	for _, m := range b.members {
		if m.name == name && m.raw != nil {
			return m.raw, true
		}
	}
	return nil, false
}

// WithMember returns the body with a member that NIP-AE does not define: in the
// place of the one that has the name, or behind all others. The error is ErrBody
// for a name that NIP-AE defines and for a value that is no valid JSON. A body
// that has grown too large shows in Bytes.
func (b Body) WithMember(name string, value jsontext.Value) (Body, error) {
	if name == nameSlug || name == textName(b.slug) {
		return Body{}, fmt.Errorf("%w: %s is no member to choose", ErrBody, name)
	}
	value = bytes.Clone(value)
	if err := value.Compact(); err != nil || len(b.members) == 0 {
		return Body{}, fmt.Errorf("%w: the value of %s is no valid JSON", ErrBody, name)
	}
	b.members = slices.Clone(b.members)
	if i := b.member(name); i >= 0 {
		b.members[i].raw = value
		return b, nil
	}
	b.members = append(b.members, member{name: name, raw: value})
	return b, nil
}

// WithoutMember returns the body without a member that NIP-AE does not define.
func (b Body) WithoutMember(name string) Body {
	if i := b.member(name); i >= 0 && b.members[i].raw != nil {
		b.members = slices.Delete(slices.Clone(b.members), i, i+1)
	}
	return b
}

func (b Body) member(name string) int {
	return slices.IndexFunc(b.members, func(m member) bool { return m.name == name })
}

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
	slices.SortFunc(g.Nodes, func(a, b Node) int { return cmp.Compare(a.Slug, b.Slug) }) // core comes before mem/
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
