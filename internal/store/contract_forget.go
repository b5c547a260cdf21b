package store

import (
	"crypto/hmac"
	"crypto/sha256"
	"database/sql/driver"
	"strings"

	"github.com/nbd-wtf/go-nostr"
)

// What outlives the events of a contract, its owner, its states and their order, names its parties. The key of one who asked to
// vanish (NIP-62) goes from there, too, as soon as nothing is left under the contract's id that is his or names him: a keyed
// hash stands in its place, by which the relay knows him again. As long as the other party's words are there, they name him.

const (
	sqlForgetting  = `SELECT contract, key FROM contract_forgetting LIMIT ?`
	sqlForgetLater = `SELECT 1 FROM contract_forgetting LIMIT 1`
	sqlForgetDone  = `DELETE FROM contract_forgetting WHERE contract = ? AND key = ?`
	sqlEverGone    = `SELECT 1 FROM vanished WHERE pubkey = ?`
	sqlForgotten   = `INSERT OR IGNORE INTO contract_forgotten(contract, party) VALUES (?, ?)`
	sqlIsForgotten = `SELECT 1 FROM contract_forgotten WHERE contract = ? AND party = ?`
	sqlRemembered  = `DELETE FROM contract_forgotten WHERE contract = ? AND party = ?`
	// Entries and private notes by a key or to it, and states and decisions in its threads.
	sqlWordsOf = `SELECT 1 WHERE EXISTS (SELECT 1 FROM contract_counts WHERE contract = ?1 AND (author = ?2 OR other = ?2))
		OR EXISTS (SELECT 1 FROM contract_threads AS t CROSS JOIN contract_moves AS m ON m.thread = t.thread
			WHERE t.contract = ?1 AND (t.a = ?2 OR t.b = ?2))`
)

// partyChunk bounds how many rows get another key, and how many keys are looked at, in one transaction.
const partyChunk = 500

// partyColumns are the columns that name parties in what outlives events. Of two that are called a and b, a is the lower one.
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

// sqlRename gives up to ?4 rows of a table the key ?3 where they have ?2 under the contract ?1.
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

// partyHash is what stands for a key that is forgotten.
func (w *writer) partyHash(key []byte) ([]byte, error) {
	row, err := w.c.one(sqlPartiesKey)
	if err != nil || row == nil {
		return nil, err
	}
	secret, _ := row[0].([]byte)
	mac := hmac.New(sha256.New, secret)
	mac.Write(key)
	return mac.Sum(nil), nil
}

// renameParty puts one key in another's place, in up to limit rows of each table, and returns in how many.
func (w *writer) renameParty(contract string, from, to []byte, limit int) (n int64, err error) {
	for _, text := range sqlRename {
		changed, err := w.exec(text, contract, from, to, int64(limit))
		if err != nil {
			return n, err
		}
		n += changed
	}
	return n, nil
}

// forgetStep looks after keys whose last words under a contract may be gone, and reports whether there may be more.
func (w *writer) forgetStep(limit int) (more bool, err error) {
	type named struct {
		contract string
		key      []byte
	}
	var all []named
	err = w.each(sqlForgetting, []driver.Value{int64(limit)}, func(v []driver.Value) error {
		contract, _ := v[0].(string)
		key, _ := v[1].([]byte)
		all = append(all, named{contract, append([]byte(nil), key...)})
		return nil
	})
	left := limit
	for i := 0; i < len(all) && err == nil && left > 0; i++ {
		var n int
		n, err = w.forgetParty(all[i].contract, all[i].key, left)
		left -= n + 1
	}
	return len(all) > 0, err
}

// forgetParty forgets who has vanished from a contract in which nothing names him any more. It returns how many rows that took.
func (w *writer) forgetParty(contract string, key []byte, limit int) (rows int, err error) {
	gone, err := w.c.exists(sqlEverGone, key)
	if err != nil {
		return 0, err
	}
	if gone {
		var named bool
		if named, err = w.c.exists(sqlWordsOf, contract, key); err != nil {
			return 0, err
		}
		gone = !named
	}
	if gone {
		party, err := w.partyHash(key)
		if err != nil || party == nil {
			return 0, err
		}
		if _, err := w.exec(sqlForgotten, contract, party); err != nil {
			return 0, err
		}
		n, err := w.renameParty(contract, key, party, limit)
		if err != nil || n > 0 {
			return int(n), err // the next step finds no more of them
		}
	}
	_, err = w.exec(sqlForgetDone, contract, key)
	return 0, err
}

// recall gives back their keys to those whom an event under a contract names: they are known again, by the event.
func (w *writer) recall(ev *nostr.Event) error {
	if !w.known.vanished {
		return nil
	}
	contract := ev.Tags.GetD()
	named := []string{ev.PubKey}
	for _, t := range ev.Tags {
		if len(t) > 1 && t[0] == "p" && len(named) <= maxRecalled {
			named = append(named, t[1])
		}
	}
	for _, k := range named {
		key, ok := lowerHex32(k)
		if !ok {
			continue
		}
		party, err := w.partyHash(key)
		if err != nil || party == nil {
			return err
		}
		if known, err := w.c.exists(sqlIsForgotten, contract, party); err != nil || !known {
			if err != nil {
				return err
			}
			continue
		}
		if _, err := w.renameParty(contract, party, key, maxFold); err != nil {
			return err
		}
		if _, err := w.exec(sqlRemembered, contract, party); err != nil {
			return err
		}
	}
	return nil
}

// maxRecalled is how many p tags of a contract event are looked at: a decision has two, all else one.
const maxRecalled = 2

// forgetSome does one step of forgetting between batches and reports whether it did anything.
func (w *writer) forgetSome() bool {
	if !w.forgetting {
		return false
	}
	more, err := w.stepAlone(func(w *writer) (bool, error) { return w.forgetStep(partyChunk) })
	w.forgetting = err == nil && more
	if err != nil { // what is left is taken up with the next removal, or at the next start
		w.s.log.Error("forgetting parties of contracts failed", "err", err)
	}
	return err == nil && more
}
