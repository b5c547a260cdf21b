package gate

import "slices"

// Class says under which rule an event is read. It is computed once, by
// [Table.Classify], and stored with the event; the numbers are part of the
// database format and must never be given another meaning.
type Class uint8

// The built-in classes; doc.go lists which events have which. From 16 on a
// class belongs to a configured rule and its low four bits are the rule itself:
// 1 author, 2 p, 4 ids, 8 #d.
const (
	Open     Class = 0 // readable by everybody
	Engram   Class = 1 // NIP-AE
	Contract Class = 2 // NIP-TEMP
	Sealed   Class = 3 // NIP-TEMP, of the parties' own
	Wrap     Class = 4 // for whom it is addressed to alone
	Direct   Class = 5 // NIP-04
	Deletion Class = 6 // NIP-09: a request that would tell what was gated
	Approval Class = 7 // an owner's list of agents
	// Ruled is a Deletion for the gated kind alone that it names: what its e tags
	// name was found open, so that it is open where no rule gates that kind.
	Ruled Class = 8
	Own   Class = 9 // what its author keeps to himself

	configured Class = 16
	classCount       = 32
)

// rules are the built-in classes' rules: a name, which is a metric label (they
// are fixed, few, and name rules only), and what the options start from.
var rules = [...]struct {
	name string
	ways rights
}{
	Open:     {"open", byAnyone},
	Engram:   {"engram", byAuthor | byTag | byID},
	Contract: {"contract", byAuthor | byTag | byID | byD | byCase},
	Sealed:   {"sealed", byAuthor | byTag | byID},
	Wrap:     {"wrap", byTag},
	Direct:   {"direct", byAuthor | byTag},
	Deletion: {"deletion", byAuthor},
	Approval: {"approval", byAuthor},
	Ruled:    {"deletion", byAuthor},
	Own:      {"own", byAuthor},
}

// String returns the name of the class's rule, the label that metrics use:
// "open", "engram", …, "configured" for every configured rule, and "unknown"
// for a number that no version has given a meaning.
func (c Class) String() string {
	switch {
	case int(c) < len(rules):
		return rules[c].name
	case c >= configured && c < classCount:
		return "configured"
	}
	return "unknown"
}

// ClassNames lists every name that a class can have but "unknown", for metrics.
func ClassNames() []string {
	var names []string
	for c := range rules {
		if name := rules[c].name; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return append(names, configured.String())
}

// classSet is a set of classes, one bit each.
type classSet uint32

const (
	gatedClasses   = ^classSet(1 << Open)
	builtinClasses = classSet(1<<len(rules)) - 1
)

func setOf(classes ...Class) classSet {
	var s classSet
	for _, c := range classes {
		s |= 1 << c
	}
	return s
}

func (s classSet) has(c Class) bool { return c < classCount && s&(1<<c) != 0 }

// rights are the ways in which an event of a class may be reached.
type rights uint8

const (
	byAuthor rights = 1 << iota // its author reads it
	byTag                       // whom a p tag names reads it
	byID                        // who names its id in the filter reads it
	byD                         // who names its d in the filter reads it
	byAnyone                    // everybody reads it
	byCase                      // the arbitrator whom its parties agreed on reads it

	ruleRights = byAuthor | byTag | byID | byD
)
