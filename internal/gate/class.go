package gate

// Class says under which rule an event is read. It is computed once, by
// [Table.Classify], and stored with the event; the numbers are part of the
// database format and must never be given another meaning.
type Class uint8

// The built-in classes. From 16 on a class belongs to a configured rule and
// its low four bits are the rule itself: 1 author, 2 p, 4 ids, 8 #d.
const (
	Open     Class = 0 // readable by everybody
	Engram   Class = 1 // kind 30174 (NIP-AE)
	Contract Class = 2 // kinds 30090 in plain text and 30091 (NIP-TEMP)
	Sealed   Class = 3 // kind 30090 whose content is not plain (NIP-44)
	Wrap     Class = 4 // kinds 1059, 21059 (NIP-59) and 44200
	Direct   Class = 5 // kind 4 (NIP-04)
	Deletion Class = 6 // kind 5 (NIP-09) that names a gated kind, or an event not found open
	Approval Class = 7 // kind 30078 with d = engramd/agents
	// Ruled is a Deletion for the gated kind alone that it names: what its e tags
	// name was found open, so that it is open where no rule gates that kind.
	Ruled Class = 8

	configured Class = 16
	classCount       = 32
)

// classNames are metric labels: fixed, few, and they name rules only.
var classNames = [...]string{
	Open: "open", Engram: "engram", Contract: "contract", Sealed: "sealed",
	Wrap: "wrap", Direct: "direct", Deletion: "deletion", Approval: "approval", Ruled: "deletion",
}

// String is the name of the class's rule, the label that metrics use:
// "open", "engram", …, "configured" for every configured rule, and "unknown"
// for a number that no version has given a meaning.
func (c Class) String() string {
	switch {
	case int(c) < len(classNames):
		return classNames[c]
	case c >= configured && c < classCount:
		return "configured"
	}
	return "unknown"
}

// classSet is a set of classes, one bit each.
type classSet uint32

const gatedClasses = ^classSet(1 << Open)

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
