package query

import (
	"strings"

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

// stretches lists what together holds every row of the plan. Where kinds must
// be known first, they are asked of the database.
func (r *reading) stretches(p plan) ([]stretch, error) {
	if sp, ok := r.alone(p); ok {
		return []stretch{fixed(sp)}, nil
	}
	switch p.access {
	case byAddress:
		return []stretch{fixed(headSpan(r.want)), tagStretch{furtherShape, record.FurtherD, r.want.d().values, true}}, nil
	case byTag:
		return []stretch{tagStretch{tagShape(p.tag.name), p.tag.name, p.tag.values, true}}, nil
	case byAuthor:
		return []stretch{authorStretch{shape{}, r.want.authors, r.want.kinds}}, nil
	case byKind:
		return []stretch{kindStretch(r.want.kinds)}, nil
	}
	return r.timeStretches()
}

// alone is the one span of a plan that has no more, pages and counts alike.
func (r *reading) alone(p plan) (sp span, ok bool) {
	switch {
	case p.access == byID:
		return idSpan(r.want.IDs), true
	case p.access == byAddress && exactD(r.want):
		return headSpan(r.want), true
	case p.access == byArrival:
		return arrivalSpan(r.above), true
	}
	return sp, false
}

// timeStretches reads everything there is: what is for everybody by time, and
// gated events by the ways on which the scope reaches them, so that nobody pays
// for passing over other people's. The operator reads kind by kind.
func (r *reading) timeStretches() ([]stretch, error) {
	clauses := r.scope.Clauses()
	if r.readsByKind(clauses) {
		kinds, err := r.numbers(SQLKinds)
		return []stretch{kindStretch(kinds)}, err
	}
	out := []stretch{fixed(timeSpan())}
	for _, c := range clauses {
		keys := blobs(c.Keys)
		if c.ByAuthor {
			out = append(out, authorStretch{shape{classes: c.Classes}, keys, nil})
		}
		if c.ByTag {
			out = append(out, tagStretch{shape{classes: c.Classes}, "p", keys, false})
		}
	}
	return out, nil
}

// spans lists the spans of a plan for pages.
func (r *reading) spans(p plan) (out []span, err error) {
	if sp, ok := r.alone(p); ok {
		return []span{sp}, nil
	}
	list, err := r.stretches(p)
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

// tagStretch is the events that have one of the values of a tag. Of long lists,
// present says to ask first which of them any event has.
type tagStretch struct {
	shape
	name    string
	values  []engine.Value
	present bool
}

func (s tagStretch) ordered(r *reading) ([]span, error) {
	if s.present {
		return r.presentTagSpans(s.shape, s.name, s.values)
	}
	return tagSpans(s.shape, s.name, s.values), nil
}

func (s tagStretch) together() span {
	sh := tagged(s.shape)
	var w Where
	w.And("t.name=?", s.name)
	w.And("")
	w.tagValue("t.value", s.name, s.values)
	sh.lead, sh.repeats = w.SQL.String(), len(s.values) > 1
	return span{&sh, w.Args}
}

// authorStretch is the events of the authors of the kinds; nil kinds are all
// that there are.
type authorStretch struct {
	shape
	authors, kinds []engine.Value
}

func (s authorStretch) ordered(r *reading) ([]span, error) {
	return r.authorSpans(s.shape, s.authors, s.kinds)
}

func (s authorStretch) together() span {
	sh := s.shape
	var w Where
	w.andAuthors(s.authors)
	if s.kinds != nil {
		w.AndIn("e.kind", s.kinds)
	}
	sh.from, sh.lead, sh.at = "events AS e INDEXED BY events_author", w.SQL.String(), "e"
	return span{&sh, w.Args}
}

// kindStretch is the events of the kinds.
type kindStretch []engine.Value

func (s kindStretch) ordered(*reading) ([]span, error) { return kindSpans(s), nil }

func (s kindStretch) together() span {
	var w Where
	w.in("e.kind", s)
	return span{&shape{from: "events AS e INDEXED BY events_kind", lead: w.SQL.String(), at: "e"}, w.Args}
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
	w.Text(") SELECT x FROM v WHERE EXISTS (SELECT 1 FROM tags AS t WHERE t.name=? AND t.value=v.x AND t.created_at>=? AND t.created_at<=?)",
		name, r.want.since, r.until())
	present, err := r.numbers(w.SQL.String(), w.Args...)
	if err != nil {
		return nil, err
	}
	sh = tagged(sh)
	out := make([]span, len(present))
	for i, v := range present {
		out[i] = span{&sh, []engine.Value{name, v}}
	}
	return out, nil
}

// presentAuthorSpans finds, with one statement, which of the authors have
// something of which kinds.
func (r *reading) presentAuthorSpans(sh *shape, authors, kinds []engine.Value) (out []span, err error) {
	var w Where
	w.Text("WITH a(num) AS (")
	w.numbersOf(authors)
	w.Text("), k(kind) AS (VALUES (?)"+strings.Repeat(",(?)", len(kinds)-1)+")", kinds...)
	w.Text(" SELECT num,kind FROM a CROSS JOIN k WHERE EXISTS (SELECT 1 FROM events AS e INDEXED BY events_author"+
		" WHERE e.author=a.num AND e.kind=k.kind AND e.created_at>=? AND e.created_at<=?)", r.want.since, r.until())
	return engine.List(r.ctx, r.c, func(v engine.Row) (span, error) { return span{sh, []engine.Value{v[0], v[1]}}, nil }, w.SQL.String(), w.Args...)
}
