package store

import (
	"database/sql/driver"
	"strconv"
	"strings"
)

// where collects the conditions of one statement and the arguments they bind, in the order of the text.
type where struct {
	sql  strings.Builder
	args []driver.Value
	any  bool
}

// and adds a condition.
func (w *where) and(cond string, args ...driver.Value) {
	if w.any {
		w.sql.WriteString(" AND ")
	}
	w.any = true
	w.sql.WriteString(cond)
	w.args = append(w.args, args...)
}

// text adds to the condition begun last.
func (w *where) text(s string, args ...driver.Value) {
	w.sql.WriteString(s)
	w.args = append(w.args, args...)
}

// andIn adds "expr is among values" as a condition of its own.
func (w *where) andIn(expr string, values []driver.Value) {
	w.and("")
	w.in(expr, values)
}

// bindFew is up to how many values of a list are bound one by one. Longer lists travel in one argument where they can, so
// that the statement's text, by which it is cached, does not depend on their length.
const bindFew = 8

// in adds "expr is among values"; no values are none. The values are 32-byte BLOBs, integers, or a mixture of BLOBs and
// TEXT. The list may be used to search an index.
func (w *where) in(expr string, values []driver.Value) {
	switch {
	case len(values) == 0:
		w.text("0")
	case len(values) == 1:
		w.text(expr+"=?", values[0])
	case len(values) > bindFew && allBlobs(values):
		packed := make([]byte, 0, 32*len(values))
		for _, v := range values {
			packed = append(packed, v.([]byte)...)
		}
		w.text(expr+" IN (WITH RECURSIVE list(at) AS (VALUES(1) UNION ALL SELECT at+32 FROM list WHERE at+32<?)"+
			" SELECT substr(?,at,32) FROM list)", int64(len(packed)), packed)
	case len(values) > bindFew && allIntegers(values):
		json := []byte{'['}
		for i, v := range values {
			if i > 0 {
				json = append(json, ',')
			}
			json = strconv.AppendInt(json, v.(int64), 10)
		}
		w.text(expr+" IN (SELECT value FROM json_each(?))", string(append(json, ']')))
	default:
		// Up to the next power of two by repeating the last value: few texts, the same set.
		n := len(values)
		if n <= bindFew {
			for n&(n-1) != 0 {
				n++
			}
		}
		w.text(expr + " IN (?" + strings.Repeat(",?", n-1) + ")")
		w.args = append(w.args, values...)
		for range n - len(values) {
			w.args = append(w.args, values[len(values)-1])
		}
	}
}

// numbered adds "expr is the number of one of the keys".
func (w *where) numbered(expr string, keys []driver.Value) {
	switch len(keys) {
	case 0:
		w.text("0")
	case 1:
		w.text(expr+"="+numOf, keys[0])
	default:
		w.text(expr + " IN (")
		w.numbersOf(keys)
		w.text(")")
	}
}

// numbersOf adds a SELECT of the keys' numbers.
func (w *where) numbersOf(keys []driver.Value) {
	w.text("SELECT +num FROM pubkeys WHERE ")
	w.in("key", keys)
}

// author adds "the row's author is among keys".
func (w *where) author(keys []driver.Value, from source) {
	if from == fromHistory {
		w.in("e.pubkey", keys)
		return
	}
	w.numbered("e.author", keys)
}

// andAuthors adds "the event's author is among keys" as a condition of its own.
func (w *where) andAuthors(keys []driver.Value) {
	w.and("")
	w.author(keys, fromEvents)
}

// tagValue adds "expr, a value of the tag index under this name, is among values", which compile has sorted: TEXT first.
func (w *where) tagValue(expr, name string, values []driver.Value) {
	texts := 0
	for texts < len(values) {
		if _, isKey := values[texts].([]byte); isKey {
			break
		}
		texts++
	}
	switch {
	case name != "p" || texts == len(values):
		w.in(expr, values)
	case texts == 0:
		w.numbered(expr, values)
	default:
		w.text(expr + " IN (")
		w.numbersOf(values[texts:])
		w.text(" UNION ALL VALUES (?)"+strings.Repeat(",(?)", texts-1)+")", values[:texts]...)
	}
}

func allBlobs(values []driver.Value) bool {
	for _, v := range values {
		if b, ok := v.([]byte); !ok || len(b) != 32 {
			return false
		}
	}
	return true
}

func allIntegers(values []driver.Value) bool {
	for _, v := range values {
		if _, ok := v.(int64); !ok {
			return false
		}
	}
	return true
}
