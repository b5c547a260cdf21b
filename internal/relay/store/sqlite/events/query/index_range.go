package query

import (
	"strings"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/record"
)

// stretch is what a plan reads of one index, for all of a filter's values
// there. The planner (stretches) is the same for pages and for counts; they
// differ in how a stretch is read.
type stretch interface {
	// ordered are its spans for pages: one for each value, so that the rows of
	// each come newest first.
	ordered(r *reading) ([]span, error)
	// together is its one span for counts: lists in one condition, because
	// order does not matter.
	together() span
}

// stretches lists what together holds every row of the plan that the scope
// shows; once says that no row is in two of them. The scope drives: what is for
// everybody is found by the plan's access among its classes, and what is for a
// party by his keys, so that nobody pays for passing over other people's memory,
// and the time of an answer does not tell of it (reach.go).
func (r *reading) stretches(p plan) (list []stretch, once bool, err error) {
	if sp, ok := alone(r, p); ok {
		return []stretch{fixed(sp)}, true, nil
	}
	free, bound, err := r.classes()
	if err != nil {
		return nil, false, err
	}
	if len(free) > 0 {
		if list, err = r.everybodys(p, free); err != nil {
			return nil, false, err
		}
	}
	once = true
	for _, c := range bound {
		of, ways := r.partys(p, c)
		list, once = append(list, of...), once && ways < 2
	}
	return list, once, nil
}

// alone is the one span of a plan that names rows, pages and counts alike.
func alone(r *reading, p plan) (sp span, ok bool) {
	switch p.access {
	case byID:
		return idSpan(r.want.IDs), true
	case byArrival:
		return arrivalSpan(r.above), true
	}
	return sp, false
}

// everybodys are the stretches of classes of which the scope shows everything.
func (r *reading) everybodys(p plan, classes []gate.Class) (list []stretch, err error) {
	sh := shape{classes: classes}
	switch p.access {
	case byAddress:
		return addresses(r.want, sh, r.want.authors, nil), nil
	case byTag:
		tag := tagShape(p.tag.name)
		tag.classes = classes
		return []stretch{tagStretch{tag, p.tag.name, p.tag.values}}, nil
	case byAuthor:
		return []stretch{authorStretch{sh, r.want.authors, r.want.kinds, nil}}, nil
	case byKind:
		return append(list, kindStretch{sh, r.want.kinds}), nil
	}
	if classes[0] == gate.Open && !r.scope.All() {
		list, classes = append(list, fixed(timeSpan())), classes[1:]
	}
	if len(classes) == 0 {
		return list, nil
	}
	pairs, err := pairs(r)
	for _, class := range classes {
		if len(pairs[class]) > 0 {
			list = append(list, kindStretch{shape{classes: []gate.Class{class}}, pairs[class]})
		}
	}
	return list, err
}

// addresses are the heads that have one of the filter's addresses by the
// authors, of the classes, and to one of the readers if any are named.
func addresses(want *Wanted, sh shape, authors, readers []engine.Value) []stretch {
	list := []stretch{fixed(headSpan(want, sh.classes, authors, readers, want.d().values))}
	if exactD(want) {
		return list
	}
	further := furtherShape
	further.classes = sh.classes
	return append(list, tagStretch{further, record.FurtherD, want.d().values})
}

// spans lists the spans of a plan for pages.
func (r *reading) spans(p plan) (out []span, err error) {
	list, _, err := r.stretches(p)
	for i := 0; err == nil && i < len(list); i++ {
		var some []span
		some, err = list[i].ordered(r)
		out = append(out, some...)
	}
	return out, err
}

// fixed is a stretch that is one span however it is read.
type fixed span

func (f fixed) ordered(*reading) ([]span, error) { return []span{span(f)}, nil }

func (f fixed) together() span { return span(f) }

// tagStretch is the events that have one of the values of a tag.
type tagStretch struct {
	shape
	name   string
	values []engine.Value
}

func (s tagStretch) ordered(r *reading) ([]span, error) {
	return r.presentTagSpans(s.shape, s.name, s.values)
}

func (s tagStretch) together() span {
	sh := tagged(s.shape)
	sh.repeats = len(s.values) > 1
	var l loops
	l.lead.And("t.name=?", s.name)
	l.lead.And("")
	l.lead.tagValue("t.value", s.name, s.values)
	l.classes("t.class", s.classes)
	return l.span(&sh, sh.from)
}

// authorStretch is the events of the authors of the kinds, nil being all that
// there are, to one of the readers if any are named: keys, or 0 for what names
// none or several.
type authorStretch struct {
	shape
	authors, kinds, readers []engine.Value
}

func (s authorStretch) ordered(r *reading) ([]span, error) { return r.authorSpans(s) }

func (s authorStretch) together() span {
	sh := s.shape
	sh.at = "e"
	var l loops
	l.lead.andAuthors(s.authors)
	l.classes("e.class", s.classes)
	switch {
	case s.open():
		l.lead.And("e.reader=0")
	case s.readers != nil:
		l.keys("lr", "e.reader", s.readers)
	}
	if s.kinds != nil {
		l.lead.AndIn("e.kind", s.kinds)
	}
	return l.span(&sh, "events AS e INDEXED BY events_author")
}

// kindStretch is the events of the kinds.
type kindStretch struct {
	shape
	kinds []engine.Value
}

func (s kindStretch) ordered(*reading) ([]span, error) {
	return kindSpans(s.shape, s.kinds), nil
}

func (s kindStretch) together() span {
	sh := s.shape
	sh.at = "e"
	var l loops
	l.lead.AndIn("e.kind", s.kinds)
	l.classes("e.class", s.classes)
	return l.span(&sh, "events AS e INDEXED BY events_kind")
}

// Of a long list, most values may name nothing. Which do is asked with one
// statement, because one for each costs more than all else, and some thousand
// of them are a way to keep a reader busy.

// presentTagSpans is tagSpans for a list of any length: of a long one, the
// values that no event has are left out first, with one statement for all.
func (r *reading) presentTagSpans(sh shape, name string, values []engine.Value) ([]span, error) {
	if len(values) <= maxCursors {
		return tagSpans(sh, name, values), nil
	}
	var w Where
	w.Text("WITH v(x) AS (")
	if !w.tagList(name, values) {
		return tagSpans(sh, name, values), nil
	}
	w.Text("), c(class) AS (VALUES "+classRows(sh.classes)+") SELECT x,class FROM v CROSS JOIN c WHERE EXISTS (SELECT 1 FROM tags AS t"+
		" WHERE t.name=? AND t.value=v.x AND t.class=c.class AND t.created_at>=? AND t.created_at<=?)", name, r.want.since, r.until())
	sh = tagged(sh)
	return engine.List(r.ctx, r.c, func(v engine.Row) (span, error) { return span{&sh, []engine.Value{name, v[0], v[1]}}, nil }, w.SQL.String(), w.Args...)
}

// presentAuthorSpans finds, with one statement, which of the authors have
// something open of which kinds.
func (r *reading) presentAuthorSpans(sh *shape, authors, kinds []engine.Value) (out []span, err error) {
	var w Where
	w.Text("WITH a(num) AS (")
	w.numbersOf(authors)
	w.Text("), k(kind) AS (VALUES (?)"+strings.Repeat(",(?)", len(kinds)-1)+")", kinds...)
	w.Text(" SELECT num,kind FROM a CROSS JOIN k WHERE EXISTS (SELECT 1 FROM events AS e INDEXED BY events_author"+
		" WHERE e.author=a.num AND e.class=0 AND e.reader=0 AND e.kind=k.kind AND e.created_at>=? AND e.created_at<=?)", r.want.since, r.until())
	return engine.List(r.ctx, r.c, func(v engine.Row) (span, error) { return span{sh, []engine.Value{v[0], int64(0), int64(0), v[1]}}, nil }, w.SQL.String(), w.Args...)
}
