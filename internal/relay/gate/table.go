package gate

import (
	"fmt"
	"slices"
)

// Values of [Options]; the first of each group is the default.
const (
	WildcardReject  = "reject"  // a filter without kinds must ask by id or for one's own
	WildcardExclude = "exclude" // it is served, without what the reader is no party to

	IDsExempt = "exempt" // who knows an engram's full id may read it
	IDsParty  = "party"  // engrams and sealed entries are for their parties only

	ContractsContract = "contract" // who names the contract reads its plain entries
	ContractsParties  = "parties"  // only author and counterparty, or by id
	ContractsPublic   = "public"   // everybody reads plain entries and states
)

// Options configure a [Table]. Empty strings mean the default.
type Options struct {
	Wildcard  string // gate.wildcard: reject, exclude
	IDs       string // gate.ids: exempt, party
	Contracts string // gate.contracts: contract, parties, public
	// Rules gate further kinds, one per line: KIND READERS [GRANTS], where
	// READERS is author, p or author,p and GRANTS is ids, d or ids,d:
	// "30078 author", "4550 author,p ids". A kind that is built in cannot be
	// named again, d needs an addressable kind.
	Rules []string
	// Replicas (gate.replicas) are keys, 64 lower-case hex digits each, that read
	// whatever the relay shows to anybody, and may do nothing else by it.
	Replicas []string
	// AuthRequired (read.auth_required) refuses everything to a reader who has
	// proved nothing.
	AuthRequired bool
}

// Table holds the rules in force. It is immutable; a reload makes a new one.
type Table struct {
	exclude     bool
	private     bool // nothing is for nobody
	rights      [classCount]rights
	kinds       map[int]*entry // the built-in and the configured ones
	replicas    keySet
	fingerprint string
}

// NewTable compiles the options. The error names the option or the rule that
// is wrong, and why.
func NewTable(o Options) (*Table, error) { return newTable(kinds, o) }

func newTable(list []entry, o Options) (t *Table, err error) {
	t = &Table{private: o.AuthRequired}
	for _, key := range o.Replicas {
		if !isPubkey(key) {
			return nil, fmt.Errorf("gate.replicas %q: must be 64 lower-case hex digits", key)
		}
	}
	t.replicas = newKeySet(o.Replicas)
	if t.kinds, err = kindsOf(list); err != nil {
		return nil, fmt.Errorf("the table of kinds: %w", err)
	}
	for c := range t.rights {
		switch class := Class(c); {
		case c < len(rules):
			t.rights[c] = rules[c].ways
		case class >= configured:
			t.rights[c] = rights(c) & ruleRights
		}
	}
	if err := t.apply(o); err != nil {
		return nil, err
	}
	for _, line := range o.Rules {
		if err := t.addRule(line); err != nil {
			return nil, fmt.Errorf("gate.rules %q: %w", line, err)
		}
	}
	t.fingerprint, err = fingerprintOf(t)
	return t, err
}

func (t *Table) apply(o Options) error {
	switch o.Wildcard {
	case "", WildcardReject:
	case WildcardExclude:
		t.exclude = true
	default:
		return fmt.Errorf("gate.wildcard %q: must be reject or exclude", o.Wildcard)
	}
	switch o.IDs {
	case "", IDsExempt:
	case IDsParty:
		t.rights[Engram] &^= byID
		t.rights[Sealed] &^= byID
	default:
		return fmt.Errorf("gate.ids %q: must be exempt or party", o.IDs)
	}
	switch o.Contracts {
	case "", ContractsContract:
	case ContractsParties:
		t.rights[Contract] &^= byD
	case ContractsPublic:
		t.rights[Contract] |= byAnyone
	default:
		return fmt.Errorf("gate.contracts %q: must be contract, parties or public", o.Contracts)
	}
	return nil
}

// AuthRequired reports whether who has proved nothing reads nothing at all.
func (t *Table) AuthRequired() bool { return t.private }

// Equal reports whether the other table has the same rules: what was granted by
// the one is granted by the other. Nil is equal to nil alone.
func (t *Table) Equal(other *Table) bool {
	if t == other || t == nil || other == nil {
		return t == other
	}
	return t.exclude == other.exclude && t.private == other.private && t.rights == other.rights &&
		t.fingerprint == other.fingerprint && slices.Equal(t.replicas, other.replicas)
}

// Replicates reports whether a key of the reader is one of [Options.Replicas]:
// it reads every event of every class that has a meaning, in answer to any
// filter.
func (t *Table) Replicates(r Reader) bool {
	return t != nil && len(t.replicas) > 0 && slices.ContainsFunc(r.keys, t.replicas.has)
}

// PartiesOnly returns the table in which no gated class is read by everybody:
// superseded versions stay with the parties, and with replicas, also where
// [ContractsPublic] shows their successors to all.
func (t *Table) PartiesOnly() *Table {
	strict := *t
	for c := range strict.rights {
		if Class(c) != Open {
			strict.rights[c] &^= byAnyone
		}
	}
	return &strict
}

// waysOf returns the rights of a class as this reader has them.
func (t *Table) waysOf(r Reader, c Class) rights {
	ways := t.rightsOf(c)
	if ways != 0 && t.Replicates(r) {
		return byAnyone
	}
	return ways
}

// rightsOf returns the rights of a class. An unknown class has none: nobody
// reads it.
func (t *Table) rightsOf(c Class) rights {
	if t == nil || c >= classCount {
		return 0
	}
	return t.rights[c]
}
