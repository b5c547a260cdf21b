package store

import (
	"bytes"
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
)

const (
	// columnsEntry of contract_entries AS e end with the text: the event as it is stored (of a thread nearly always as history,
	// for an author's next entry supersedes the last), or what the row holds.
	columnsEntry = `e.author, e.other, e.created_at, e.id, e.form, e.type, e.entry, e.arrived_at, e.seq,
		coalesce((SELECT json FROM history AS h WHERE h.seq = e.seq), (SELECT json FROM events AS v WHERE v.seq = e.seq), e.data)`
	sqlEntries = `SELECT ` + columnsEntry + ` FROM contract_entries AS e`
	// To pass over many, only their places are read, and the entries then.
	sqlPlaces    = `SELECT author, other, created_at, id, arrived_at FROM contract_entries`
	sqlNamed     = sqlPlaces + ` INDEXED BY contract_entries_entry`
	sqlEntriesAt = `SELECT ` + columnsEntry + ` FROM (%s) AS p CROSS JOIN contract_entries AS e
		ON e.contract = ? AND e.author = p.author AND e.other = p.other AND e.created_at = p.created_at AND e.id = p.id`
	sqlEntryTimes  = `SELECT created_at FROM contract_entries`
	ifLasts        = ` AND (expires_at IS NULL OR expires_at > ?)`
	sqlNewestEntry = `SELECT max(created_at) FROM contract_entries WHERE contract = ? AND author = ? AND other = ?`
	sqlOneEntry    = `SELECT seq FROM contract_entries WHERE contract = ? AND author = ? AND other = ? AND created_at = ? AND id = ?`
)

// ThreadPage lists entries of a thread, oldest first (created_at, then id), and how many match. A page ends with the entry
// whose data brings it to maxBytes, so that it may hold fewer than limit.
func (s *Store) ThreadPage(ctx context.Context, t Thread, limit, offset, maxBytes int) (out []ThreadEntry, total int, err error) {
	err = s.snapshot(ctx, scan, func(ctx context.Context, c *conn) error {
		now := s.clock().Unix()
		if total, err = t.total(ctx, c, now); err != nil || offset >= total || limit <= 0 {
			return err
		}
		limit = min(limit, total-offset)
		order := inOrder
		if behind := total - offset - limit; behind < offset { // the way from the end is shorter
			order, offset = inReverse, behind
		}
		text, args := t.union(sqlPlaces, ifLasts, now)
		text, args = text+order+" LIMIT ? OFFSET ?", append(args, int64(limit), int64(offset))
		if order == inReverse { // the limit keeps the order of what is selected from
			text, args = "SELECT * FROM ("+text+")"+inOrder+" LIMIT ?", append(args, int64(limit))
		}
		out, err = t.at(ctx, c, text, args, maxBytes)
		return err
	})
	return out, total, err
}

// The orders of a thread.
const (
	inOrder   = " ORDER BY created_at, id"
	inReverse = " ORDER BY created_at DESC, id DESC"
)

// ThreadNext lists up to limit entries behind one (its CreatedAt and ID), oldest first; from the start when after is nil.
// The last is the one whose data brings them to maxBytes.
func (s *Store) ThreadNext(ctx context.Context, t Thread, after *ThreadEntry, limit, maxBytes int) (out []ThreadEntry, err error) {
	err = s.snapshot(ctx, scan, func(ctx context.Context, c *conn) error {
		where, extra := ifLasts, []driver.Value{s.clock().Unix()}
		if after != nil {
			where, extra = where+" AND (created_at, id) > (?, ?)", append(extra, after.CreatedAt, after.ID)
		}
		text, args := t.union(sqlEntries, where, extra...)
		out, err = t.entries(ctx, c, text+inOrder+" LIMIT ?", append(args, int64(limit)), maxBytes)
		return err
	})
	return out, err
}

// ThreadEntry finds an entry by its id, the first that came with it; nil for none. What the reader may not see is
// looked for in the same way as what is not there.
func (s *Store) ThreadEntry(ctx context.Context, t Thread, entry string) (out *ThreadEntry, err error) {
	err = s.snapshot(ctx, lookUp, func(ctx context.Context, c *conn) error {
		text, args := t.union(sqlNamed, ifLasts+" AND entry = ?", s.clock().Unix(), entry)
		rows, err := t.at(ctx, c, text+" ORDER BY arrived_at LIMIT 1", args, 1)
		if err == nil && len(rows) > 0 {
			out = &rows[0]
		}
		return err
	})
	return out, err
}

// NewestEntry is the created_at of the author's last entry in a contract addressed to one of two keys, 0 for none.
func (s *Store) NewestEntry(ctx context.Context, contract, author, other string) (at int64, err error) {
	who, ok1 := lowerHex32(author)
	to, ok2 := lowerHex32(other)
	if !ok1 || !ok2 {
		return 0, fmt.Errorf("the parties are no pubkeys")
	}
	err = s.read(ctx, lookUp, func(_ context.Context, c *conn) error {
		for _, k := range [][]byte{to, who} {
			n, err := c.number(sqlNewestEntry, contract, who, k)
			if err != nil {
				return err
			}
			at = max(at, n)
		}
		return nil
	})
	return at, err
}

// at reads the entries in the places that a query selects, in its order.
func (t Thread) at(ctx context.Context, c *conn, places string, args []driver.Value, maxBytes int) ([]ThreadEntry, error) {
	return t.entries(ctx, c, fmt.Sprintf(sqlEntriesAt, places), append(args, t.Contract), maxBytes)
}

// entries reads what a query selects, oldest first, until it has maxBytes of data.
func (t Thread) entries(ctx context.Context, c *conn, text string, args []driver.Value, maxBytes int) (out []ThreadEntry, err error) {
	if len(t.parts()) == 0 {
		return nil, nil
	}
	size := 0
	err = c.query(ctx, text, args, func(v []driver.Value) error {
		e, err := scanEntry(v)
		if err != nil {
			return err
		}
		if n := len(out); n > 0 && out[n-1].compare(e) > 0 {
			return errDisorder
		}
		out = append(out, e)
		if size += len(e.Data); size >= maxBytes {
			return errStop
		}
		return nil
	})
	return out, err
}

// errDisorder means that SQLite has not kept to the order that was asked for; a page that ends early would leave entries out.
var errDisorder = errors.New("contract entries come out of order")

// compare is the order of a thread.
func (e ThreadEntry) compare(o ThreadEntry) int {
	return cmp.Or(cmp.Compare(e.CreatedAt, o.CreatedAt), bytes.Compare(e.ID, o.ID))
}

// union selects a thread's entries under a further condition, each part in the order of the primary key.
func (t Thread) union(selected, where string, extra ...driver.Value) (text string, args []driver.Value) {
	for i, p := range t.parts() {
		if i > 0 {
			text += " UNION ALL "
		}
		part, more := p.sql(selected, where, extra...)
		text, args = text+part, append(args, more...)
	}
	return text, args
}

// threadPart is what one author has addressed to one key in a thread, as far as the reader sees it.
type threadPart struct {
	author string
	where  string
	args   []driver.Value
}

// parts are poster to worker, worker to poster, and poster before there was a worker.
func (t Thread) parts() (out []threadPart) {
	poster, _ := lowerHex32(t.Poster)
	worker, named := lowerHex32(t.Worker)
	pairs := [][2][]byte{{poster, poster}}
	if named {
		pairs = append(pairs, [2][]byte{poster, worker}, [2][]byte{worker, poster})
	}
	for _, pair := range pairs {
		p := threadPart{
			author: hexOf(pair[0]), where: " WHERE contract = ? AND author = ? AND other = ?", args: []driver.Value{t.Contract, pair[0], pair[1]},
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

// sql adds what is selected, and a further condition with its arguments, to the part's own.
func (p threadPart) sql(selected, more string, extra ...driver.Value) (string, []driver.Value) {
	return selected + p.where + more, append(slices.Clip(p.args), extra...)
}

func scanEntry(v []driver.Value) (e ThreadEntry, err error) {
	id, ok := v[3].([]byte)
	if !ok {
		return e, fmt.Errorf("contract entry: %w", errStoredRow)
	}
	e = ThreadEntry{Author: hexOf(v[0]), Other: hexOf(v[1]), ID: id, Published: v[8] != nil}
	e.CreatedAt, _ = v[2].(int64)
	form, _ := v[4].(int64)
	e.Form = EntryForm(form)
	e.Type, _ = v[5].(string)
	e.Entry, _ = v[6].(string)
	e.ArrivedAt, _ = v[7].(int64)
	e.Data, _ = v[9].([]byte)
	return e, nil
}
