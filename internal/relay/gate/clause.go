package gate

import (
	"slices"

	"github.com/nbd-wtf/go-nostr"
)

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

// NamesContracts reports whether a filter asks for contract memory by
// contracts' ids.
func NamesContracts(f nostr.Filter) bool {
	return len(f.Tags["d"]) > 0 && namesContractMemory(f.Kinds)
}

func namesContractMemory(numbers []int) bool {
	return slices.ContainsFunc(kinds, func(e entry) bool { return e.Class == Contract && slices.Contains(numbers, e.Number) })
}

// ByContractAlone reports whether a reader's filter passes for contract memory
// because it names contracts, and for nothing else: neither as a party, nor by
// ids, nor as a replica.
func (t *Table) ByContractAlone(r Reader, f nostr.Filter) bool {
	return NamesContracts(f) && !t.Replicates(r) && t.rightsOf(Contract)&byAnyone == 0 && satisfied(r, f)&t.rightsOf(Contract) == byD
}

// Case is a contract of which the reader is the arbitrator that both parties
// agreed on (NIP-TEMP), as a plain value: whoever asks the gate looks it up. It
// shows the arbitrator the unsealed events that the keys of the case have
// addressed to each other, under any option, and nothing else.
type Case struct {
	Contract       string   // its id
	Poster, Worker string   // 64 lower-case hex digits
	Agreed         []string // the arbitrator and whoever else decides
}

// has reports whether a key is one of the case.
func (c *Case) has(key string) bool {
	return key == c.Poster || key == c.Worker || slices.Contains(c.Agreed, key)
}

// shows reports whether an event is part of the case: it is of the contract,
// and by a key of the case, and so are all that its p tags name.
func (c *Case) shows(e *Subject) bool {
	if e.D != c.Contract || !c.has(e.Author) {
		return false
	}
	for _, key := range e.P {
		if !c.has(key) {
			return false
		}
	}
	return true
}

// CasesAskedFor returns the contracts that a filter names, if it can matter
// whether they are cases of the reader: nil for a reader who has proved
// nothing, for a filter that names no contract memory, and where every reader
// who names a contract may read all that a case would show.
func (t *Table) CasesAskedFor(r Reader, f nostr.Filter) []string {
	if r.Empty() || t.rights[Contract]&(byD|byAnyone) != 0 {
		return nil
	}
	if !namesContractMemory(f.Kinds) {
		return nil
	}
	return f.Tags["d"]
}

// casesOf keeps the cases of contracts that are named.
func casesOf(cases []Case, named []string) []Case {
	var out []Case
	for _, c := range cases {
		if slices.Contains(named, c.Contract) {
			c.Agreed = slices.Clone(c.Agreed)
			out = append(out, c)
		}
	}
	return out
}

// allCases reports whether something is named, and cases only.
func allCases(cases []Case, named []string) bool {
	for _, d := range named {
		if !slices.ContainsFunc(cases, func(c Case) bool { return c.Contract == d }) {
			return false
		}
	}
	return len(named) > 0
}
