package gate

import (
	"fmt"
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"engramd/nips/nipae"
	"engramd/nips/niptemp"
)

// kinds is the table of kinds: all that the gate knows of them stands here and
// nowhere else. How events are classed, which filters are refused, which kinds
// gate.rules may name, what stores class anew and the table in doc.go follow
// from it. A kind that is not here is open, unless gate.rules names it.
//
// To gate a kind, add an entry (CONTRIBUTING.md says what goes with it). Events
// of it that are stored already are classed anew when the relay starts next.
var kinds = []entry{
	{Number: nipae.Kind, Class: Engram},
	{Number: niptemp.KindEntry, Class: Contract, Except: []exception{{sealed, Sealed}}},
	{Number: niptemp.KindState, Class: Contract},
	{Number: nostr.KindGiftWrap, Class: Wrap},
	{Number: 21059, Class: Wrap, WasRule: "p"}, // the ephemeral gift wrap of NIP-59
	{Number: 44200, Class: Wrap},               // what an agent's turns cost
	{Number: nostr.KindEncryptedDirectMessage, Class: Direct},
	// Kinds of Buzz: what an agent is seen doing by its owner, and what a person
	// keeps to himself of agents and reminders.
	{Number: 24200, Class: Direct, WasRule: "author,p"},
	{Number: 30179, Class: Own, WasRule: "author"},
	{Number: 30300, Class: Own, WasRule: "author"},
	{Number: nostr.KindDeletion, Except: []exception{{hides, Deletion}, {hidesKind, Ruled}}},
	{Number: nostr.KindApplicationSpecificData, Except: []exception{{approves, Approval}}, Rules: true},
}

// entry is what the gate knows of one kind. Every field is part of the
// fingerprint.
type entry struct {
	Number int
	// Class is that of the kind's events, and a filter that names the kind must
	// satisfy its rule. Where it is Open no filter is refused.
	Class Class
	// Except are the kinds' single events that are judged by themselves, the first
	// that holds. Filters are not.
	Except []exception
	// Rules says that gate.rules may name the kind. Its exceptions stay.
	Rules bool
	// WasRule is READERS of a rule that configurations may still hold from before
	// the kind was built in. It is passed over.
	WasRule string
}

// exception is a class for those events of a kind that have a trait.
type exception struct {
	Trait trait
	Class Class
}

// classes returns the gated classes that events of the kind may have.
func (e *entry) classes() classSet {
	set := setOf(e.Class)
	for _, x := range e.Except {
		set |= setOf(x.Class)
	}
	return set & gatedClasses
}

// kindsOf indexes a table of kinds and says what is wrong with it.
func kindsOf(list []entry) (map[int]*entry, error) {
	all := make(map[int]*entry, len(list))
	for _, e := range list {
		switch {
		case e.Number < 0 || e.Number > maxKind:
			return nil, fmt.Errorf("%d is no kind", e.Number)
		case all[e.Number] != nil:
			return nil, fmt.Errorf("kind %d is there twice", e.Number)
		case e.classes() == 0 || e.classes()&^builtinClasses != 0:
			return nil, fmt.Errorf("kind %d has no built-in class but open", e.Number)
		}
		all[e.Number] = &e
	}
	return all, nil
}

// maxKind is the greatest kind there can be (NIP-01).
const maxKind = 65535

// Kinds lists the kinds of which all or some events are gated without a
// configured rule, for tests that go through them.
func Kinds() []int {
	numbers := make([]int, len(kinds))
	for i, e := range kinds {
		numbers[i] = e.Number
	}
	slices.Sort(numbers)
	return numbers
}
