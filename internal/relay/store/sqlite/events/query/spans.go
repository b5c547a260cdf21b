package query

import (
	"fmt"
	"slices"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/record"
)

// Source is the table that rows are read from, always under the alias e.
type Source int

// The tables that rows are read from.
const (
	FromEvents Source = iota
	FromHistory
)

// table is its name.
func (s Source) table() string {
	if s == FromHistory {
		return "history"
	}
	return "events"
}

// shape is what stretches of one index have in common: FROM, the conditions
// that select a stretch, and which conditions of the filter these leave over.
type shape struct {
	source  Source
	from    string
	lead    string // conditions on the index; their arguments are the span's
	at      string // "e" or "t": whose created_at, seq and kind are at hand
	ordered bool   // the rows of a stretch come newest first
	repeats bool   // a row may come more than once in one stretch

	ids, kinds, authors bool         // these conditions of the filter are to be checked row by row
	skipTag             string       // the tag condition that the stretch implies
	d                   dWay         // what it implies for the scope
	classes             []gate.Class // only these count; nil all
}

// span is one stretch of an index.
type span struct {
	*shape
	args []engine.Value
}

// tagShape is what stretches of a tag of the filter have in common.
func tagShape(name string) shape {
	sh := shape{kinds: true, authors: true, skipTag: name}
	if name == "d" {
		sh.d = dSame
	}
	return sh
}

// arrivalSpan reads what arrived after a seq, which is little: every condition
// is put to each row.
func arrivalSpan(above int64) span {
	return span{&shape{
		from: "events AS e NOT INDEXED", lead: "e.seq>?", at: "e", ids: true, kinds: true, authors: true,
	}, []engine.Value{above}}
}

func idSpan(ids []engine.Value) span {
	var w Where
	w.in("e.id", ids)
	return span{&shape{
		from: "events AS e INDEXED BY events_id", lead: w.SQL.String(), at: "e", ordered: len(ids) == 1,
		kinds: true, authors: true,
	}, w.Args}
}

// furtherShape is of what has one of the filter's d values behind its first.
// Whose first is among them too is among the heads.
var furtherShape = shape{kinds: true, authors: true, skipTag: "d", d: dElsewhere}

// headSpan is of what has one of the addresses.
func headSpan(want *Wanted) span {
	d := want.d()
	var w Where
	w.AndIn("e.kind", want.kinds)
	w.andAuthors(want.authors)
	w.AndIn("e.d", d.values)
	w.And("e.d IS NOT NULL")
	heads := shape{
		from: "events AS e INDEXED BY events_address", lead: w.SQL.String(), at: "e",
		ordered: len(want.kinds) == 1 && len(want.authors) == 1 && len(d.values) == 1, skipTag: "d", d: dMet,
	}
	if slices.Contains(d.values, engine.Value("")) {
		// An event without a d tag has the address "", but no filter for d
		// matches it.
		heads.skipTag = ""
	}
	return span{&heads, w.Args}
}

// tagged completes the shape of stretches of the tag index.
func tagged(sh shape) shape {
	sh.from = "tags AS t CROSS JOIN events AS e ON e.seq=t.seq"
	sh.lead, sh.at, sh.ordered = "t.name=? AND t.value=?", "t", true
	return sh
}

// tagSpans reads the events that have one of the values, value by value.
func tagSpans(sh shape, name string, values []engine.Value) []span {
	sh = tagged(sh)
	keyed := sh
	keyed.lead = "t.name=? AND t.value=" + record.NumOf
	out := make([]span, len(values))
	for i, v := range values {
		out[i] = span{&sh, []engine.Value{name, v}}
		if _, isKey := v.([]byte); isKey && name == "p" {
			out[i].shape = &keyed
		}
	}
	return out
}

// fewKinds is up to how many kinds are looked for under each author. Of more,
// an author's own kinds are asked for first: otherwise a list of authors times
// a list of kinds, each as long as a filter may be, makes a million stretches
// of nothing.
const fewKinds = 8

// authorSpans reads per author and kind; nil kinds are all that the author has
// events of.
func (r *reading) authorSpans(sh shape, authors, kinds []engine.Value) ([]span, error) {
	sh.from, sh.lead = "events AS e INDEXED BY events_author", "e.author="+record.NumOf+" AND e.kind=?"
	sh.at, sh.ordered = "e", true
	ofAuthor := sqlKindsOfAuthor
	if len(authors) > maxCursors { // most may have no number, or nothing of these kinds
		sh.lead = "e.author=? AND e.kind=?"
		if kinds != nil && len(kinds) <= fewKinds {
			return r.presentAuthorSpans(&sh, authors, kinds)
		}
		var w Where
		w.numbersOf(authors)
		numbers, err := r.numbers(w.SQL.String(), w.Args...)
		if err != nil {
			return nil, err
		}
		ofAuthor, authors = sqlKindsOfNumber, numbers
	}
	out := make([]span, 0, len(authors)*min(max(1, len(kinds)), fewKinds))
	for _, a := range authors {
		mine := kinds
		if kinds == nil || len(kinds) > fewKinds {
			var err error
			if mine, err = r.numbers(ofAuthor, a); err != nil {
				return nil, err
			}
		}
		for _, k := range mine {
			if among(kinds, k) {
				out = append(out, span{&sh, []engine.Value{a, k}})
			}
		}
	}
	return out, nil
}

// among reports whether a value is in a list that Compile sorted; nil lists
// hold every value.
func among(list []engine.Value, v engine.Value) bool {
	if list == nil {
		return true
	}
	_, found := slices.BinarySearchFunc(list, v, compareValues)
	return found
}

func kindSpans(kinds []engine.Value) []span {
	sh := shape{from: "events AS e INDEXED BY events_kind", lead: "e.kind=?", at: "e", ordered: true}
	out := make([]span, len(kinds))
	for i, k := range kinds {
		out[i] = span{&sh, []engine.Value{k}}
	}
	return out
}

// timeSpan is all of events_time. Its condition is that of the index, word for
// word.
func timeSpan() span {
	return span{&shape{
		from: "events AS e INDEXED BY events_time", lead: "e.class IN (0,2)", at: "e", ordered: true,
	}, nil}
}

// readsByKind reports whether the scope shows events that are neither in
// events_time nor found by one of its keys.
func (r *reading) readsByKind(clauses []gate.Clause) bool {
	return r.scope.All() || slices.ContainsFunc(clauses, func(c gate.Clause) bool {
		if c.Everyone {
			return !slices.Equal(c.Classes, []gate.Class{gate.Contract})
		}
		return len(c.IDs) > 0 || len(c.Ds) > 0
	})
}

// Distinct kinds by a jump from each to the next, not by reading every entry of
// the index.
const (
	sqlKindsOfAuthor = `WITH RECURSIVE a(num) AS (SELECT num FROM pubkeys WHERE key=?1)` + kindsOfNum
	sqlKindsOfNumber = `WITH RECURSIVE a(num) AS (VALUES (?1))` + kindsOfNum
	kindsOfNum       = `, k(kind) AS (
		SELECT (SELECT min(kind) FROM events INDEXED BY events_author WHERE author=(SELECT num FROM a))
		UNION ALL SELECT (SELECT min(kind) FROM events INDEXED BY events_author WHERE author=(SELECT num FROM a) AND kind>k.kind)
		FROM k WHERE k.kind IS NOT NULL) SELECT kind FROM k WHERE kind IS NOT NULL`
	SQLKinds = `WITH RECURSIVE k(kind) AS (
		SELECT (SELECT min(kind) FROM events INDEXED BY events_kind)
		UNION ALL SELECT (SELECT min(kind) FROM events INDEXED BY events_kind WHERE kind>k.kind)
		FROM k WHERE k.kind IS NOT NULL) SELECT kind FROM k WHERE kind IS NOT NULL`
)

// Versions selects the superseded versions that are asked for.
func Versions(q *store.HistoryQuery) (span, *Wanted, error) {
	author, ok := column.Hex32(q.Author)
	if !ok {
		return span{}, nil, fmt.Errorf("%w: the author is no pubkey", store.ErrFilter)
	}
	want, err := Compile(nostr.Filter{Until: (*nostr.Timestamp)(q.Until)})
	if q.D == nil {
		return historySpan("history_author", "e.pubkey=? AND e.kind=? AND e.class<>0", author, int64(q.Kind)), want, err
	}
	return historySpan("history_address", "e.kind=? AND e.pubkey=? AND e.d=? AND e.class<>0", int64(q.Kind), author, record.AddressKey(q.Kind, *q.D)), want, err
}

// historySpan reads superseded versions by an index, newest first.
func historySpan(index, lead string, args ...engine.Value) span {
	return span{&shape{source: FromHistory, from: "history AS e INDEXED BY " + index, lead: lead, at: "e", ordered: true}, args}
}
