package harness

import (
	"cmp"
	"slices"
)

// claim says whose an entry is.
type claim int

const (
	foreign claim = iota
	ours
	edited // ours, and a person changed it
)

// run is what an entry of ours starts.
type run struct {
	binary, profile string
	tools           string // of an MCP server
}

// part is one entry that a document shall have: a member of an object, or an
// element of a list.
type part struct {
	label string
	path  []string // of the object or list
	name  string   // "" for an element
	value any
	claim func(*document, *node) (claim, run)
	// named says whose an entry of another name is; nil: nobody's that we know.
	named func(name string, c claim, r run) claim
	// keep are the elements of a list of which ours are all that claim says; without is
	// set of a part that shall not be there.
	keep    lines
	without bool
	// optional is what Install writes only where it is asked for: it is never missing.
	optional bool
	// handler is for an element that holds a list "hooks", in which others may have
	// put theirs beside ours: it says whose one of them is.
	handler func(*document, *node) (claim, run)
}

// jsonForm is a JSON document with parts of ours.
type jsonForm struct {
	strict bool
	parts  []part
	// rest are members that a document needs beside ours; they are written only
	// into one that was empty, behind ours.
	rest object
}

// spot is where an entry stands: steps lead to it from the root.
type spot struct {
	steps []step
	claim claim
	run   run
}

type step struct {
	n *node
	i int
}

func (s spot) last() step { return s.steps[len(s.steps)-1] }
func (s spot) kid() kid   { return s.last().n.kids[s.last().i] }

// find lists the entries of a part in the order of the document.
func (d *document) find(p part) []spot {
	n := d.root
	var steps []step
	for _, name := range p.path {
		next := n.member(name)
		if next == nil {
			return nil
		}
		steps = append(steps, step{n, slices.IndexFunc(n.kids, func(k kid) bool { return k.v == next })})
		n = next
	}
	if p.name == "" && n.kindOf() != '[' || p.name != "" && n.kindOf() != '{' {
		return nil
	}
	var spots []spot
	for i, k := range n.kids {
		if p.name != "" && k.name != p.name && p.named == nil {
			continue
		}
		c, r := p.claim(d, k.v)
		if p.named != nil {
			c = p.named(k.name, c, r)
		}
		if c == ours && d.holds(k.v.s, k.v.e) {
			c = edited // we write no comments
		}
		if c != foreign {
			spots = append(spots, d.within(p, spot{append(slices.Clone(steps), step{n, i}), c, r})...)
		}
	}
	return spots
}

// within gives the places of our handlers in a group that others share, else
// the group.
func (d *document) within(p part, group spot) []spot {
	handlers := group.kid().v.member("hooks")
	if p.handler == nil || group.claim != edited || handlers == nil {
		return []spot{group}
	}
	n := group.kid().v
	steps := append(slices.Clone(group.steps), step{n, slices.IndexFunc(n.kids, func(k kid) bool { return k.v == handlers })})
	var spots []spot
	for i, k := range handlers.kids {
		if c, r := p.handler(d, k.v); c != foreign {
			spots = append(spots, spot{append(slices.Clone(steps), step{handlers, i}), edited, r})
		}
	}
	if len(spots) == len(handlers.kids) {
		return []spot{group}
	}
	return spots
}

func (n *node) kindOf() byte {
	if n == nil {
		return 0
	}
	return n.kind
}

func (f jsonForm) look(src []byte) (seen, error) {
	var s seen
	d, err := scan(src, f.strict)
	if err != nil {
		return s, err
	}
	for _, p := range f.parts {
		spots := d.find(p)
		if len(spots) == 0 {
			if !p.optional {
				s.missing = append(s.missing, p.label)
			}
			continue
		}
		s.present = append(s.present, p.label)
		for _, at := range spots {
			if at.claim == edited {
				s.edited = append(s.edited, p.label)
			}
			if at.run.binary != "" {
				s.binary, s.profile = at.run.binary, at.run.profile
			}
			if p.named != nil {
				s.server = at.kid().name
			}
			s.tools = cmp.Or(at.run.tools, s.tools)
		}
	}
	return s, nil
}
