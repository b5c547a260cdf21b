package query

import (
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
		return []stretch{fixed(headSpan(r.want)), tagStretch{furtherShape, record.FurtherD, r.want.tag("d").values, true}}, nil
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
