package query

import (
	"slices"
	"strings"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store/sqlite/engine"
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
	single  bool   // there is at most one
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
func headSpan(want *Wanted, classes []gate.Class, authors, readers, ds []engine.Value) span {
	heads := shape{at: "e", skipTag: "d", d: dMet, classes: classes}
	heads.single = len(want.kinds) == 1 && len(authors) == 1 && len(ds) == 1
	heads.ordered = heads.single
	if slices.Contains(ds, engine.Value("")) {
		// An event without a d tag has the address "", but no filter for d
		// matches it.
		heads.skipTag = ""
	}
	var l loops
	l.values("lk", "e.kind", want.kinds)
	l.keys("la", "e.author", authors)
	l.values("ld", "e.d", ds)
	l.lead.And("e.d IS NOT NULL")
	l.classes("e.class", classes)
	if readers != nil {
		l.keys("lr", "e.reader", readers)
	}
	return l.span(&heads, "events AS e INDEXED BY events_address")
}

// tagged completes the shape of stretches of the tag index.
func tagged(sh shape) shape {
	sh.from = "tags AS t CROSS JOIN events AS e ON e.seq=t.seq"
	sh.lead, sh.at, sh.ordered = "t.name=? AND t.value=? AND t.class=?", "t", true
	return sh
}

// tagSpans reads the events that have one of the values, value by value and
// class by class.
func tagSpans(sh shape, name string, values []engine.Value) []span {
	sh = tagged(sh)
	keyed := sh
	keyed.lead = "t.name=? AND t.value=" + numOf + " AND t.class=?"
	out := make([]span, 0, len(values)*len(sh.classes))
	for _, v := range values {
		of := &sh
		if _, isKey := v.([]byte); isKey && numbered(name) {
			of = &keyed
		}
		for _, class := range sh.classes {
			out = append(out, span{of, []engine.Value{name, v, int64(class)}})
		}
	}
	return out
}

// fewKinds is up to how many kinds are looked for under each author. Of more,
// an author's own kinds are asked for first: otherwise a list of authors times
// a list of kinds, each as long as a filter may be, makes a million stretches
// of nothing.
const fewKinds = 8

// open reports whether the stretch is of what is everybody's by itself.
func (s authorStretch) open() bool { return len(s.classes) == 1 && s.classes[0] == gate.Open }

// authorSpans reads per author, class, reader and kind: what is not named is
// what there is of it.
func (r *reading) authorSpans(s authorStretch) ([]span, error) {
	sh := s.shape
	sh.from, sh.at, sh.ordered = "events AS e INDEXED BY events_author", "e", true
	sh.lead = "e.author=? AND e.class=? AND e.reader=? AND e.kind=?"
	readers, few := s.readers, s.kinds != nil && len(s.kinds) <= fewKinds
	switch {
	case s.open():
		if readers = noReader; few && len(s.authors) > maxCursors { // most may have no number, or nothing of these kinds
			return r.presentAuthorSpans(&sh, s.authors, s.kinds)
		}
	case readers == nil:
		few = false
	}
	if !few || len(s.authors) > maxCursors {
		return r.combined(&sh, s)
	}
	sh.lead = strings.Replace(sh.lead, "e.author=?", "e.author="+numOf, 1)
	keyed := sh
	keyed.lead = strings.Replace(sh.lead, "e.reader=?", "e.reader="+numOf, 1)
	out := make([]span, 0, len(s.authors)*len(s.classes)*len(readers)*len(s.kinds))
	for _, a := range s.authors {
		for _, class := range s.classes {
			for _, reader := range readers {
				of := &sh
				if _, isKey := reader.([]byte); isKey {
					of = &keyed
				}
				for _, k := range s.kinds {
					out = append(out, span{of, []engine.Value{a, int64(class), reader, k}})
				}
			}
		}
	}
	return out, nil
}

// noReader is that of what names no key by p, or several, and of what is open.
var noReader = []engine.Value{int64(0)}

// among reports whether a value is in a list that Compile sorted; nil lists
// hold every value.
func among(list []engine.Value, v engine.Value) bool {
	if list == nil {
		return true
	}
	_, found := slices.BinarySearchFunc(list, v, compareValues)
	return found
}

func kindSpans(sh shape, kinds []engine.Value) []span {
	sh.from, sh.lead, sh.at, sh.ordered = "events AS e INDEXED BY events_kind", "e.kind=? AND e.class=?", "e", true
	out := make([]span, 0, len(kinds)*len(sh.classes))
	for _, k := range kinds {
		for _, class := range sh.classes {
			out = append(out, span{&sh, []engine.Value{k, int64(class)}})
		}
	}
	return out
}

// timeSpan is all of events_time. Its condition is that of the index, word for
// word.
func timeSpan() span {
	return span{&shape{
		from: "events AS e INDEXED BY events_time", lead: "e.class = 0", at: "e", ordered: true, classes: []gate.Class{gate.Open},
	}, nil}
}
