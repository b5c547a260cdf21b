package query

import (
	"encoding/json"
	"slices"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/search"
	"engramd/nips/niptemp"
)

// Contract entries that not everybody may read are not looked for in the
// full-text index, which holds those of all contracts: how long that takes
// tells how often a word stands in entries that the reader does not know of.
// Instead the entries that he may read are gone through, and matched by an
// index in memory that holds a few of them at a time.

// Bounds of what is matched at a time.
const (
	matchedRows  = 64
	matchedBytes = 256 << 10
)

// entrySpans are the stretches of contract entries that match the filter but
// for its search.
func (r *reading) entrySpans(c gate.Clause) (out []span, err error) {
	c.Classes = []gate.Class{gate.Contract}
	if r.want.IDs != nil {
		sp := idSpan(r.want.IDs)
		sp.classes = c.Classes
		return []span{sp}, nil
	}
	list, _ := r.partys(choose(r.want), c)
	for i := 0; err == nil && i < len(list); i++ {
		var some []span
		some, err = list[i].ordered(r)
		out = append(out, some...)
	}
	return out, err
}

// matchingEntries is the span of the contract entries that match the filter,
// its search included.
func (r *reading) matchingEntries(c gate.Clause, terms string) ([]span, error) {
	kind := []engine.Value{int64(niptemp.KindEntry)}
	if !among(r.want.kinds, kind[0]) {
		return nil, nil
	}
	entries, want := *r, *r.want
	want.kinds, entries.want, entries.texts = kind, &want, nil
	spans, err := entries.entrySpans(c)
	if err != nil || len(spans) == 0 {
		return nil, err
	}
	m, err := newMatcher(r, terms)
	if err != nil {
		return nil, err
	}
	defer m.c.Close()
	for _, sp := range spans {
		text, args := entries.statement("e.seq,e.json", sp)
		if err := r.c.Query(r.ctx, text, args, m.row); err != nil {
			return nil, err
		}
	}
	if err := m.flush(); err != nil || len(m.found) == 0 {
		return nil, err
	}
	slices.Sort(m.found)
	list, err := json.Marshal(slices.Compact(m.found))
	if err != nil {
		return nil, err
	}
	return []span{{&shape{
		from: "events AS e NOT INDEXED", lead: "e.seq IN (SELECT value FROM json_each(?))", at: "e",
		ids: true, kinds: true, authors: true, classes: []gate.Class{gate.Contract},
	}, []engine.Value{string(list)}}}, nil
}

// matcher finds the entries that have all words of a search, by an index in
// memory.
type matcher struct {
	r     *reading
	c     *engine.Conn
	sql   search.Statements
	terms string
	rows  int
	bytes int
	found []int64
}

func newMatcher(r *reading, terms string) (*matcher, error) {
	c, err := engine.Memory()
	if err != nil {
		return nil, err
	}
	m := &matcher{r: r, c: c, sql: search.StatementsOf(search.EntriesTable), terms: terms}
	if err := c.Script(m.sql.Create); err != nil {
		c.Close()
		return nil, err
	}
	return m, nil
}

// row takes a row of seq and json.
func (m *matcher) row(v engine.Row) error {
	ev, err := column.Event(v.Blob(1))
	if err != nil { // it is rotten, and found to be when it is read
		m.found = append(m.found, v.Int(0))
		return nil
	}
	text := search.Text(gate.Contract, ev)
	if text == "" {
		return nil
	}
	if err := m.r.c.Spend(float64(len(text))); err != nil {
		return err
	}
	if _, err := m.c.Exec(m.sql.Enter, v[0], text); err != nil {
		return err
	}
	m.bytes += len(text)
	if m.rows++; m.rows < matchedRows && m.bytes < matchedBytes {
		return nil
	}
	return m.flush()
}

// flush notes which of the rows match, and forgets them.
func (m *matcher) flush() error {
	err := m.c.Query(m.r.ctx, "SELECT rowid FROM "+search.EntriesTable+" WHERE "+search.EntriesTable+" MATCH ?", []engine.Value{m.terms},
		func(v engine.Row) error {
			m.found = append(m.found, v.Int(0))
			return nil
		})
	if err != nil {
		return err
	}
	m.rows, m.bytes = 0, 0
	_, err = m.c.Exec(m.sql.Clear)
	return err
}
