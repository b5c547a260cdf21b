package sqlite

import "database/sql/driver"

// stretch is what a plan reads of one index, for all of a filter's values there. The planner (stretches) is the same for
// pages and for counts; they differ in how a stretch is read.
type stretch struct {
	by      access // byTag, byAuthor, byKind; any other is one span, however it is read
	one     span
	shape   shape
	name    string         // of a tag
	values  []driver.Value // of a tag, or authors
	kinds   []driver.Value // of authors, nil for all that they have
	present bool           // of many tag values it is asked first which any event has
}

func fixed(sp span) stretch { return stretch{by: byTime, one: sp} }

func tagStretch(sh shape, name string, values []driver.Value, present bool) stretch {
	return stretch{by: byTag, shape: sh, name: name, values: values, present: present}
}

func authorStretch(sh shape, authors, kinds []driver.Value) stretch {
	return stretch{by: byAuthor, shape: sh, values: authors, kinds: kinds}
}

func kindStretch(kinds []driver.Value) stretch { return stretch{by: byKind, kinds: kinds} }

// stretches lists what together holds every row of the plan. Where kinds must be known first, they are asked of the
// database. Most plans are one stretch, which lies in r.
func (r *reading) stretches(p plan) ([]stretch, error) {
	list := r.stretch[:0]
	switch p.access {
	case byID:
		return append(list, fixed(idSpan(r.want.ids))), nil
	case byAddress:
		heads, exact := headSpan(r.want)
		if list = append(list, fixed(heads)); exact {
			return list, nil
		}
		return append(list, tagStretch(furtherShape, furtherD, r.want.tag("d").values, true)), nil
	case byTag:
		return append(list, tagStretch(tagShape(p.tag.name), p.tag.name, p.tag.values, true)), nil
	case byAuthor:
		return append(list, authorStretch(shape{}, r.want.authors, r.want.kinds)), nil
	case byKind:
		return append(list, kindStretch(r.want.kinds)), nil
	case byArrival:
		return append(list, fixed(arrivalSpan(r.above))), nil
	}
	return r.timeStretches(list)
}

// timeStretches reads everything there is: what is for everybody by time, and gated events by the ways on which the scope
// reaches them, so that nobody pays for passing over other people's. The operator reads kind by kind.
func (r *reading) timeStretches(list []stretch) ([]stretch, error) {
	clauses := r.scope.Clauses()
	if r.readsByKind(clauses) {
		kinds, err := r.numbers(sqlKinds)
		return append(list, kindStretch(kinds)), err
	}
	list = append(list, fixed(timeSpan()))
	for _, c := range clauses {
		keys := blobs(c.Keys)
		if c.ByAuthor {
			list = append(list, authorStretch(shape{classes: c.Classes}, keys, nil))
		}
		if c.ByTag {
			list = append(list, tagStretch(shape{classes: c.Classes}, "p", keys, false))
		}
	}
	return list, nil
}

// spans lists the spans of a plan for pages.
func (r *reading) spans(p plan) (out []span, err error) {
	list, err := r.stretches(p)
	if err != nil {
		return nil, err
	}
	for i := range list {
		some, err := list[i].ordered(r)
		if err != nil {
			return nil, err
		}
		if len(list) == 1 {
			return some, nil
		}
		out = append(out, some...)
	}
	return out, nil
}

// ordered are the spans of a stretch for pages: one for each value, so that the rows of each come newest first.
func (s *stretch) ordered(r *reading) ([]span, error) {
	switch {
	case s.by == byTag && s.present:
		return r.presentTagSpans(s.shape, s.name, s.values)
	case s.by == byTag:
		return tagSpans(s.shape, s.name, s.values), nil
	case s.by == byAuthor:
		return r.authorSpans(s.shape, s.values, s.kinds)
	case s.by == byKind:
		return kindSpans(s.kinds), nil
	}
	return []span{s.one}, nil
}

// together is the one span of a stretch for counts: lists in one condition, because order does not matter.
func (s *stretch) together() span {
	var w where
	sh := s.shape
	switch s.by {
	case byTag:
		sh = tagged(sh)
		w.and("t.name=?", s.name)
		w.and("")
		w.tagValue("t.value", s.name, s.values)
		sh.repeats = len(s.values) > 1
	case byAuthor:
		w.andAuthors(s.values)
		if s.kinds != nil {
			w.andIn("e.kind", s.kinds)
		}
		sh.from, sh.at = "events AS e INDEXED BY events_author", "e"
	case byKind:
		w.in("e.kind", s.kinds)
		sh.from, sh.at = "events AS e INDEXED BY events_kind", "e"
	default:
		return s.one
	}
	sh.lead = w.sql.String()
	return span{&sh, w.args}
}
