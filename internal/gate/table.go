package gate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
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
	// AuthRequired (read.auth_required) refuses everything to a reader who has
	// proved nothing.
	AuthRequired bool
}

// Table holds the rules in force. It is immutable; a reload makes a new one.
type Table struct {
	exclude     bool
	private     bool // nothing is for nobody
	rights      [classCount]rights
	rules       map[int]Class // configured kinds only
	fingerprint string
}

// classifierVersion changes whenever [Table.Classify] would put an event in
// another class than the version before, so that stores know to do it again.
const classifierVersion = 2

// WithVerdicts reports whether the classes stored under a fingerprint say of
// deletion requests by id what was found of the events that they named. Before
// version 2 they were open whatever they named.
func WithVerdicts(fingerprint string) bool { return !strings.HasPrefix(fingerprint, "v1;") }

// VerdictsOnly reports whether a database with this fingerprint lacks nothing but
// verdicts: then only deletion requests are to be classed anew.
func (t *Table) VerdictsOnly(fingerprint string) bool {
	_, had, _ := strings.Cut(fingerprint, ";")
	_, has, _ := strings.Cut(t.fingerprint, ";")
	return !WithVerdicts(fingerprint) && had == has
}

// NewTable compiles the options. The error names the option or the rule that
// is wrong, and why.
func NewTable(o Options) (*Table, error) {
	t := &Table{rules: map[int]Class{}, private: o.AuthRequired}
	t.rights = [classCount]rights{
		Open:     byAnyone,
		Engram:   byAuthor | byTag | byID,
		Contract: byAuthor | byTag | byID | byD | byCase,
		Sealed:   byAuthor | byTag | byID,
		Wrap:     byTag,
		Direct:   byAuthor | byTag,
		Deletion: byAuthor,
		Approval: byAuthor,
		Ruled:    byAuthor,
	}
	for c := configured; c < classCount; c++ {
		t.rights[c] = rights(c) & ruleRights
	}
	if err := t.apply(o); err != nil {
		return nil, err
	}
	for _, line := range o.Rules {
		kind, class, err := parseRule(line)
		if err != nil {
			return nil, fmt.Errorf("gate.rules %q: %w", line, err)
		}
		if builtin(kind) {
			continue
		}
		if _, twice := t.rules[kind]; twice {
			return nil, fmt.Errorf("gate.rules %q: kind %d has a rule already", line, kind)
		}
		t.rules[kind] = class
	}
	t.fingerprint = fingerprint(t.rules)
	return t, nil
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

// Gated reports whether events of the kind are for some readers only,
// whatever the options make of their rule. Kinds 5 and 30078, of which single
// events are, count only when a configured rule names them.
func (t *Table) Gated(kind int) bool {
	if builtinGated(kind) {
		return true
	}
	_, ok := t.rules[kind]
	return ok
}

// AuthRequired reports whether who has proved nothing reads nothing at all.
func (t *Table) AuthRequired() bool { return t.private }

// Fingerprint identifies all that [Table.Classify] depends on. When it differs
// from the one a database was written under, the classes stored there for
// kinds 5 and for configured kinds, old and new, must be computed again.
func (t *Table) Fingerprint() string { return t.fingerprint }

func fingerprint(rules map[int]Class) string {
	lines := make([]string, 0, len(rules))
	for kind, class := range rules {
		lines = append(lines, strconv.Itoa(kind)+"="+strconv.Itoa(int(class)))
	}
	slices.Sort(lines)
	return "v" + strconv.Itoa(classifierVersion) + ";" + strings.Join(lines, ";")
}

// PartiesOnly returns the table in which no gated class is read by everybody:
// superseded versions stay with the parties, also where [ContractsPublic] shows
// their successors to all.
func (t *Table) PartiesOnly() *Table {
	strict := *t
	for c := range strict.rights {
		if Class(c) != Open {
			strict.rights[c] &^= byAnyone
		}
	}
	return &strict
}

// RuleOf names the rule that a filter for the kind must satisfy, for metrics:
// Open for a kind of which at most single events are gated.
func (t *Table) RuleOf(kind int) Class {
	rule, _ := t.kindRule(kind)
	return rule
}

// rightsOf gives an unknown class no rights at all: it is read by nobody.
func (t *Table) rightsOf(c Class) rights {
	if t == nil || c >= classCount {
		return 0
	}
	return t.rights[c]
}
