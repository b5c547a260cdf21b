package events

import (
	"engramd/internal/store"
	"engramd/internal/store/sqlite/engine"
)

// Authors and the keys that p tags name are numbered in the table pubkeys,
// because a key of 32 bytes in each of an event's index entries makes a fifth
// of what it costs beside its JSON. A number is given when the first event with
// the key is stored and taken back, by housekeeping, after the last one is
// gone. Readers look it up in the statement that needs it, so that it is of the
// same state of the database as the rows: a key without a number matches
// nothing.
const (
	// numOf is the number of one key, for the conditions of other statements;
	// the + keeps the column's affinity from them, under which SQLite would
	// take the TEXT '5' of a p tag for the number 5.
	numOf = `(SELECT +num FROM pubkeys WHERE key=?)`

	sqlNumber     = `SELECT num FROM pubkeys WHERE key = ?`
	sqlLastNumber = `SELECT max(coalesce((SELECT max(num) FROM pubkeys), 0), coalesce((SELECT value FROM meta WHERE key = 'last_key'), 0))`
	sqlGiveNumber = `INSERT INTO pubkeys(num, key, since) VALUES (?, ?, ?)`
	sqlKnownFrom  = `UPDATE pubkeys SET since = ?2 WHERE num = ?1 AND since IS NULL`

	sqlLoosen    = `INSERT OR IGNORE INTO pubkeys_gone(num) VALUES (?)`
	sqlAnyLoose  = `SELECT 1 FROM pubkeys_gone LIMIT 1`
	sqlLoose     = `SELECT num FROM pubkeys_gone ORDER BY num LIMIT ?`
	sqlTightened = `DELETE FROM pubkeys_gone WHERE num = ?`
	sqlUnnamed   = `SELECT key FROM pubkeys WHERE num = ?1 AND NOT EXISTS (SELECT 1 FROM events WHERE author = ?1)
		AND NOT EXISTS (SELECT 1 FROM tags WHERE name = 'p' AND value = ?1)`
	sqlTakeNumber = `DELETE FROM pubkeys WHERE num = ?`
)

// maxNumbers bounds each half of the numbers in memory.
const maxNumbers = 32_768

// numbers is the writer's memory of keys' numbers: those used lately, at most
// twice maxNumbers. What is in the younger half was used since the halves
// changed places last, so the least used are lost first.
type numbers struct {
	last        int64 // given out
	young, aged map[author]numbered
}

// numbered is what is known of a key.
type numbered struct {
	num    int64
	author bool // the time of its first event is noted
}

// get returns what is known of a key, a zero number when it is not in memory.
func (n *numbers) get(k author) numbered {
	known, ok := n.young[k]
	if ok {
		return known
	}
	if known, ok = n.aged[k]; ok {
		n.set(k, known)
	}
	return known
}

func (n *numbers) set(k author, known numbered) {
	if n.young == nil || len(n.young) >= maxNumbers {
		n.young, n.aged = make(map[author]numbered, len(n.young)), n.young
	}
	n.young[k] = known
}

func (n *numbers) forget(list []author) {
	for _, k := range list {
		delete(n.young, k)
		delete(n.aged, k)
	}
}

// number returns the number of a key, 0 when it has none.
func (w *writer) number(k author) (int64, error) {
	if known := w.numbers.get(k); known.num != 0 {
		return known.num, nil
	}
	num, err := w.c.Number(sqlNumber, k[:])
	if err == nil && num != 0 {
		w.numbers.set(k, numbered{num: num})
	}
	return num, err
}

// giveNumber returns the number of a key that is about to be named, a new one
// if it has none.
func (w *writer) giveNumber(k author) (int64, error) {
	num, err := w.number(k)
	if err != nil || num != 0 {
		return num, err
	}
	return w.newNumber(k, nil)
}

// giveAuthor is giveNumber for the author of an event that arrives; it notes
// when the first one did.
func (w *writer) giveAuthor(k author) (int64, error) {
	num, err := w.number(k)
	if err != nil || w.numbers.get(k).author {
		return num, err
	}
	if num == 0 {
		return w.newNumber(k, w.Now)
	}
	if _, err := w.Exec(sqlKnownFrom, num, w.Now); err != nil {
		return 0, err
	}
	w.learned(k, numbered{num, true})
	return num, nil
}

func (w *writer) newNumber(k author, since engine.Value) (int64, error) {
	w.numbers.last++
	num := w.numbers.last
	if _, err := w.Exec(sqlGiveNumber, num, k[:], since); err != nil {
		return 0, err
	}
	w.learned(k, numbered{num, since != nil})
	return num, nil
}

// learned keeps in memory what the transaction has changed, as long as it is
// not undone.
func (w *writer) learned(k author, known numbered) {
	w.numbers.set(k, known)
	w.stage.numbered = append(w.stage.numbered, k)
}

// numberedKey is the key in a tag row that lies in the database by its number.
func (t *tagRow) numberedKey() (author, bool) {
	k, ok := t.value.([]byte)
	if !ok || t.name != "p" {
		return author{}, false
	}
	return author(k), true
}

// giveReaders is the column readers of a head or regular event.
func (w *writer) giveReaders(keys []byte) (engine.Value, error) {
	if len(keys) != len(author{}) {
		return bytesOrNil(keys), nil
	}
	return w.giveNumber(author(keys))
}

// loosen notes that an event is gone which named the key with this number.
func (w *writer) loosen(num int64) error {
	if w.noRoom {
		return w.tighten(num)
	}
	if _, err := w.Exec(sqlLoosen, num); err != nil {
		return err
	}
	w.loose = true // also when this is undone: then housekeeping finds nothing
	return nil
}

// tighten forgets the key with this number if nothing names it any more.
func (w *writer) tighten(num int64) error {
	row, err := w.c.One(sqlUnnamed, num)
	if err != nil || row == nil {
		return err
	}
	w.numbers.forget([]author{author(row[0].([]byte))})
	w.stage.keyGone = true
	_, err = w.Exec(sqlTakeNumber, num)
	return err
}

// looseChunk is how many numbers are looked after at a time.
const looseChunk = 500

// tightenStep looks after up to limit numbers and reports whether there may be
// more.
func (w *writer) tightenStep(limit int) (more bool, err error) {
	n := 0
	err = w.c.Each(sqlLoose, []engine.Value{int64(limit)}, func(row []engine.Value) error {
		n++
		if err := w.tighten(row[0].(int64)); err != nil {
			return err
		}
		_, err := w.Exec(sqlTightened, row[0])
		return err
	})
	if err == nil {
		w.After(func() { w.loose = n == limit })
	}
	return n == limit, err
}

// tightenSome does one step of it between batches and reports whether it did
// anything.
func (w *writer) tightenSome() bool {
	if !w.loose {
		return false
	}
	_, err := w.issue(store.Tighten{})
	if err != nil { // what is left is taken up with the next removal, or at the next start
		w.loose = false
		w.s.log.Error("forgetting keys failed", "err", err)
	}
	return err == nil
}
