package gate

// Scope is what the gate grants one reader for one filter: the key without
// which the store cannot be read. It is an immutable value. The zero Scope
// sees open events only.
type Scope struct {
	table    *Table
	reader   Reader
	ids      keySet   // ids that the filter named
	ds       keySet   // d values that the filter named
	cases    []Case   // of the contracts that the filter named
	classes  classSet // gated classes that events matching the filter may have
	rule     Class    // first gated rule that the filter had to satisfy
	wildcard bool
	all      bool
}

// Operator returns the scope that sees everything. It is for the operator's
// own commands (export, check, snapshots) and must never answer anything that
// came over the network.
func Operator() Scope { return Scope{all: true} }

// Party returns the scope of what the reader is a party to, whatever is asked:
// neither ids nor contracts are a key; cases are those of the contract that is
// asked for. History is read with it.
func Party(t *Table, r Reader, cases ...Case) Scope {
	return Scope{table: t, reader: r, classes: gatedClasses, cases: cases}
}

// All reports whether this is the operator's scope.
func (s Scope) All() bool { return s.all }

// Proves reports whether the scope's reader has proved the key.
func (s Scope) Proves(key string) bool { return s.reader.Has(key) }

// Rule names the rule that the filter was let through by, for metrics: "open"
// for a filter that names no gated kind, RuleWildcard for one without kinds,
// else the rule of the first gated kind it names.
func (s Scope) Rule() string {
	if s.wildcard {
		return RuleWildcard
	}
	return s.rule.String()
}

// Under returns the same grant under another table: live delivery asks the one
// in force at that moment. Ids and contracts that the filter named stay keys
// where the new rules take them, except for kinds that were open when the
// filter came: of those only the parties see more, until the filter is sent
// again.
func (s Scope) Under(t *Table) Scope {
	s.table = t
	s.classes = gatedClasses
	return s
}

// CanRead returns the second check, made for every event that leaves, by any
// way, at the moment it leaves: the event is open, or the reader is a party, or
// the filter named its id or its contract and the rule takes that for a key, or
// the event is part of a case of the reader's that the filter named, or a key
// of the reader is a replica's in the table. The event
// must be one that the scope's filter matches. It does not allocate.
func (s Scope) CanRead(e Subject) bool {
	if s.table != nil && s.table.private && s.reader.Empty() && !s.all {
		return false // it was granted before a reload
	}
	if e.Class == Open || s.all {
		return true
	}
	ways := s.table.waysOf(s.reader, e.Class)
	switch {
	case ways&byAnyone != 0,
		ways&byAuthor != 0 && s.reader.Has(e.Author),
		ways&byTag != 0 && s.reader.hasAny(e.P),
		ways&byID != 0 && s.ids.has(e.ID),
		ways&byD != 0 && s.ds.has(e.D),
		ways&byCase != 0 && s.isCase(&e):
		return true
	}
	return false
}

func (s *Scope) isCase(e *Subject) bool {
	for i := range s.cases {
		if s.cases[i].shows(e) {
			return true
		}
	}
	return false
}
