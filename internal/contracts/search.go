package contracts

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"engramd/internal/store"
)

const (
	maxQuery = 1024 // bytes of a search query
	maxWords = 32   // in it
	// searchChunk is how many entries are in memory at a time.
	searchChunk = 64
)

// Search lists the entries the caller may see that have every word of the
// query, in any case, oldest first. It reads the thread, in small pieces, and
// opens the caller's own private entries; encrypted ones it passes over.
func (s *Service) Search(ctx context.Context, c Caller, id string, r SearchRequest) (EntryPage, error) {
	limit, offset, err := page(r.Limit, r.Offset)
	if err != nil {
		return EntryPage{}, err
	}
	if err := checkType(r.Type); err != nil {
		return EntryPage{}, err
	}
	words := wordsOf(r.Query)
	switch {
	case len(words) == 0:
		return EntryPage{}, Wrong("query", "has no word")
	case len(r.Query) > maxQuery || len(words) > maxWords:
		return EntryPage{}, Wrong("query", "is too long")
	}
	v, t, err := s.reading(ctx, c, id, r.RequesterAgentID)
	if err != nil {
		return EntryPage{}, err
	}
	t.Type = r.Type
	select {
	case s.searches <- struct{}{}:
		defer func() { <-s.searches }()
	case <-ctx.Done():
		return EntryPage{}, ctx.Err()
	}
	out := EntryPage{ContractID: v.Contract, Entries: []Entry{}, Limit: limit, Offset: offset}
	known := s.names()
	find := finder{words: words}
	var after *store.ThreadEntry
	for {
		rows, err := s.store.ThreadNext(ctx, t, after, searchChunk)
		if err != nil {
			return EntryPage{}, err
		}
		for i := range rows {
			hit, err := find.hit(s, v, &rows[i])
			if err != nil {
				return EntryPage{}, err
			}
			if !hit {
				continue
			}
			out.Total++
			if out.Total <= offset || len(out.Entries) == limit {
				continue
			}
			e, err := s.entry(ctx, v, &rows[i], known)
			if err != nil {
				return EntryPage{}, err
			}
			out.Entries = append(out.Entries, e)
		}
		if len(rows) < searchChunk {
			return out, nil
		}
		after = &rows[len(rows)-1]
	}
}

// finder looks for the words of a query, and keeps the room it needs for that.
type finder struct {
	words []string
	lower []byte
}

// hit reports whether an entry has every word.
func (f *finder) hit(s *Service, v *view, row *store.ThreadEntry) (bool, error) {
	if row.Form == store.EntrySealed {
		return false, nil
	}
	if row.Form == store.EntryShared && f.lacks(row.Data) {
		return false, nil
	}
	content, _, err := s.text(v.Contract, row)
	if err != nil {
		return false, err
	}
	missing := make(map[string]bool, len(f.words))
	for _, w := range f.words {
		missing[w] = true
	}
	for _, w := range wordsOf(content) {
		delete(missing, w)
		if len(missing) == 0 {
			return true, nil
		}
	}
	return false, nil
}

// lacks reports whether the JSON of an event surely has not every word, without
// taking it apart. It judges only text in which letters stand for themselves.
func (f *finder) lacks(data []byte) bool {
	f.lower = slices.Grow(f.lower[:0], len(data))[:len(data)]
	for i, c := range data {
		if c >= utf8.RuneSelf || c == 'u' && i > 0 && data[i-1] == '\\' {
			return false
		}
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		f.lower[i] = c
	}
	for _, w := range f.words {
		if !bytes.Contains(f.lower, []byte(w)) {
			return true
		}
	}
	return false
}

// wordsOf splits a text into words: runs of letters, marks and digits, in lower
// case.
func wordsOf(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsNumber(r)
	})
}
