package store

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strings"
)

const (
	columnsEntry = `author, other, created_at, id, form, type, entry, arrived_at, seq`
	// sqlEntryData is an entry's text: the event as it is stored, or what the row holds.
	sqlEntryData = `SELECT coalesce((SELECT json FROM events AS v WHERE v.seq = e.seq), (SELECT json FROM history AS h WHERE h.seq = e.seq), data)
		FROM contract_entries AS e WHERE contract = ? AND author = ? AND other = ? AND created_at = ? AND id = ?`
	sqlNewestEntry = `SELECT max(created_at) FROM contract_entries WHERE contract = ? AND author = ? AND other = ?`
	sqlOneEntry    = `SELECT seq FROM contract_entries WHERE contract = ? AND author = ? AND other = ? AND created_at = ? AND id = ?`
)

// ThreadPage lists entries of a thread, oldest first (created_at, then id), without Data, and how many match.
func (s *Store) ThreadPage(ctx context.Context, t Thread, limit, offset int) (out []ThreadEntry, total int, err error) {
	err = s.snapshot(ctx, func(ctx context.Context, c *conn) error {
		text, args := t.union("count(*)", "", s.clock().Unix())
		err := c.query(ctx, text, args, func(v []driver.Value) error {
			n, _ := v[0].(int64)
			total += int(n)
			return nil
		})
		if err != nil {
			return err
		}
		text, args = t.union(columnsEntry, "", s.clock().Unix())
		args = append(args, int64(limit), int64(offset))
		err = c.query(ctx, text+" ORDER BY created_at, id LIMIT ? OFFSET ?", args, func(v []driver.Value) error {
			e, err := scanEntry(v)
			out = append(out, e)
			return err
		})
		if err != nil {
			return err
		}
		return t.fill(c, out)
	})
	return out, total, err
}

// ThreadNext lists up to limit entries behind one, oldest first; from the start when after is nil.
func (s *Store) ThreadNext(ctx context.Context, t Thread, after *ThreadEntry, limit int) (out []ThreadEntry, err error) {
	err = s.snapshot(ctx, func(ctx context.Context, c *conn) error {
		more, extra := "", []driver.Value(nil)
		if after != nil {
			more, extra = " AND (created_at, id) > (?, ?)", []driver.Value{after.CreatedAt, after.ID}
		}
		text, args := t.union(columnsEntry, more, s.clock().Unix(), extra...)
		args = append(args, int64(limit))
		err := c.query(ctx, text+" ORDER BY created_at, id LIMIT ?", args, func(v []driver.Value) error {
			e, err := scanEntry(v)
			out = append(out, e)
			return err
		})
		if err != nil {
			return err
		}
		return t.fill(c, out)
	})
	return out, err
}

// ThreadEntry finds an entry by its id, the first that came with it; nil for none. What the reader may not see is
// looked for in the same way as what is not there.
func (s *Store) ThreadEntry(ctx context.Context, t Thread, entry string) (out *ThreadEntry, err error) {
	err = s.snapshot(ctx, func(ctx context.Context, c *conn) error {
		text, args := t.union(columnsEntry, " AND entry = ?", s.clock().Unix(), entry)
		rows := []ThreadEntry{}
		err := c.query(ctx, text+" ORDER BY arrived_at LIMIT 1", args, func(v []driver.Value) error {
			e, err := scanEntry(v)
			rows = append(rows, e)
			return err
		})
		if err != nil || len(rows) == 0 {
			return err
		}
		out = &rows[0]
		return t.fill(c, rows)
	})
	return out, err
}

// ThreadGroups counts the entries of a thread.
func (s *Store) ThreadGroups(ctx context.Context, t Thread) (out []ThreadGroup, err error) {
	err = s.read(ctx, func(ctx context.Context, c *conn) error {
		text, args := t.union("author, type, form, count(*), count(seq), min(created_at), max(created_at)", " GROUP BY type, form", s.clock().Unix())
		return c.query(ctx, text, args, func(v []driver.Value) error {
			n := [5]int64{}
			for i := range n {
				n[i], _ = v[2+i].(int64)
			}
			if n[1] == 0 {
				return nil
			}
			kind, _ := v[1].(string)
			out = append(out, ThreadGroup{
				Author: hexOf(v[0]), Type: kind, Form: EntryForm(n[0]), Count: int(n[1]), Published: int(n[2]), First: n[3], Last: n[4],
			})
			return nil
		})
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
	err = s.read(ctx, func(_ context.Context, c *conn) error {
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

// union selects columns from the thread's parts, each in the order of the primary key: poster to worker, worker to
// poster, poster before there was a worker.
func (t Thread) union(columns, more string, now int64, extra ...driver.Value) (string, []driver.Value) {
	poster, _ := lowerHex32(t.Poster)
	worker, named := lowerHex32(t.Worker)
	parts := [][2][]byte{{poster, poster}}
	if named {
		parts = append(parts, [2][]byte{poster, worker}, [2][]byte{worker, poster})
	}
	var sql strings.Builder
	var args []driver.Value
	for i, p := range parts {
		if i > 0 {
			sql.WriteString(" UNION ALL ")
		}
		sql.WriteString("SELECT " + columns + " FROM contract_entries WHERE contract = ? AND author = ? AND other = ? AND (expires_at IS NULL OR expires_at > ?)")
		args = append(args, t.Contract, p[0], p[1], now)
		if t.Reader != "" && t.Reader == hexOf(p[0]) {
			sql.WriteString(" AND form <= 2")
		} else if t.Party {
			sql.WriteString(" AND form <= 1")
		} else {
			sql.WriteString(" AND form = 0")
		}
		if t.Private != nil {
			sql.WriteString(map[bool]string{true: " AND form = 2", false: " AND form < 2"}[*t.Private])
		}
		if t.Type != "" {
			sql.WriteString(" AND type = ?")
			args = append(args, t.Type)
		}
		if t.Author != "" && t.Author != hexOf(p[0]) {
			sql.WriteString(" AND 0")
		}
		sql.WriteString(more)
		args = append(args, extra...)
	}
	return sql.String(), args
}

// fill reads the Data of entries.
func (t Thread) fill(c *conn, entries []ThreadEntry) error {
	for i := range entries {
		e := &entries[i]
		author, _ := lowerHex32(e.Author)
		other, _ := lowerHex32(e.Other)
		row, err := c.one(sqlEntryData, t.Contract, author, other, e.CreatedAt, e.ID)
		if err != nil {
			return err
		}
		if len(row) == 1 {
			e.Data, _ = row[0].([]byte)
		}
	}
	return nil
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
	return e, nil
}
