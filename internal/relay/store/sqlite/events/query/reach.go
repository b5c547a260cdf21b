package query

import (
	"slices"
	"strconv"
	"strings"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/record"
)

// classes are those that what the filter matches may have and the scope shows:
// free are read by whoever asks, bound by a party alone.
func (r *reading) classes() (free []gate.Class, bound []gate.Clause, err error) {
	if r.scope.All() { // whatever the database has
		pairs, err := pairs(r)
		for class := range pairs {
			free = append(free, class)
		}
		slices.Sort(free)
		return free, nil, err
	}
	possible := r.table.Classes(r.want.filter.Kinds)
	if slices.Contains(possible, gate.Open) {
		free = append(free, gate.Open)
	}
	for _, c := range r.clauses {
		c.Classes = common(c.Classes, possible)
		switch {
		case len(c.Classes) == 0:
		case c.Everyone:
			free = append(free, c.Classes...)
		default:
			bound = append(bound, c)
		}
	}
	return free, bound, nil
}

// partys are the stretches of what a clause shows, by each of its ways that the
// filter leaves, and how many ways these are. Whatever the filter asks besides
// is looked for among what is the reader's own.
func (r *reading) partys(p plan, c gate.Clause) (list []stretch, ways int) {
	w, keys, sh := r.want, blobs(c.Keys), shape{classes: c.Classes}
	if w.kinds != nil {
		gated := *w
		gated.kinds = slices.DeleteFunc(slices.Clone(w.kinds), func(k engine.Value) bool { return !r.table.MayGate(int(k.(int64))) })
		w = &gated
	}
	own, others := split(w.authors, keys)
	if !c.ByAuthor {
		own, others = nil, w.authors
	}
	ps := w.p()
	if w.authors != nil && len(others) == 0 {
		ps = nil // all is by the reader
	}
	named, unnamed := split(ps, keys)
	if len(own) > 0 && c.ByTag && ps != nil && len(unnamed) == 0 {
		own, others = nil, w.authors // all names the reader
	}
	if len(own) > 0 {
		ways++
		list = append(list, authored(w, p, sh, own)...)
	}
	if c.ByTag && (w.authors == nil || len(others) > 0) {
		all := sh
		all.kinds, all.authors = true, true
		switch {
		case !allBlobs(unnamed): // an event may name one key beside what is none
			ways, list = ways+1, append(list, tagStretch{all, "p", keys})
		case len(unnamed) > 0: // or the reader beside another
			ways, list = ways+1, append(list, tagStretch{all, record.SharedP, keys})
			fallthrough
		default:
			if len(named) > 0 {
				ways, list = ways+1, append(list, addressed(w, p, sh, others, named)...)
			}
		}
	}
	if d := w.d(); len(c.Ds) > 0 && d != nil {
		ways++
		if p.access == byAddress {
			list = append(list, addresses(w, sh, w.authors, nil)...)
		} else {
			tag := tagShape("d")
			tag.classes = c.Classes
			list = append(list, tagStretch{tag, "d", d.values})
		}
	}
	for _, one := range c.Cases {
		if keys, _ := split(w.authors, blobs(append([]string{one.Poster, one.Worker}, one.Agreed...))); len(keys) > 0 && w.d() != nil {
			ways += 2 // of which one may be another's too
			list = append(list, fixed(headSpan(w, c.Classes, keys, nil, w.d().values)))
		}
	}
	return list, ways
}

// split tells which of a filter's values are among keys: of no values, the keys
// are.
func split(values, keys []engine.Value) (among, not []engine.Value) {
	if values == nil {
		return keys, nil
	}
	mine := func(v engine.Value) bool {
		return slices.ContainsFunc(keys, func(k engine.Value) bool { return compareValues(k, v) == 0 })
	}
	if !slices.ContainsFunc(values, func(v engine.Value) bool { return !mine(v) }) {
		return values, nil
	}
	for _, v := range values {
		if mine(v) {
			among = append(among, v)
		} else {
			not = append(not, v)
		}
	}
	return among, not
}

// authored are the stretches of what the authors wrote.
func authored(w *Wanted, p plan, sh shape, authors []engine.Value) []stretch {
	if p.access == byAddress {
		return addresses(w, sh, authors, nil)
	}
	var readers []engine.Value
	if ps := w.p(); len(ps) > 0 && len(ps) <= maxCursors && allBlobs(ps) {
		readers = append(slices.Clone(ps), int64(0))
	}
	return []stretch{authorStretch{sh, authors, w.kinds, readers}}
}

// addressed are the stretches of what names one of the keys by p; by the
// authors, if any are named.
func addressed(w *Wanted, p plan, sh shape, authors, keys []engine.Value) []stretch {
	if p.access == byAddress {
		return addresses(w, sh, authors, append(slices.Clone(keys), int64(0)))
	}
	if w.p() != nil {
		sh.skipTag = "p"
	}
	tag := sh
	tag.kinds, tag.authors = true, true
	if authors == nil || len(authors)*len(keys) > maxCursors {
		return []stretch{tagStretch{tag, "p", keys}}
	}
	return []stretch{authorStretch{sh, authors, w.kinds, keys}, tagStretch{tag, record.SharedP, keys}}
}

// loops are the lists by which an index is looked up, value for value, and the
// conditions that say so. For IN SQLite looks no further where what comes before
// has no entry at all, and that would tell of the entries of others.
type loops struct{ from, lead Where }

// classes adds "expr is among classes".
func (l *loops) classes(expr string, classes []gate.Class) {
	if len(classes) == 1 {
		l.lead.And(expr + "=" + strconv.Itoa(int(classes[0])))
		return
	}
	l.from.Text("(VALUES " + classRows(classes) + ") AS lc CROSS JOIN ")
	l.lead.And(expr + "=lc.column1")
}

// values adds "expr is among values" under the alias of the list.
func (l *loops) values(alias, expr string, values []engine.Value) {
	if len(values) == 1 {
		l.lead.And(expr+"=?", values[0])
		return
	}
	l.from.Text("(WITH l(x) AS (")
	if packed, ok := pack(values); ok && len(values) > bindFew && !allIntegers(values) {
		l.from.list(packed)
	} else {
		l.from.Text("VALUES (?)"+strings.Repeat(",(?)", len(values)-1), values...)
	}
	l.from.Text(") SELECT x FROM l) AS " + alias + " CROSS JOIN ")
	l.lead.And(expr + "=" + alias + ".x")
}

// keys adds "expr is the number of one of the keys", or 0 if that is the last.
func (l *loops) keys(alias, expr string, keys []engine.Value) {
	if _, isKey := keys[0].([]byte); isKey && len(keys) == 1 {
		l.lead.And(expr+"="+numOf, keys[0])
		return
	}
	l.from.Text("(")
	l.from.readers(keys)
	l.from.Text(") AS " + alias + " CROSS JOIN ")
	l.lead.And(expr + "=" + alias + ".num")
}

// span is that of an index.
func (l *loops) span(sh *shape, index string) span {
	sh.from, sh.lead = l.from.SQL.String()+index, l.lead.SQL.String()
	return span{sh, append(l.from.Args, l.lead.Args...)}
}

// readers adds a SELECT of readers: keys, and 0 as the last.
func (w *Where) readers(readers []engine.Value) {
	n := len(readers)
	if _, isKey := readers[n-1].([]byte); isKey {
		w.numbersOf(readers)
		return
	}
	w.numbersOf(readers[:n-1])
	w.Text(" UNION ALL SELECT 0")
}

// SQLPairs are the kinds and classes that there are events of, found by a jump
// from each to the next, not by reading every entry of the index.
const SQLPairs = `WITH RECURSIVE k(kind) AS (
		SELECT (SELECT min(kind) FROM events INDEXED BY events_kind)
		UNION ALL SELECT (SELECT min(kind) FROM events INDEXED BY events_kind WHERE kind>k.kind) FROM k WHERE k.kind IS NOT NULL),
	c(kind, class) AS (
		SELECT kind,(SELECT min(class) FROM events AS e INDEXED BY events_kind WHERE e.kind=k.kind) FROM k WHERE kind IS NOT NULL
		UNION ALL SELECT kind,(SELECT min(class) FROM events AS e INDEXED BY events_kind WHERE e.kind=c.kind AND e.class>c.class)
		FROM c WHERE class IS NOT NULL) SELECT kind,class FROM c WHERE class IS NOT NULL`

// pairs are the kinds of each class that there are events of.
func pairs(r *reading) (map[gate.Class][]engine.Value, error) {
	found := map[gate.Class][]engine.Value{}
	return found, r.c.Query(r.ctx, SQLPairs, nil, func(v engine.Row) error {
		class := record.StoredClass(v[1])
		found[class] = append(found[class], v[0])
		return nil
	})
}

// combined finds of the stretch's authors, by a jump from each to the next, which
// kinds there are of its classes and readers.
func (r *reading) combined(sh *shape, s authorStretch) ([]span, error) {
	const (
		reader = "(SELECT min(reader) FROM events AS e INDEXED BY events_author WHERE e.author=%.num AND e.class=%.class"
		kind   = "(SELECT min(kind) FROM events AS e INDEXED BY events_author WHERE e.author=%.num AND e.class=%.class AND e.reader=%.reader"
	)
	of := func(text, table string) string { return strings.ReplaceAll(text, "%", table) }
	var w Where
	w.Text("WITH RECURSIVE a(num) AS (")
	w.numbersOf(s.authors)
	w.Text("), c(num,class) AS (SELECT num,column1 FROM a CROSS JOIN (VALUES " + classRows(s.classes) + ")), r(num,class,reader) AS (")
	switch {
	case s.open():
		w.Text("SELECT num,class,0 FROM c")
	case s.readers != nil:
		w.Text("SELECT c.num,class,p.num FROM c CROSS JOIN (")
		w.readers(s.readers)
		w.Text(") AS p")
	default:
		w.Text("SELECT num,class," + of(reader, "c") + ") FROM c UNION ALL SELECT num,class," + of(reader, "r") +
			" AND e.reader>r.reader) FROM r WHERE reader IS NOT NULL")
	}
	w.Text("), k(num,class,reader,kind) AS (SELECT num,class,reader," + of(kind, "r") + ") FROM r WHERE reader IS NOT NULL UNION ALL" +
		" SELECT num,class,reader," + of(kind, "k") + " AND e.kind>k.kind) FROM k WHERE kind IS NOT NULL) SELECT * FROM k WHERE kind IS NOT NULL")
	rows, err := engine.List(r.ctx, r.c, func(v engine.Row) (span, error) {
		return span{sh, []engine.Value{v[0], v[1], v[2], v[3]}}, nil
	}, w.SQL.String(), w.Args...)
	return slices.DeleteFunc(rows, func(sp span) bool { return !among(s.kinds, sp.args[3]) }), err
}

// classRows are classes as rows of VALUES.
func classRows(classes []gate.Class) string {
	rows := make([]string, len(classes))
	for i, c := range classes {
		rows[i] = "(" + strconv.Itoa(int(c)) + ")"
	}
	return strings.Join(rows, ",")
}
