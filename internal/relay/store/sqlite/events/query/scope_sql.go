package query

import (
	"slices"
	"strconv"
	"strings"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
)

// ScopeWhere adds to w the condition that the scope lets a row of table alias e
// be seen: exactly what scope.CanRead says of it. It is part of every read of
// this package, before any LIMIT. f is the filter that the same statement
// applies in full: a way of the scope that every match of f meets by itself
// (its ids, authors or p tags name only keys) needs no condition of its own.
// The operator's scope adds nothing.
//
// The first term names the visible classes and nothing else, so that an index
// which holds the class can settle most rows without looking at the table.
//
// by says what the statement's own conditions mean for the d values that the
// filter names. Rows are of the classes in only; without any of them all count.
func ScopeWhere(w *Where, scope gate.Scope, f nostr.Filter, from Source, by dWay, only ...gate.Class) {
	scopeWhere(w, scope, scope.Clauses(), f, from, by, only)
}

func scopeWhere(w *Where, scope gate.Scope, clauses []gate.Clause, f nostr.Filter, from Source, by dWay, only []gate.Class) {
	if scope.All() {
		if only != nil {
			w.And("e.class IN (" + classList(only) + ")")
		}
		return
	}
	if from == FromHistory {
		w.And("e.class<>0") // what was kept under a rule is not everybody's when the rule goes
	}
	classes := []gate.Class{gate.Open}
	for _, c := range clauses {
		classes = append(classes, c.Classes...)
	}
	classes = common(classes, only)
	w.And("e.class IN (" + classList(classes) + ")")
	bound := boundClauses(clauses, f, by, only)
	if len(bound) == 0 {
		return
	}
	w.And("(")
	for i, c := range bound {
		if i > 0 {
			w.Text(" OR ")
		}
		w.Text("e.class IN (" + classList(c.Classes) + ") AND (")
		clauseWays(w, c, f, from, by)
		w.Text(")")
		classes = slices.DeleteFunc(classes, func(one gate.Class) bool { return slices.Contains(c.Classes, one) })
	}
	if len(classes) > 0 {
		w.Text(" OR e.class IN (" + classList(classes) + ")")
	}
	w.Text(")")
}

// common are the classes of a list that count; without only, all do.
func common(classes, only []gate.Class) []gate.Class {
	other := func(c gate.Class) bool { return !slices.Contains(only, c) }
	if only == nil || !slices.ContainsFunc(classes, other) {
		return classes
	}
	return slices.DeleteFunc(slices.Clone(classes), other)
}

// boundClauses are the clauses of which not every event that the filter matches
// goes a way.
func boundClauses(clauses []gate.Clause, f nostr.Filter, by dWay, only []gate.Class) (bound []gate.Clause) {
	for _, c := range clauses {
		if c.Classes = common(c.Classes, only); len(c.Classes) == 0 {
			continue
		}
		if !c.Everyone && !metByFilter(c, f) && (by != dMet || !namesAll(c, f)) {
			bound = append(bound, c)
		}
	}
	return bound
}

// metByFilter reports whether every event that f matches goes one of the
// clause's ways.
func metByFilter(c gate.Clause, f nostr.Filter) bool {
	return len(c.IDs) > 0 && len(f.IDs) > 0 ||
		c.ByAuthor && allAmong(f.Authors, c.Keys) ||
		c.ByTag && allAmong(f.Tags["p"], c.Keys)
}

// allAmong reports whether a list names something, and only keys, which are
// sorted.
func allAmong(list, keys []string) bool {
	for _, v := range list {
		if _, found := slices.BinarySearch(keys, v); !found {
			return false
		}
	}
	return len(list) > 0
}

// dWay says what is known of a row's d by the way it was found. To ask each of
// a list's stretches for the whole list would cost the square of it.
type dWay int

const (
	DAny       dWay = iota // nothing
	dMet                   // it is one of the filter's
	dSame                  // what it was found by, t.value, is a d of the event: if it is the first, it is one of the filter's
	dElsewhere             // if it is one of the filter's, another stretch has the row
)

// namesAll reports whether the d values of a clause are those that the filter
// names.
func namesAll(c gate.Clause, f nostr.Filter) bool {
	if len(c.Ds) == 0 {
		return false
	}
	ds := slices.Clone(f.Tags["d"])
	slices.Sort(ds)
	return slices.Equal(slices.Compact(ds), c.Ds)
}

// clauseWays adds the clause's ways as alternatives; a clause without any sees
// nothing.
func clauseWays(w *Where, c gate.Clause, f nostr.Filter, from Source, by dWay) {
	ways := 0
	or := func() {
		if ways++; ways > 1 {
			w.Text(" OR ")
		}
	}
	keys := blobs(c.Keys)
	if c.ByAuthor && len(keys) > 0 {
		or()
		w.author(keys, from)
	}
	if c.ByTag && len(keys) > 0 {
		or()
		readersAmong(w, keys, from)
	}
	if ids := blobs(c.IDs); len(ids) > 0 {
		or()
		w.in("e.id", ids)
	}
	switch {
	case len(c.Ds) == 0, by == dElsewhere && namesAll(c, f):
	case by == dSame && namesAll(c, f): // any other d of the list that comes first is found by its own stretch
		or()
		w.Text("e.d=t.value")
	default:
		or()
		w.in("e.d", keysOf(c.Ds))
	}
	for _, one := range c.Cases {
		or()
		caseWay(w, one, from)
	}
	if ways == 0 {
		w.Text("0")
	}
}

// caseWay adds the condition that an event is part of a case: of its contract,
// by one of its keys, and to no other.
func caseWay(w *Where, one gate.Case, from Source) {
	keys := blobs(append([]string{one.Poster, one.Worker}, one.Agreed...))
	w.Text("(")
	w.in("e.d", keysOf([]string{one.Contract}))
	w.Text(" AND ")
	w.author(keys, from)
	w.Text(" AND ")
	readersWithin(w, keys, from)
	w.Text(")")
}

// readersWithin adds the condition that none of a gated row's p tags is another
// than keys.
func readersWithin(w *Where, keys []engine.Value, from Source) {
	if from == FromHistory {
		w.Text("CASE WHEN length(e.readers)=32 THEN ")
		w.in("e.readers", keys)
		w.Text(" ELSE NOT EXISTS (WITH RECURSIVE cut(at) AS (SELECT 1 WHERE length(e.readers)>0 UNION ALL SELECT at+32 FROM cut WHERE at+32<length(e.readers))" +
			" SELECT 1 FROM cut WHERE NOT ")
		w.in("substr(e.readers,at,32)", keys)
		w.Text(") END")
		return
	}
	w.Text("CASE WHEN typeof(e.readers)='integer' THEN ")
	w.numbered("e.readers", keys)
	w.Text(" ELSE NOT EXISTS (SELECT 1 FROM tags AS r WHERE r.name='p' AND r.class=e.class AND NOT ")
	w.numbered("r.value", keys)
	w.Text(" AND r.created_at=e.created_at AND r.seq=e.seq) END")
}

// readersAmong adds the condition that one of a gated row's p tags is among
// keys. Nearly every gated event has one p tag, which is then the whole of
// readers; of others the tag rows are asked, or, for history, which has none,
// readers is cut up.
func readersAmong(w *Where, keys []engine.Value, from Source) {
	if from == FromHistory {
		w.Text("CASE WHEN length(e.readers)=32 THEN ")
		w.in("e.readers", keys)
		w.Text(" ELSE EXISTS (WITH RECURSIVE cut(at) AS (VALUES(1) UNION ALL SELECT at+32 FROM cut WHERE at+32<length(e.readers))" +
			" SELECT 1 FROM cut WHERE ")
		w.in("substr(e.readers,at,32)", keys)
	} else {
		w.Text("CASE WHEN typeof(e.readers)='integer' THEN ")
		w.numbered("e.readers", keys)
		w.Text(" ELSE EXISTS (SELECT 1 FROM tags AS r WHERE r.name='p' AND r.class=e.class AND ")
		w.numbered("r.value", keys)
		w.Text(" AND r.created_at=e.created_at AND r.seq=e.seq")
	}
	w.Text(") END")
}

func classList(classes []gate.Class) string {
	sorted := slices.Clone(classes)
	slices.Sort(sorted)
	var b strings.Builder
	for i, c := range slices.Compact(sorted) {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(int(c)))
	}
	return b.String()
}

// blobs are the 32-byte keys of ids or pubkeys. What is not 64 lower-case hex
// digits names nothing and is left out.
func blobs(hex []string) []engine.Value {
	out := make([]engine.Value, 0, len(hex))
	for _, h := range hex {
		if b, ok := column.Hex32(h); ok {
			out = append(out, b)
		}
	}
	return out
}

func keysOf(values []string) []engine.Value {
	out := make([]engine.Value, 0, len(values))
	for _, v := range values {
		out = append(out, column.Of(v))
	}
	return out
}
