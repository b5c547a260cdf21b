package contracts

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"engramd/internal/relay/fairness"
	"engramd/internal/relay/store"
)

const (
	maxQuery = 1024 // bytes of a search query
	maxWords = 32   // in it

	// Bounds of one search; the next one goes on where it ended.
	searchEntries = 5000
	searchBytes   = 4 << 20
	searchTime    = 10 * time.Second
	// Bounds of what is in memory at a time, and searched in one turn.
	turnEntries = 500
	turnBytes   = 256 << 10
)

// Search lists the entries the caller may see that have every word of the
// query, in any case, in the order of arrival, and then the moves whose notes
// have. It reads the thread in small pieces, and opens the caller's own private
// entries, and encrypted ones if the server keeps the caller's key; it passes
// over others. It searches a part of a long thread, which r.After moves on:
// limit, offset and total are of the entries found there.
func (th *threads) Search(ctx context.Context, c Caller, id string, r SearchRequest) (SearchPage, error) {
	if c.Nobody() {
		return SearchPage{}, errNobody()
	}
	limit, offset, err := page(r.Limit, r.Offset)
	if err != nil {
		return SearchPage{}, err
	}
	if err := checkType(r.Type); err != nil {
		return SearchPage{}, err
	}
	find, err := newFinder(r.Query)
	if err != nil {
		return SearchPage{}, err
	}
	moves, inMoves, err := placeOfMoves(r.After)
	if err != nil {
		return SearchPage{}, err
	}
	var after *store.ThreadEntry
	if !inMoves {
		if after, err = cursor(r.After); err != nil {
			return SearchPage{}, err
		}
	}
	v, t, err := th.reading(ctx, c, id, r.RequesterAgentID)
	if err != nil {
		return SearchPage{}, err
	}
	t.Type = r.Type
	p := &searching{
		th: th, v: v, thread: t, find: find, after: after, entries: searchEntries, bytes: searchBytes,
		done: inMoves, moves: moves, out: SearchPage{EntryPage: EntryPage{ContractID: v.Contract, Entries: []Entry{}, Limit: limit, Offset: offset}, Transitions: []Transition{}},
	}
	if r.Type != "" { // only entries have a type
		p.moves = -1
	}
	limited, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	err = p.run(limited)
	switch {
	case errors.Is(err, store.ErrNoPlace):
		return SearchPage{}, Wrong("after", "names an entry that is gone: search from the start")
	case err != nil && limited.Err() != nil && ctx.Err() == nil && p.looked == 0:
		return SearchPage{}, Refuse(Unavailable, "the search took too long, try again later")
	case err != nil && (limited.Err() == nil || ctx.Err() != nil):
		return SearchPage{}, err
	}
	if err := th.withdrawals(ctx, v, p.found, p.out.Entries); err != nil {
		return SearchPage{}, err
	}
	if err := th.withdrawnMoves(ctx, v, p.noted, p.out.Transitions); err != nil {
		return SearchPage{}, err
	}
	switch {
	case !p.done:
		p.out.Next = placeAfter(p.after)
	case p.moves >= 0:
		p.out.Next = placeInMoves(p.moves)
	}
	return p.out, nil
}

// searching is one search under way.
type searching struct {
	th      *threads
	v       *view
	thread  store.Thread
	find    *finder
	after   *store.ThreadEntry // the last one looked at
	looked  int
	found   []store.ThreadEntry // the rows of out
	noted   []store.ThreadMove  // likewise; a decision without an event comes after them
	done    bool                // the thread has no more entries
	moves   int                 // the first move to search then, -1 for none
	entries int                 // how many may still be searched
	bytes   int
	out     SearchPage
}

// run searches pieces of the thread until its end or the bounds are reached.
func (p *searching) run(ctx context.Context) error {
	known := p.th.agents.names()
	for !p.done && p.entries > 0 && p.bytes > 0 {
		n := min(turnEntries, p.entries)
		rows, err := p.th.store.ThreadNext(ctx, p.thread, p.after, n, min(turnBytes, p.bytes))
		if err != nil {
			return err
		}
		size, err := p.th.sizeOf(ctx, rows, known)
		if err != nil {
			return err
		}
		if err := p.th.unlock(ctx, p.v, rows); err != nil {
			return err
		}
		err = turn(ctx, p.th.turns, size, func() error { return p.piece(ctx, rows, known) })
		if err != nil {
			return err
		}
		p.done = len(rows) < n && size < min(turnBytes, p.bytes)
		p.entries, p.bytes = p.entries-len(rows), p.bytes-size
	}
	if p.done && p.moves >= 0 {
		return p.searchMoves(ctx, known)
	}
	return nil
}

// piece adds the matching entries among rows.
func (p *searching) piece(ctx context.Context, rows []store.ThreadEntry, known *names) error {
	for i := range rows {
		hit, err := p.find.hit(p.th, p.v, &rows[i])
		if err != nil {
			return err
		}
		if hit {
			p.out.Total++
			if p.out.Total > p.out.Offset && len(p.out.Entries) < p.out.Limit {
				e, err := p.th.entry(ctx, p.v, &rows[i], known)
				if err != nil {
					return err
				}
				p.out.Entries = append(p.out.Entries, e)
				p.found = append(p.found, rows[i])
			}
		}
		p.after = &store.ThreadEntry{CreatedAt: rows[i].CreatedAt, ID: rows[i].ID}
		p.looked++
	}
	return nil
}

// cursor parses what placeAfter wrote; nil is the start of the thread.
func cursor(text string) (*store.ThreadEntry, error) {
	if text == "" {
		return nil, nil
	}
	at, hexID, _ := strings.Cut(text, "-")
	created, err := strconv.ParseInt(at, 10, 64)
	id, wrong := hex.DecodeString(hexID)
	after := &store.ThreadEntry{CreatedAt: created, ID: id}
	if err != nil || wrong != nil || len(id) == 0 || placeAfter(after) != text {
		return nil, Wrong("after", "must be what next was")
	}
	return after, nil
}

// placeOfMoves parses what placeInMoves wrote. ok is false for other texts.
func placeOfMoves(text string) (first int, ok bool, err error) {
	rest, ok := strings.CutPrefix(text, "m")
	if !ok {
		return 0, false, nil
	}
	n, err := strconv.ParseUint(rest, 10, 31)
	if first = int(n); err != nil || placeInMoves(first) != text {
		return 0, false, Wrong("after", "must be what next was")
	}
	return first, true, nil
}

// placeInMoves returns a place among the moves of a contract, as text.
func placeInMoves(first int) string { return "m" + strconv.Itoa(first) }

// placeAfter returns the place of an entry in its thread, as text. It contains
// only what the entry's reader knows.
func placeAfter(e *store.ThreadEntry) string {
	return strconv.FormatInt(e.CreatedAt, 10) + "-" + hex.EncodeToString(e.ID)
}

// sizeOf returns how many bytes rows hold. It also looks up their authors'
// names, so that work on them in a turn waits for nothing.
func (th *threads) sizeOf(ctx context.Context, rows []store.ThreadEntry, known *names) (size int, err error) {
	for i := range rows {
		size += len(rows[i].Data)
		known.of(ctx, rows[i].Author)
	}
	return size, known.fail
}

// turn runs fn, which parses that many bytes, when it is the caller's turn.
func turn(ctx context.Context, turns *fairness.Turns, bytes int, fn func() error) error {
	turn, err := turns.Take(ctx, fairness.From(ctx), false)
	if err != nil {
		return err
	}
	defer turn.Done()
	turn.Spend(float64(bytes) / unitBytes)
	return fn()
}

// unitBytes is the number of bytes that count as one unit of work in a turn.
const unitBytes = 4 << 10

// finder looks for the words of a query.
type finder struct {
	words []string // in lower case, each once
}

func newFinder(query string) (*finder, error) {
	f := &finder{words: wordsOf(query)}
	switch {
	case len(f.words) == 0:
		return nil, Wrong("query", "has no word")
	case len(query) > maxQuery || len(f.words) > maxWords:
		return nil, Wrong("query", "is too long")
	}
	slices.Sort(f.words)
	f.words = slices.Compact(f.words)
	return f, nil
}

// hit reports whether an entry has every word.
func (f *finder) hit(th *threads, v *view, row *store.ThreadEntry) (bool, error) {
	if row.Form == store.EntryShared && f.lacks(row.Data) {
		return false, nil
	}
	content, _, opened, err := th.text(v, row)
	if row.Form == store.EntrySealed && !opened {
		return false, err
	}
	return err == nil && f.has(content), err
}

// has reports whether a text has every word, as wordsOf splits it.
func (f *finder) has(text string) bool {
	missing := slices.Clone(f.words)
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), betweenWords) {
		if i := slices.Index(missing, word); i >= 0 {
			missing = slices.Delete(missing, i, i+1)
		}
		if len(missing) == 0 {
			return true
		}
	}
	return false
}

// lacks reports whether the JSON of an event certainly lacks a word, without
// parsing it. It decides only about text in which letters stand for themselves.
func (f *finder) lacks(data []byte) bool {
	if bytes.Contains(data, []byte(`\u`)) {
		return false
	}
	lower := bytes.ToLower(data)
	return slices.ContainsFunc(f.words, func(w string) bool { return !bytes.Contains(lower, []byte(w)) })
}

// wordsOf splits a text into words: runs of letters, marks and digits, in lower
// case.
func wordsOf(text string) []string { return strings.FieldsFunc(strings.ToLower(text), betweenWords) }

func betweenWords(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsNumber(r)
}
