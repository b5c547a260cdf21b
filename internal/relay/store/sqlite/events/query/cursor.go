package query

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strconv"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/record"
)

// Entry is a row as it is read, with what the second check needs.
type Entry struct {
	store.Row
	class gate.Class
	d     engine.Value
	sound bool // its sum says so
}

// Scan reads the columns that Columns names. Of a row that is not as it was
// written, Sift finds out more.
func (e *Entry) Scan(v engine.Row) error {
	if *e = (Entry{sound: v[4] == engine.Value(int64(1))}); e.sound {
		return e.scan(v)
	}
	if err := e.scan(v); err != nil || v[4] != nil {
		*e = Entry{Row: store.Row{Seq: v.Int(0)}}
	}
	return nil
}

func (e *Entry) scan(v engine.Row) error {
	seq, ok1 := v[0].(int64)
	created, ok2 := v[1].(int64)
	class, ok3 := v[2].(int64)
	json, ok4 := v[3].([]byte)
	if !ok1 || !ok2 || !ok3 || !ok4 || len(json) < record.PubkeyEnd {
		return column.ErrDamaged
	}
	e.Row, e.class = store.Row{Seq: seq, CreatedAt: created, JSON: json}, gate.Class(class)
	if int64(e.class) != class {
		return column.ErrDamaged
	}
	if _, err := hex.Decode(e.ID[:], json[record.IDAt:record.IDEnd]); err != nil {
		return column.ErrDamaged
	}
	if len(v) > 5 {
		e.d = v[5]
	}
	return nil
}

// Readable is the second check, on what is about to leave. A column that was not
// selected gives nobody access.
func (e *Entry) Readable(scope gate.Scope) bool {
	if e.class == gate.Open || scope.All() {
		return true
	}
	head := string(e.JSON[record.IDAt:record.PubkeyEnd])
	sub := gate.Subject{Class: e.class, ID: head[:64], Author: head[record.PubkeyAt-record.IDAt:]}
	if scope.CanRead(sub) {
		return true // knowing more of an event never takes a right away
	}
	if e.d != nil {
		d, err := column.Text(e.d)
		if err != nil {
			return false
		}
		sub.D = d
	}
	sub.P = namedKeys(e.JSON)
	return scope.CanRead(sub)
}

// namedKeys are the values of an event's p tags that are keys, found in its
// stored JSON: there a quotation mark after a bracket begins a tag, because
// within a string it would have a backslash before it.
func namedKeys(json []byte) (keys []string) {
	start := []byte(`["p","`)
	for rest := json; ; {
		at := bytes.Index(rest, start)
		if at < 0 || len(rest) < at+len(start)+65 {
			return keys
		}
		rest = rest[at+len(start):]
		if value := string(rest[:64]); rest[64] == '"' && column.IsHex(value) {
			keys = append(keys, value)
		}
	}
}

// compareRows is the order of answers: newest first, ties by lowest id.
func compareRows(a, b *store.Row) int {
	return cmp.Or(cmp.Compare(b.CreatedAt, a.CreatedAt), bytes.Compare(a.ID[:], b.ID[:]))
}

// cursor walks one span as an open statement. The index gives rows newest
// first; of those with the same created_at the cursor reads all before it gives
// one, to order them by id, but keeps no more than a page of them.
type cursor struct {
	r     *reading
	from  Source
	rows  engine.Rows
	group []Entry // rows of one created_at, by id
	given int     // rows of group taken
	ahead Entry   // first row of the next group
	has   bool    // ahead is set
	ended bool
	cut   bool  // group lacks rows that did not fit a page: nothing can follow it
	at    int64 // created_at of what was looked at last, or later
	page  bounds
}

// open starts the statement. slot tells apart cursors that are open at the same
// time with the same text: each has a prepared statement of its own.
func (r *reading) open(sp span, slot int, page bounds) (*cursor, error) {
	text, args := r.statement(Columns(r.scope, r.want.filter, sp.source), sp)
	if slot > 0 {
		text += " --" + strconv.Itoa(slot)
	}
	rows, err := r.c.Open(r.ctx, text, args)
	if err != nil {
		return nil, err
	}
	return &cursor{r: r, from: sp.source, rows: rows, page: page, at: r.until()}, nil
}

// close ends the statement.
func (cu *cursor) close() error { return cu.rows.Close() }

// read steps the statement to the next row that is not rotten; false means that
// there are no more.
func (cu *cursor) read(e *Entry) (bool, error) {
	for {
		cu.rows.Conn().Note(cu.at)
		row, err := cu.rows.Next()
		cu.at = cu.rows.Conn().Noted()
		if err != nil {
			return false, fmt.Errorf("read rows: %w", err)
		}
		if row == nil {
			return false, nil
		}
		if err := e.Scan(row); err != nil || e.sound {
			return true, err
		}
		if err := cu.r.sift(e, cu.from); err != nil || e.sound {
			return true, err
		}
	}
}

// frontier is a created_at such that every row of the span which is newer has
// been taken.
func (cu *cursor) frontier() int64 {
	switch {
	case cu.given < len(cu.group):
		return cu.group[cu.given].CreatedAt
	case cu.has:
		return cu.ahead.CreatedAt
	case cu.ended:
		return math.MinInt64
	}
	return cu.at
}

// peek returns the next row without taking it, nil at the end or behind a cut.
func (cu *cursor) peek() (*Entry, error) {
	if cu.given == len(cu.group) && !cu.cut && (cu.has || !cu.ended) {
		if err := cu.fill(); err != nil {
			return nil, err
		}
	}
	if cu.given == len(cu.group) {
		return nil, nil
	}
	return &cu.group[cu.given], nil
}

// take drops the row that peek returned.
func (cu *cursor) take() { cu.given++ }

// fill reads the next group and the first row behind it.
func (cu *cursor) fill() error {
	cu.group, cu.given = cu.group[:0], 0
	if !cu.has {
		ok, err := cu.read(&cu.ahead)
		if err != nil {
			return err
		}
		if !ok {
			cu.ended = true
			return nil
		}
	}
	cu.at = cu.ahead.CreatedAt
	cu.group = append(cu.group, cu.ahead)
	cu.has = false
	size := len(cu.ahead.JSON)
	for !cu.ended {
		ok, err := cu.read(&cu.ahead)
		if err != nil {
			return err
		}
		if cu.has = ok; !ok {
			cu.ended = true
			break
		}
		if cu.ahead.CreatedAt != cu.group[0].CreatedAt {
			break
		}
		cu.group = append(cu.group, cu.ahead)
		size += len(cu.ahead.JSON)
		if len(cu.group) > 2*cu.page.rows+1 || size > 2*cu.page.bytes {
			size = cu.trim()
		}
	}
	if len(cu.group) > 1 {
		slices.SortFunc(cu.group, compareEntries)
	}
	return nil
}

func compareEntries(a, b Entry) int { return bytes.Compare(a.ID[:], b.ID[:]) }

// trim keeps of a group what a page can hold, and returns its bytes.
func (cu *cursor) trim() int {
	slices.SortFunc(cu.group, compareEntries)
	n, size := 0, 0
	for n < len(cu.group) && n <= cu.page.rows && size < cu.page.bytes {
		size += len(cu.group[n].JSON)
		n++
	}
	if n < len(cu.group) {
		cu.cut = true
		clear(cu.group[n:])
		cu.group = cu.group[:n]
	}
	return size
}
