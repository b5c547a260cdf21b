package query

import (
	"slices"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine"
)

// Bounds of what is a look-up: so many index entries to begin at, rows to give,
// and values in the whole filter.
const (
	fewStretches = 32
	FewRows      = 32
	fewValues    = 256
)

// effort says whether a page of the plan is a look-up: few rows to be found,
// and few to be passed over on the way. A page of what the reader has written
// himself counts as one too; of that there may be more, but then others have
// their turn after the first moments.
func (p plan) effort(ask store.Ask) engine.Effort {
	w := p.want
	if w.values() > fewValues {
		return engine.Scan
	}
	switch p.access {
	case byID:
		if len(w.IDs) <= fewStretches {
			return engine.LookUp
		}
	case byAddress:
		if len(w.authors)*len(w.kinds)*len(w.tag("d").values) <= fewStretches && exactD(w) {
			return engine.LookUp
		}
	case byAuthor:
		few := len(w.authors)*len(w.kinds) <= fewStretches && len(w.kinds) > 0
		if few && (boundsOf(&ask).rows <= FewRows && len(w.Tags) == 0 || own(ask.Scope, ask.Filter.Authors)) {
			return engine.LookUp
		}
	}
	return engine.Scan
}

// own reports whether a list names keys that the reader has proved, and no
// others.
func own(scope gate.Scope, keys []string) bool {
	return len(keys) > 0 && !slices.ContainsFunc(keys, func(key string) bool { return !scope.Proves(key) })
}

// values is how many values the filter's lists have.
func (w *Wanted) values() int {
	n := len(w.IDs) + len(w.authors) + len(w.kinds)
	for _, t := range w.Tags {
		n += len(t.values)
	}
	return n
}

// effortOfCount is that of a look-up when every filter is about the readers'
// own: by them, or naming them. Of that there may be much, but it is his to
// wait for: after the first moments of it, others have their turn.
func effortOfCount(asks []store.Ask, wants []*Wanted) engine.Effort {
	for i, ask := range asks {
		f := ask.Filter
		if f.Search != "" || wants[i].values() > fewValues || !own(ask.Scope, f.Authors) && !own(ask.Scope, f.Tags["p"]) {
			return engine.Scan
		}
	}
	return engine.LookUp
}
