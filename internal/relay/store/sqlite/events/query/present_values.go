package query

import (
	"strings"

	"engramd/internal/relay/store/sqlite/engine"
)

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
	err = r.c.Query(r.ctx, w.SQL.String(), w.Args, func(v []engine.Value) error {
		out = append(out, span{sh, []engine.Value{v[0], v[1]}})
		return nil
	})
	return out, err
}
