package query

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/record"
)

// Where collects the conditions of one statement and the arguments they bind,
// in the order of the text.
type Where struct {
	SQL  strings.Builder
	Args []engine.Value
	Any  bool
}

// And adds a condition.
func (w *Where) And(cond string, args ...engine.Value) {
	if w.Any {
		w.SQL.WriteString(" AND ")
	}
	w.Any = true
	w.SQL.WriteString(cond)
	w.Args = append(w.Args, args...)
}

// Text adds to the condition begun last.
func (w *Where) Text(s string, args ...engine.Value) {
	w.SQL.WriteString(s)
	w.Args = append(w.Args, args...)
}

// AndIn adds "expr is among values" as a condition of its own.
func (w *Where) AndIn(expr string, values []engine.Value) {
	w.And("")
	w.in(expr, values)
}

// bindFew is up to how many values of a list are bound one by one. Longer lists
// travel in one argument where they can, so that the statement's text, by which
// it is cached, does not depend on their length.
const bindFew = 8

// in adds "expr is among values", which without values nothing is. The values are 32-byte
// BLOBs, integers, or a mixture of BLOBs and TEXT. The list may be used to
// search an index.
func (w *Where) in(expr string, values []engine.Value) {
	switch {
	case len(values) == 0:
		w.Text("0")
	case len(values) == 1:
		w.Text(expr+"=?", values[0])
	case len(values) > bindFew && allBlobs(values):
		w.packed(expr, values)
	case len(values) > bindFew && allIntegers(values):
		list := []byte{'['}
		for i, v := range values {
			if i > 0 {
				list = append(list, ',')
			}
			list = strconv.AppendInt(list, v.(int64), 10)
		}
		w.Text(expr+" IN (SELECT value FROM json_each(?))", string(append(list, ']')))
	case len(values) > bindFew && w.packed(expr, values):
	default:
		// Up to the next power of two by repeating the last value: few texts,
		// the same set.
		n := len(values)
		if n <= bindFew {
			for n&(n-1) != 0 {
				n++
			}
		}
		w.Text(expr + " IN (?" + strings.Repeat(",?", n-1) + ")")
		w.Args = append(w.Args, values...)
		for range n - len(values) {
			w.Args = append(w.Args, values[len(values)-1])
		}
	}
}

// packed adds "expr is among values" for a mixture of BLOBs and TEXT, with each
// sort in one argument. It reports false, and adds nothing, where that cannot
// be done.
func (w *Where) packed(expr string, values []engine.Value) bool {
	l, ok := pack(values)
	if ok {
		w.Text(expr + " IN (")
		w.list(l)
		w.Text(")")
	}
	return ok
}

// packedList is a list of TEXT and of 32-byte BLOBs, each as one argument;
// empty ones are nil.
type packedList struct{ texts, keys engine.Value }

// pack reports false for what else there is.
func pack(values []engine.Value) (l packedList, ok bool) {
	var keys []byte
	texts := make([]engine.Value, 0, len(values))
	for _, v := range values {
		switch v := v.(type) {
		case string:
			texts = append(texts, v)
		case []byte:
			keys = append(keys, v...)
		}
	}
	if len(texts)+len(keys)/32 != len(values) {
		return l, false
	}
	if len(texts) > 0 {
		list, ok := textList(texts)
		if !ok {
			return l, false
		}
		l.texts = list
	}
	if len(keys) > 0 {
		l.keys = keys
	}
	return l, true
}

// list adds a SELECT of the list.
func (w *Where) list(l packedList) {
	const texts = "SELECT value FROM json_each(?)"
	if l.keys == nil {
		w.Text(texts, cmp.Or(l.texts, engine.Value("[]")))
		return
	}
	w.Text("WITH RECURSIVE list(at) AS (VALUES(1) UNION ALL SELECT at+32 FROM list WHERE at+32<?) ", int64(len(l.keys.([]byte))))
	if l.texts != nil {
		w.Text(texts+" UNION ALL ", l.texts)
	}
	w.Text("SELECT substr(?,at,32) FROM list", l.keys)
}

// textList is TEXT values as a JSON array, for json_each. Not every TEXT
// survives that.
func textList(values []engine.Value) (list string, ok bool) {
	for _, v := range values {
		if text := v.(string); strings.Contains(text, "\x00") || !utf8.ValidString(text) {
			return "", false
		}
	}
	b, err := json.Marshal(values)
	return string(b), err == nil
}

// numbered reports whether the keys of a tag lie in the tag index by number.
func numbered(name string) bool { return name == "p" || name == record.SharedP }

// numbered adds "expr is the number of one of the keys".
func (w *Where) numbered(expr string, keys []engine.Value) {
	switch len(keys) {
	case 0:
		w.Text("0")
	case 1:
		w.Text(expr+"="+numOf, keys[0])
	default:
		w.Text(expr + " IN (")
		w.numbersOf(keys)
		w.Text(")")
	}
}

// numOf is the number of one key. A key without one has that of nobody: it is
// looked for all the same, for that somebody is known may be hidden as well.
const numOf = `coalesce((SELECT +num FROM pubkeys WHERE key=?),-1)`

// numbersOf adds a SELECT of the keys' numbers; each without one has another of
// nobody's.
func (w *Where) numbersOf(keys []engine.Value) {
	list := make([]byte, 0, 32*len(keys))
	for _, k := range keys {
		list = append(list, k.([]byte)...)
	}
	w.Text("WITH RECURSIVE list(at) AS (VALUES(1) UNION ALL SELECT at+32 FROM list WHERE at+32<?)"+
		" SELECT coalesce((SELECT +num FROM pubkeys WHERE key=substr(?,at,32)),-at) AS num FROM list", int64(len(list)), list)
}

// author adds "the row's author is among keys".
func (w *Where) author(keys []engine.Value, from Source) {
	if from == FromHistory {
		w.in("e.pubkey", keys)
		return
	}
	w.numbered("e.author", keys)
}

// andAuthors adds "the event's author is among keys" as a condition of its own.
func (w *Where) andAuthors(keys []engine.Value) {
	w.And("")
	w.author(keys, FromEvents)
}

// tagValue adds "expr, a value of the tag index under this name, is among
// values", which Compile has sorted: TEXT first.
func (w *Where) tagValue(expr, name string, values []engine.Value) {
	texts := textsIn(values)
	switch {
	case !numbered(name) || texts == len(values):
		w.in(expr, values)
	case texts == 0:
		w.numbered(expr, values)
	default:
		w.Text(expr + " IN (")
		if !w.tagList(name, values) {
			w.numbersOf(values[texts:])
			w.Text(" UNION ALL VALUES (?)"+strings.Repeat(",(?)", texts-1), values[:texts]...)
		}
		w.Text(")")
	}
}

// tagList adds a SELECT of the values as they lie in the tag index under this
// name, or reports false and adds nothing.
func (w *Where) tagList(name string, values []engine.Value) bool {
	keys := 0
	if numbered(name) {
		keys = len(values) - textsIn(values)
	}
	l, ok := pack(values[:len(values)-keys])
	switch {
	case !ok:
	case keys == 0:
		w.list(l)
	default:
		w.numbersOf(values[len(values)-keys:])
		if l.texts != nil {
			w.Text(" UNION ALL SELECT value FROM json_each(?)", l.texts)
		}
	}
	return ok
}

// textsIn is how many TEXT values a list begins with.
func textsIn(values []engine.Value) int {
	for i, v := range values {
		if _, isKey := v.([]byte); isKey {
			return i
		}
	}
	return len(values)
}

func allBlobs(values []engine.Value) bool {
	for _, v := range values {
		if b, ok := v.([]byte); !ok || len(b) != 32 {
			return false
		}
	}
	return true
}

func allIntegers(values []engine.Value) bool {
	for _, v := range values {
		if _, ok := v.(int64); !ok {
			return false
		}
	}
	return true
}
