package query

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/search"
)

// maxWords bounds the words and phrases of one search.
const maxWords = 64

// SearchEnabled reports whether there is a full-text index.
func (q *Reader) SearchEnabled() bool { return q.Indexed.Load() }

// Hits are the ranked results of one search. Between pages nothing is held
// open.
type Hits struct {
	reader *Reader
	ask    store.Ask
	list   []found
	cut    bool
}

// Search ranks the events that contain all words of the filter's Search, that
// its other conditions match and that the scope shows: best match first, then
// newest, then lowest id. What is everybody's is ranked by bm25. Contract
// entries, where the scope shows any, come before it, the shortest first: a
// rank that depends on the entry alone, because whoever reads some must not
// learn from their order what stands in others. Words are whole words without
// regard to case and diacritics; "several of them" in double quotes are a
// phrase; nothing in the text has any other meaning. It keeps the first
// Ask.MaxRows of them (0: 500), by number only; the rows are read page by page
// from the Hits. After is not looked at.
//
// The error is ErrNoSearch without an index, ErrFilter for no search at all or
// one of more than 64 words, else as of Query.
func (q *Reader) Search(ctx context.Context, ask store.Ask) (out store.Hits, err error) {
	defer q.Observed("search", time.Now(), &err)
	if !q.SearchEnabled() {
		return nil, store.ErrNoSearch
	}
	want, err := Compile(ask.Filter)
	if err != nil {
		return nil, err
	}
	if ask.Filter.Search == "" {
		return nil, fmt.Errorf("%w: it has no search", store.ErrFilter)
	}
	ask.After = nil
	hits := &Hits{reader: q, ask: ask}
	if want.None {
		return hits, nil
	}
	most := cmp.Or(max(ask.MaxRows, 0), defaultPageRows)
	err = q.DB.InTime(ctx, engine.Scan, func(ctx context.Context, c *engine.Conn) error {
		hits.list, err = q.reading(ctx, c, ask, want).search(most + 1)
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(hits.list) > most {
		hits.list, hits.cut = hits.list[:most], true
	}
	return hits, nil
}

// search finds the best matches.
func (r *reading) search(most int) ([]found, error) {
	r.whole = true
	var list []found
	spans, err := r.matchSpans()
	if err != nil {
		return nil, err
	}
	for _, sp := range spans {
		text, args := r.statement(columnsKey, sp)
		best := "length(e.json)"
		if sp.classes[0] == gate.Open {
			best = "bm25(" + search.OpenTable + ")"
		}
		text += " ORDER BY " + best + ",e.created_at DESC,e.id LIMIT ?"
		more, err := engine.List(r.ctx, r.c, scanFound, text, append(args, int64(most-len(list)))...)
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	return list, nil
}

// Cut reports whether there are further matches beyond the limit.
func (h *Hits) Cut() bool { return h.cut }

// Next returns the next page of the hits in their order; zero bounds mean the
// store's own. What was deleted, superseded or expired since the search is not
// among them. More is false on the last page. Errors are as of Query; after
// one, the same page may be asked for again.
func (h *Hits) Next(ctx context.Context, maxRows, maxBytes int) (page store.Page, err error) {
	var met []store.Damaged
	size := boundsOf(&store.Ask{MaxRows: maxRows, MaxBytes: maxBytes})
	for len(page.Rows) == 0 && len(h.list) > 0 {
		settled := 0
		err := h.reader.DB.Snapshot(ctx, engine.Scan, func(ctx context.Context, c *engine.Conn) (err error) {
			r := h.reader.reading(ctx, c, h.ask, &Wanted{})
			page.Rows, settled, err = r.fetch(h.list, size)
			met = append(met, r.met...)
			return err
		})
		if err != nil {
			return store.Page{}, err
		}
		h.list = h.list[settled:]
	}
	page.More = len(h.list) > 0
	return page, Lacking(met, false, nil)
}

// matchSpans select the rows that contain all words of the filter's search, in
// each table that the scope reaches. There are none when it has no words.
func (r *reading) matchSpans() ([]span, error) {
	words := searchTerms(r.want.filter.Search)
	if len(words) == 0 {
		return nil, nil
	}
	if len(words) > maxWords {
		return nil, fmt.Errorf("%w: a search of more than %d words", store.ErrFilter, maxWords)
	}
	terms := strings.Join(words, " ")
	open := []span{indexSpan(gate.Open, terms)}
	if r.scope.All() {
		return append([]span{indexSpan(gate.Contract, terms)}, open...), nil
	}
	for _, c := range r.scope.Clauses() {
		if !slices.Contains(c.Classes, gate.Contract) {
			continue
		}
		if c.Everyone {
			return append([]span{indexSpan(gate.Contract, terms)}, open...), nil
		}
		entries, err := r.matchingEntries(c, terms)
		return append(entries, open...), err
	}
	return open, nil
}

// indexSpan selects rows of a class by the full-text index.
func indexSpan(class gate.Class, terms string) span {
	table := search.Table(class)
	return span{&shape{
		from: table + " CROSS JOIN events AS e ON e.seq=" + table + ".rowid", lead: table + " MATCH ?", at: "e",
		ids: true, kinds: true, authors: true, classes: []gate.Class{class},
	}, []engine.Value{terms}}
}

// searchTerms splits a search into FTS5 strings: each word and each "quoted
// phrase" in double quotes, so that no character of it is syntax. Pieces
// without a letter or digit select nothing and are left out.
func searchTerms(text string) []string {
	var out []string
	add := func(term string) {
		if strings.IndexFunc(term, wordRune) >= 0 {
			out = append(out, `"`+term+`"`)
		}
	}
	pieces := strings.Split(strings.ReplaceAll(text, "\x00", " "), `"`)
	for i, piece := range pieces {
		if i%2 == 1 && i < len(pieces)-1 {
			add(piece)
			continue
		}
		for word := range strings.FieldsSeq(piece) {
			add(word)
		}
	}
	return out
}

// wordRune reports whether the tokenizer (unicode61) makes words of the
// character.
func wordRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.Is(unicode.Co, r)
}
