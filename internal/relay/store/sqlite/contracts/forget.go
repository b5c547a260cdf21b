package contracts

import (
	"errors"
	"strings"
	"time"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine"
)

// What outlives the events of a contract, its owner, its states and their
// order, names its parties. When one of them asked to vanish (NIP-62), and
// nothing of his own is left under the contract's id, a keyed hash stands there
// in place of his key: by it the relay knows whose the contract is. What others
// say in events, entries and private notes goes on to name him, and so do the
// rows that stand for these (contract_entries, contract_moves).

const (
	sqlForgetting  = `SELECT contract, key FROM contract_forgetting LIMIT ?`
	sqlForgetLater = `SELECT 1 FROM contract_forgetting LIMIT 1`
	sqlForgetDone  = `DELETE FROM contract_forgetting WHERE contract = ? AND key = ?`
	sqlForgotten   = `INSERT OR IGNORE INTO contract_forgotten(contract, party) VALUES (?, ?)`
	sqlRemembered  = `DELETE FROM contract_forgotten WHERE contract = ? AND party = ?`
	// What somebody has said by whom nothing was decided is nothing without its
	// event.
	sqlDropVain = `DELETE FROM contract_verdicts WHERE contract = ? AND author = ? AND held = 0`
	// Entries, private notes and states by a key.
	sqlWordsOf = `SELECT 1 WHERE EXISTS (SELECT 1 FROM contract_counts WHERE contract = ?1 AND author = ?2)
		OR EXISTS (SELECT 1 FROM contract_threads AS t CROSS JOIN contract_moves AS m ON m.thread = t.thread AND m.author = ?2
			WHERE t.contract = ?1 AND (t.a = ?2 OR t.b = ?2))`
)

// partyChunk bounds how many rows get another key, and how many keys are looked
// at, in one transaction.
const partyChunk = 500

// partyColumns are the columns that name parties in what outlives events. Of
// two that are called a and b, a is the lower one.
var partyColumns = []struct {
	table, primary string
	columns        []string
}{
	{"contract_owners", "contract", []string{"owner"}},
	{"contract_states", "contract, a, b", []string{"a", "b", "poster"}},
	{"contract_steps", "contract, a, b, id", []string{"a", "b", "author", "other"}},
	{"contract_threads", "contract, a, b", []string{"a", "b"}},
	{"contract_terms", "contract, poster, worker, said, term, value", []string{"poster", "worker"}},
	{"contract_cases", "contract, poster, worker", []string{"poster", "worker"}},
	{"contract_verdicts", "contract, id", []string{"poster", "worker"}},
	{"contract_decisions", "n", []string{"a", "b"}},
}

// sqlRename gives up to ?4 rows of a table the key ?3 where they have ?2 under
// the contract ?1.
var sqlRename = renames()

func renames() (all []string) {
	for _, t := range partyColumns {
		var set, where []string
		for _, column := range t.columns {
			value := "iif(" + column + " = ?2, ?3, " + column + ")"
			switch column {
			case "a":
				value = "min(" + value + ", iif(b = ?2, ?3, b))"
			case "b":
				value = "max(" + value + ", iif(a = ?2, ?3, a))"
			}
			set, where = append(set, column+" = "+value), append(where, column+" = ?2")
		}
		rows := "contract = ?1 AND (" + strings.Join(where, " OR ") + ")"
		all = append(all, "UPDATE OR REPLACE "+t.table+" SET "+strings.Join(set, ", ")+" WHERE ("+t.primary+") IN (SELECT "+t.primary+
			" FROM "+t.table+" WHERE "+rows+" LIMIT ?4)")
	}
	return all
}

// renameParty puts one key in another's place, in up to limit rows of each
// table, and returns in how many.
func (w *parties) renameParty(contract string, from, to []byte, limit int) (n int64, err error) {
	for _, text := range sqlRename {
		changed, err := w.Exec(text, contract, from, to, int64(limit))
		if err != nil {
			return n, err
		}
		n += changed
	}
	return n, nil
}

// forgetStep looks after keys whose last words under a contract may be gone,
// and reports whether there may be more.
func (w *parties) forgetStep(limit int) (more bool, err error) {
	left := limit
	err = w.c.Each(sqlForgetting, []engine.Value{int64(limit)}, func(v engine.Row) error {
		if more = true; left <= 0 {
			return nil
		}
		n, err := w.forgetParty(v.Text(0), v.Blob(1), left)
		left -= n + 1
		return err
	})
	return more, err
}

// forgetParties does one step of it that a command asks for.
func (w *Writer) forgetParties() (more bool, err error) {
	more, err = w.forgetStep(partyChunk)
	w.After(func() { w.forgetting = more })
	return more, err
}

// forgetParty forgets who has vanished from a contract in which nothing names
// him any more. It returns how many rows that took.
func (w *parties) forgetParty(contract string, key []byte, limit int) (rows int, err error) {
	gone, err := w.events.EverVanished(key)
	if err != nil {
		return 0, err
	}
	if gone {
		var named bool
		if named, err = w.c.Exists(sqlWordsOf, contract, key); err != nil {
			return 0, err
		}
		gone = !named
	}
	if gone {
		secret, err := w.partiesKey()
		if err != nil {
			return 0, err
		}
		party := partyHash(secret, key)
		if err := w.Run(engine.Do(sqlForgotten, contract, party), engine.Do(sqlDropVain, contract, key)); err != nil {
			return 0, err
		}
		n, err := w.renameParty(contract, key, party, limit)
		if err != nil || n > 0 {
			return int(n), err // the next step finds no more of them
		}
	}
	_, err = w.Exec(sqlForgetDone, contract, key)
	return 0, err
}

// partiesKey is the key of all hashes of parties.
func (w *parties) partiesKey() ([]byte, error) {
	secret, err := w.c.Blob(sqlPartiesKey)
	if err == nil && secret == nil {
		err = errors.New("the key that parties are hashed with is missing")
	}
	return secret, err
}

// Done is the last contract that Prune has been through.
func (w *Writer) Done() store.FinalPair { return w.done }

// Forgetting reports whether there may be keys to be looked after between
// batches (store.ForgetParties).
func (w *Writer) Forgetting() bool { return w.forgetting }

// PutOff leaves what there is to forget for the next removal, or the next
// start.
func (w *Writer) PutOff() { w.forgetting = false }

const (
	// The statuses are those of the partial index contract_states_final.
	sqlFinalStates = `SELECT created_at, contract, a, b FROM contract_states
		WHERE status IN ('completed', 'cancelled', 'expired') AND created_at <= ?1
		AND (created_at, contract, a, b) > (?2, ?3, ?4, ?5) ORDER BY created_at, contract, a, b LIMIT ?6`
)

// Prune removes the history of pairs whose contract has been in a final state
// for longer than history.contract_days; by default there is no such time. It
// takes up to limit contracts and goes on where it stopped (done, forgotten at
// restart), so that old contracts are not looked at again every time.
func (w *Writer) Prune(limit int, done store.FinalPair) (int, error) {
	days := w.live().ContractDays
	if days <= 0 {
		return 0, nil
	}
	until := w.Now - int64(days)*int64(24*time.Hour/time.Second)
	n := 0
	args := []engine.Value{until, done.At, done.Contract, done.A, done.B, int64(limit)}
	err := w.c.Each(sqlFinalStates, args, func(row engine.Row) error {
		done = store.FinalPair{At: row.Int(0), Contract: row.Text(1), A: row.Blob(2), B: row.Blob(3)}
		n++
		return w.forgetContract(done)
	})
	if err != nil {
		return 0, err
	}
	w.After(func() { w.done = done })
	return n, nil
}

// forgetContract removes what history holds of the contract between two keys,
// in both directions, and their private entries.
func (w *Writer) forgetContract(k store.FinalPair) error {
	for _, dir := range [][2][]byte{{k.A, k.B}, {k.B, k.A}} {
		if err := w.events.RemoveBetween(k.Contract, dir[0], dir[1]); err != nil {
			return err
		}
	}
	return w.Run(engine.Do(sqlForgetPrivate, k.Contract, k.A, k.B), engine.Do(sqlForgetPrivate, k.Contract, k.B, k.A))
}
