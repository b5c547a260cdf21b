package gate

import "github.com/nbd-wtf/go-nostr"

// ScopeFor returns the first check: may this reader ask this filter? It returns
// what the filter is granted, for the store and for the second check, or a
// *[Refusal]. A request is refused as a whole when one of its filters is.
//
// For every gated kind that the filter names it must have one of: ids or #d
// where the kind's rule takes them for a key, or authors or #p naming nobody
// but the reader where the rule lets those read. A filter without kinds must
// have ids, or authors or #p naming nobody but the reader, unless
// [WildcardExclude] is set.
//
// Naming an id or a contract is a key only to the kinds whose rule says so, in
// any filter that names it. Contracts count only in a filter that names kinds:
// one without kinds shows, apart from ids, what the reader is a party to.
//
// A filter for contract memory may also name cases of the reader, and nothing
// else, in #d: cases are those of the contracts it names.
//
// Nothing is refused to a reader who [Table.Replicates].
//
// A table with AuthRequired refuses every filter of a reader who has proved
// nothing.
func (t *Table) ScopeFor(r Reader, f nostr.Filter, cases ...Case) (Scope, error) {
	if t.private && r.Empty() {
		return Scope{}, RefuseNobody()
	}
	if f.Kinds == nil {
		return t.wildcardScope(r, f)
	}
	s := Scope{table: t, reader: r}
	met := satisfied(r, f)
	if allCases(cases, f.Tags["d"]) {
		met |= byCase
	}
	for _, kind := range f.Kinds {
		e := t.kinds[kind]
		if e == nil {
			continue
		}
		ways := t.waysOf(r, e.Class)
		if ways&(met|byAnyone) == 0 {
			return Scope{}, refuse(r, kind, e.Class, ways)
		}
		if s.rule == Open {
			s.rule = e.Class
		}
		s.classes |= e.classes()
	}
	if s.classes != 0 {
		s.ids, s.ds = newKeySet(f.IDs), newKeySet(f.Tags["d"])
		s.cases = casesOf(cases, f.Tags["d"])
	}
	return s, nil
}

func (t *Table) wildcardScope(r Reader, f nostr.Filter) (Scope, error) {
	if !t.exclude && !t.Replicates(r) && satisfied(r, f)&(byID|byAuthor|byTag) == 0 {
		return Scope{}, refuseWildcard(r)
	}
	return Scope{
		table: t, reader: r, classes: gatedClasses, wildcard: true,
		ids: newKeySet(f.IDs),
	}, nil
}

// satisfied reports which of the ways to a gated event the filter goes.
func satisfied(r Reader, f nostr.Filter) rights {
	var met rights
	if len(f.IDs) > 0 {
		met |= byID
	}
	if len(f.Tags["d"]) > 0 {
		met |= byD
	}
	if r.hasAll(f.Authors) {
		met |= byAuthor
	}
	if r.hasAll(f.Tags["p"]) {
		met |= byTag
	}
	return met
}
