package gate

// Clause is one alternative of a scope for the store's WHERE. A gated event is
// visible when, for some clause, its class is among Classes and one of these
// holds: Everyone; ByAuthor and its author is among Keys; ByTag and the value
// of one of its p tags is among Keys; its id is among IDs; its d is among Ds.
// The lists are sorted, shared with the scope, and must not be written to.
//
// IDs and Ds are lists of the filter itself. An event that the filter matches
// has its id among IDs, if IDs is not empty, so that a store which applies the
// filter as well may take that condition as met. Of Ds this is true only for
// events with a single d tag.
type Clause struct {
	Classes  []Class
	Everyone bool // no further condition: gate.contracts = "public", or the reader is a replica
	ByAuthor bool
	ByTag    bool
	Keys     []string
	IDs      []string
	Ds       []string
	Cases    []Case
}

// Clauses returns the scope as conditions: an event that the scope's filter
// matches is visible when its class is Open or one of the clauses admits it,
// and this is exactly what CanRead says. There are none when nothing gated can
// be visible; for the operator's scope ask All first. Classes which events
// matching the filter cannot have are left out, so that a filter for open
// kinds needs no condition but "class = 0".
func (s Scope) Clauses() []Clause {
	if s.all || s.table == nil {
		return nil
	}
	var out []Clause
	var made [2 * byCase]uint8 // rights → 1 + index in out
	for c := Class(1); c < classCount; c++ {
		if !s.classes.has(c) {
			continue
		}
		ways := s.usable(s.table.waysOf(s.reader, c))
		if ways == 0 {
			continue
		}
		if made[ways] == 0 {
			out = append(out, s.clause(ways))
			made[ways] = uint8(len(out))
		}
		at := made[ways] - 1
		out[at].Classes = append(out[at].Classes, c)
	}
	return out
}

// usable leaves of a rule's ways those which this reader and filter can go.
func (s Scope) usable(ways rights) rights {
	if ways&byAnyone != 0 {
		return byAnyone
	}
	if s.reader.Empty() {
		ways &^= byAuthor | byTag
	}
	if len(s.ids) == 0 {
		ways &^= byID
	}
	if len(s.ds) == 0 {
		ways &^= byD
	}
	if len(s.cases) == 0 {
		ways &^= byCase
	}
	return ways
}

func (s Scope) clause(ways rights) Clause {
	c := Clause{
		Everyone: ways&byAnyone != 0,
		ByAuthor: ways&byAuthor != 0,
		ByTag:    ways&byTag != 0,
	}
	if c.ByAuthor || c.ByTag {
		c.Keys = s.reader.keys
	}
	if ways&byID != 0 {
		c.IDs = s.ids
	}
	if ways&byD != 0 {
		c.Ds = s.ds
	}
	if ways&byCase != 0 {
		c.Cases = s.cases
	}
	return c
}
