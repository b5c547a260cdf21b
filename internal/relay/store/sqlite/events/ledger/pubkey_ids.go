package ledger

import (
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/record"
)

// Authors and the keys that p tags name are numbered in the table pubkeys,
// because a key of 32 bytes in each of an event's index entries makes a fifth
// of what it costs beside its JSON. A number is given when the first event with
// the key is stored and taken back, by housekeeping, after the last one is
// gone. Readers look it up in the statement that needs it, so that it is of the
// same state of the database as the rows: a key without a number matches
// nothing.
const (
	sqlNumber     = `SELECT num FROM pubkeys WHERE key = ?`
	SQLLastNumber = `SELECT max(coalesce((SELECT max(num) FROM pubkeys), 0), coalesce((SELECT value FROM meta WHERE key = 'last_key'), 0))`
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

// PubkeyIDs is the writer's memory of keys' numbers: those used lately, at most
// twice maxNumbers. What is in the younger half was used since the halves
// changed places last, so the least used are lost first.
type PubkeyIDs struct {
	*Tx
	last        int64 // given out
	young, aged map[record.Pubkey]numbered
	given       []record.Pubkey // in the transaction under way
	taken       bool            // a number, in it
	Loose       bool            // pubkeys_gone may have rows

	before, marked int64 // last, when the transaction and the member began
	kept           int   // of given, when the member began
}

// metaLastKey is the last number that was given out, in the table meta, as of
// the last time that one was taken back: the last one is this or the highest in
// use.
const metaLastKey = "last_key"

// Open reads what was given out.
func (n *PubkeyIDs) Open() (err error) {
	if n.last, err = n.Conn().Number(SQLLastNumber); err != nil {
		return err
	}
	n.Loose, err = n.Conn().Exists(sqlAnyLoose)
	return err
}

// Begin is Part's, and so are those that follow.
func (n *PubkeyIDs) Begin() { n.given, n.taken, n.before = n.given[:0], false, n.last }
func (n *PubkeyIDs) Mark()  { n.kept, n.marked = len(n.given), n.last }

// Undo gives numbers back, so that they follow from the commands that were
// executed and from nothing else.
func (n *PubkeyIDs) Undo() {
	n.forget(n.given[n.kept:])
	n.given, n.last = n.given[:n.kept], n.marked
}

func (n *PubkeyIDs) RolledBack() {
	n.forget(n.given)
	n.given, n.last = n.given[:0], n.before
}

func (n *PubkeyIDs) End() error {
	if !n.taken {
		return nil
	}
	return n.SetMeta(metaLastKey, n.last)
}

// numbered is what is known of a key.
type numbered struct {
	num    int64
	author bool // the time of its first event is noted
}

// get returns what is known of a key, a zero number when it is not in memory.
func (n *PubkeyIDs) get(k record.Pubkey) numbered {
	known, ok := n.young[k]
	if ok {
		return known
	}
	if known, ok = n.aged[k]; ok {
		n.set(k, known)
	}
	return known
}

func (n *PubkeyIDs) set(k record.Pubkey, known numbered) {
	if n.young == nil || len(n.young) >= maxNumbers {
		n.young, n.aged = make(map[record.Pubkey]numbered, len(n.young)), n.young
	}
	n.young[k] = known
}

func (n *PubkeyIDs) forget(list []record.Pubkey) {
	for _, k := range list {
		delete(n.young, k)
		delete(n.aged, k)
	}
}

// Number returns the number of a key, 0 when it has none.
func (n *PubkeyIDs) Number(k record.Pubkey) (int64, error) {
	if known := n.get(k); known.num != 0 {
		return known.num, nil
	}
	num, err := n.Conn().Number(sqlNumber, k[:])
	if err == nil && num != 0 {
		n.set(k, numbered{num: num})
	}
	return num, err
}

// Give returns the number of a key that is about to be named, a new one
// if it has none.
func (n *PubkeyIDs) Give(k record.Pubkey) (int64, error) {
	num, err := n.Number(k)
	if err != nil || num != 0 {
		return num, err
	}
	return n.newNumber(k, nil)
}

// GiveAuthor is giveNumber for the author of an event that arrives; it notes
// when the first one did.
func (n *PubkeyIDs) GiveAuthor(k record.Pubkey) (int64, error) {
	num, err := n.Number(k)
	if err != nil || n.get(k).author {
		return num, err
	}
	if num == 0 {
		return n.newNumber(k, n.Now)
	}
	if _, err := n.Exec(sqlKnownFrom, num, n.Now); err != nil {
		return 0, err
	}
	n.learned(k, numbered{num, true})
	return num, nil
}

func (n *PubkeyIDs) newNumber(k record.Pubkey, since engine.Value) (int64, error) {
	n.last++
	num := n.last
	if _, err := n.Exec(sqlGiveNumber, num, k[:], since); err != nil {
		return 0, err
	}
	n.learned(k, numbered{num, since != nil})
	return num, nil
}

// learned keeps in memory what the transaction has changed, as long as it is
// not undone.
func (n *PubkeyIDs) learned(k record.Pubkey, known numbered) {
	n.set(k, known)
	n.given = append(n.given, k)
}

// GiveReaders is the column readers of a head or regular event.
func (n *PubkeyIDs) GiveReaders(keys []byte) (engine.Value, error) {
	if len(keys) != len(record.Pubkey{}) {
		return column.BytesOrNil(keys), nil
	}
	return n.Give(record.Pubkey(keys))
}

// Loosen notes that an event is gone which named the key with this number.
func (n *PubkeyIDs) Loosen(num int64) error {
	if n.Tight {
		return n.tighten(num)
	}
	if _, err := n.Exec(sqlLoosen, num); err != nil {
		return err
	}
	n.Loose = true // also when this is undone: then housekeeping finds nothing
	return nil
}

// tighten forgets the key with this number if nothing names it any more.
func (n *PubkeyIDs) tighten(num int64) error {
	row, err := n.Conn().One(sqlUnnamed, num)
	if err != nil || row == nil {
		return err
	}
	n.forget([]record.Pubkey{record.Pubkey(row[0].([]byte))})
	n.taken = true
	return n.Do(sqlTakeNumber, num)
}

// LooseChunk is how many numbers are looked after at a time.
const LooseChunk = 500

// Tighten looks after up to limit numbers and reports whether there may be
// more.
func (n *PubkeyIDs) Tighten(limit int) (more bool, err error) {
	done := 0
	err = n.Conn().Each(sqlLoose, []engine.Value{int64(limit)}, func(row engine.Row) error {
		done++
		if err := n.tighten(row[0].(int64)); err != nil {
			return err
		}
		return n.Do(sqlTightened, row[0])
	})
	if err == nil {
		n.After(func() { n.Loose = done == limit })
	}
	return done == limit, err
}
