package contracts

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
)

var (
	// columnsEntry of contract_entries AS e end with the text: the event as it
	// is stored (of a thread nearly always as history, for an author's next
	// entry supersedes the last), or what the row holds; and with whether the
	// event is as it was written, 1 for what the row holds.
	columnsEntry = `e.author, e.other, e.created_at, e.id, e.form, e.type, e.entry, e.arrived_at, e.seq,
		e.n, e.k, e.withdrawn, e.request, coalesce((SELECT json FROM history AS h WHERE h.seq = e.seq), (SELECT json FROM events AS v WHERE v.seq = e.seq), e.data),
		CASE WHEN e.seq IS NULL THEN 1 ELSE coalesce((SELECT ` + column.Sound("history", "h") + ` FROM history AS h WHERE h.seq = e.seq),
			(SELECT ` + column.Sound("events", "v") + ` FROM events AS v WHERE v.seq = e.seq)) END`
	sqlEntries   = `SELECT ` + columnsEntry + ` FROM contract_entries AS e INDEXED BY contract_entries_order`
	sqlEntriesAt = `SELECT ` + columnsEntry + ` FROM (%s) AS p CROSS JOIN contract_entries AS e
		ON e.contract = ? AND e.author = p.author AND e.other = p.other AND e.created_at = p.created_at AND e.id = p.id`
)

const (
	// To pass over many, only their places are read, and the entries then.
	columnsPlace  = `SELECT author, other, created_at, id, n, k FROM contract_entries INDEXED BY `
	sqlPlaces     = columnsPlace + `contract_entries_order`
	sqlNamed      = columnsPlace + `contract_entries_entry`
	sqlPlaceOf    = `SELECT n, k FROM contract_entries NOT INDEXED`
	sqlEntryTimes = `SELECT created_at FROM contract_entries NOT INDEXED`
	sqlOneEntry   = `SELECT seq, n, k, arrived_at FROM contract_entries WHERE contract = ? AND author = ? AND other = ? AND created_at = ? AND id = ?`
)

// ThreadPage lists entries of a thread, in the order of their numbers, and how
// many match. A page ends with the entry whose data brings it to maxBytes, so
// that it may hold fewer than limit.
func (s *Store) ThreadPage(ctx context.Context, t store.Thread, limit, offset, maxBytes int) (out []store.ThreadEntry, total int, err error) {
	err = s.db.Snapshot(ctx, engine.Scan, func(ctx context.Context, c *engine.Conn) error {
		if total, err = thread(t).total(ctx, c); err != nil || offset >= total || limit <= 0 {
			return err
		}
		limit = min(limit, total-offset)
		order := inOrder
		if behind := total - offset - limit; behind < offset { // the way from the end is shorter
			order, offset = inReverse, behind
		}
		text, args := thread(t).union(sqlPlaces, "")
		text, args = text+order+" LIMIT ? OFFSET ?", append(args, int64(limit), int64(offset))
		if order == inReverse { // the limit keeps the order of what is selected from
			text, args = "SELECT * FROM ("+text+")"+inOrder+" LIMIT ?", append(args, int64(limit))
		}
		out, err = thread(t).at(ctx, c, text, args, maxBytes)
		return err
	})
	return out, total, err
}

// The orders of a thread.
const (
	inOrder   = " ORDER BY n, k, id"
	inReverse = " ORDER BY n DESC, k DESC, id DESC"
)

// ThreadNext lists up to limit entries behind one (its CreatedAt and ID) in
// their order; from the start when after is nil. The last is the one whose data
// brings them to maxBytes.
func (s *Store) ThreadNext(ctx context.Context, t store.Thread, after *store.ThreadEntry, limit, maxBytes int) (out []store.ThreadEntry, err error) {
	err = s.db.Snapshot(ctx, engine.Scan, func(ctx context.Context, c *engine.Conn) error {
		where, extra := "", []engine.Value(nil)
		if after != nil {
			n, k, err := thread(t).placeOf(c, after)
			if err != nil {
				return err
			}
			where, extra = " AND (n, k, id) > (?, ?, ?)", []engine.Value{n, k, after.ID}
		}
		text, args := thread(t).union(sqlEntries, where, extra...)
		out, err = thread(t).entries(ctx, c, text+inOrder+" LIMIT ?", append(args, int64(limit)), maxBytes)
		return err
	})
	return out, err
}

// placeOf finds where an entry stands that the reader has seen, whether it was
// withdrawn meanwhile or not. Its numbers are not for every reader, so that he
// names it by what he knows of it.
func (t thread) placeOf(c *engine.Conn, e *store.ThreadEntry) (n, k engine.Value, err error) {
	t.Whole, t.Type = true, ""
	text, args := t.union(sqlPlaceOf, " AND created_at = ? AND id = ?", e.CreatedAt, e.ID)
	row, err := c.One(text+" LIMIT 1", args...)
	if err == nil && row == nil {
		err = store.ErrNoPlace
	}
	if err != nil {
		return nil, nil, err
	}
	return row[0], row[1], nil
}

// ThreadEntry finds an entry by its id, the first that came with it; nil for
// none. What the reader may not see is looked for in the same way as what is
// not there.
func (s *Store) ThreadEntry(ctx context.Context, t store.Thread, entry string) (out *store.ThreadEntry, err error) {
	err = s.db.Snapshot(ctx, engine.LookUp, func(ctx context.Context, c *engine.Conn) error {
		text, args := thread(t).union(sqlNamed, " AND entry = ?", entry)
		rows, err := thread(t).at(ctx, c, text+inOrder+" LIMIT 1", args, 1)
		if err == nil && len(rows) > 0 {
			out = &rows[0]
		}
		return err
	})
	return out, err
}

// at reads the entries in the places that a query selects, in its order.
func (t thread) at(ctx context.Context, c *engine.Conn, places string, args []engine.Value, maxBytes int) ([]store.ThreadEntry, error) {
	return t.entries(ctx, c, fmt.Sprintf(sqlEntriesAt, places), append(args, t.Contract), maxBytes)
}

// entries reads what a query selects, in order, until it has maxBytes of data.
func (t thread) entries(ctx context.Context, c *engine.Conn, text string, args []engine.Value, maxBytes int) (out []store.ThreadEntry, err error) {
	if len(t.parts()) == 0 {
		return nil, nil
	}
	size := 0
	err = c.Query(ctx, text, args, func(v engine.Row) error {
		e, err := scanEntry(v)
		if err != nil {
			return err
		}
		if n := len(out); n > 0 && byPlace(out[n-1], e) > 0 {
			return errDisorder
		}
		out = append(out, e)
		if size += len(e.Data); size >= maxBytes {
			return engine.ErrStop
		}
		return nil
	})
	return out, err
}

// errDisorder means that SQLite has not kept to the order that was asked for; a
// page that ends early would leave entries out.
var errDisorder = errors.New("contract entries come out of order")

// byPlace is the order of a thread.
func byPlace(e, o store.ThreadEntry) int {
	return cmp.Or(cmp.Compare(e.N, o.N), cmp.Compare(e.K, o.K), bytes.Compare(e.ID, o.ID))
}

// union selects a thread's entries under a further condition, each part in its
// order.
func (t thread) union(selected, where string, extra ...engine.Value) (text string, args []engine.Value) {
	for i, p := range t.parts() {
		if i > 0 {
			text += " UNION ALL "
		}
		part, more := p.sql(selected, where, extra...)
		text, args = text+part, append(args, more...)
	}
	return text, args
}

// thread is a store.Thread as it is read.
type thread store.Thread

// threadPart is what one author has addressed to one key in a thread, as far as
// the reader sees it.
type threadPart struct {
	author string
	where  string
	args   []engine.Value
}

// parts are poster to worker, worker to poster, and poster before there was a
// worker.
func (t thread) parts() (out []threadPart) {
	poster, _ := column.Hex32(t.Poster)
	worker, named := column.Hex32(t.Worker)
	pairs := [][2][]byte{{poster, poster}}
	if named {
		pairs = append(pairs, [2][]byte{poster, worker}, [2][]byte{worker, poster})
		if t.Talk {
			pairs = pairs[1:]
		}
	}
	for _, pair := range pairs {
		p := threadPart{
			author: column.HexOf(pair[0]), where: " WHERE contract = ? AND author = ? AND other = ?", args: []engine.Value{t.Contract, pair[0], pair[1]},
		}
		switch {
		case t.Author != "" && t.Author != p.author:
			continue
		case t.Reader != "" && t.Reader == p.author:
			p.where += " AND form <= 2"
		case t.Party, t.Sealed:
			p.where += " AND form <= 1"
		default:
			p.where += " AND form = 0"
		}
		if !t.Whole {
			p.where += " AND withdrawn = 0"
		}
		if t.Private != nil {
			p.where += map[bool]string{true: " AND form = 2", false: " AND form < 2"}[*t.Private]
		}
		if t.Type != "" {
			p.where, p.args = p.where+" AND type = ?", append(p.args, t.Type)
		}
		out = append(out, p)
	}
	return out
}

// sql adds what is selected, and a further condition with its arguments, to the
// part's own.
func (p threadPart) sql(selected, more string, extra ...engine.Value) (string, []engine.Value) {
	return selected + p.where + more, append(slices.Clip(p.args), extra...)
}

func scanEntry(v engine.Row) (e store.ThreadEntry, err error) {
	id, ok := v[3].([]byte)
	if !ok || v[14] != engine.Value(int64(1)) && !column.Trusted(v[14], v.Blob(13)) {
		return e, fmt.Errorf("contract entry: %w", column.ErrDamaged)
	}
	return store.ThreadEntry{
		Author: v.Hex(0), Other: v.Hex(1), CreatedAt: v.Int(2), ID: id, Form: store.EntryForm(v.Int(4)), Type: v.Text(5), Entry: v.Text(6),
		ArrivedAt: v.Int(7), Published: v[8] != nil, N: v.Int(9), K: v.Int(10), Withdrawn: v.Int(11), Request: v.Blob(12), Data: v.Blob(13),
	}, nil
}
