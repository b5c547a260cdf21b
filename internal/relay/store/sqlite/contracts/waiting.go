package contracts

import (
	"context"
	"errors"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/nips/niptemp"
)

const (
	sqlAddEntry = `INSERT INTO contract_entries(contract, author, other, created_at, id, form, type, entry, arrived_at, data, n, k, thread)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	sqlWaiting = `SELECT data FROM contract_entries WHERE seq IS NULL AND form < 2 ORDER BY arrived_at, n`
)

func (w *threads) addPrivate(contract string, e store.ThreadEntry, most int) error {
	author, other, err := entryKeys(e)
	if err != nil {
		return err
	}
	a, b, err := standIns(w.c, contract, author, other)
	if err != nil {
		return err
	}
	row, err := w.c.One(sqlContractState, contract, a, b)
	if err != nil {
		return err
	}
	if row == nil || niptemp.Status(row[1].(string)).Final() {
		return store.ErrContractMoved
	}
	taken, err := w.c.Exists(sqlEntryTaken, contract, e.Entry, author, other, []byte(nil))
	if err != nil || taken {
		return errors.Join(err, store.ErrEntryTaken)
	}
	n, err := w.c.Number(sqlPrivateCount, contract, author)
	if err != nil {
		return err
	}
	if n >= int64(most) {
		return store.ErrEntriesFull
	}
	return w.addEntry(contract, author, other, e, store.EntryPrivate)
}

func (w *threads) addWaiting(contract string, e store.ThreadEntry) error {
	author, other, err := entryKeys(e)
	if err != nil {
		return err
	}
	have, err := w.c.Exists(sqlOneEntry, contract, author, other, e.CreatedAt, e.ID)
	if err != nil || have {
		return err
	}
	return w.addEntry(contract, author, other, e, e.Form)
}

// addEntry gives an entry that is no event of the relay's, or not yet, its
// place.
func (w *threads) addEntry(contract string, author, other []byte, e store.ThreadEntry, form store.EntryForm) error {
	thread, err := w.thread(contract, author, other)
	if err != nil {
		return err
	}
	var n, k int64
	if form != store.EntryPrivate {
		n, err = w.next(thread)
	} else if n, err = w.lastNumber(thread); err == nil {
		k, err = w.c.Number(sqlPrivateK, author, contract)
	}
	if err != nil {
		return err
	}
	return w.Do(sqlAddEntry, contract, author, other, e.CreatedAt, e.ID, int64(form), e.Type, e.Entry, w.Now, e.Data, n, k, thread)
}

func entryKeys(e store.ThreadEntry) (author, other []byte, err error) {
	author, ok1 := column.Hex32(e.Author)
	other, ok2 := column.Hex32(e.Other)
	if !ok1 || !ok2 || len(e.ID) == 0 {
		return nil, nil, errors.New("a contract entry names no keys or no id")
	}
	return author, other, nil
}

// EntryTaken reports whether the thread between two keys has another entry with
// this id.
func (s *Store) EntryTaken(ctx context.Context, contract, author, other, entry string, id []byte) (taken bool, err error) {
	who, ok1 := column.Hex32(author)
	to, ok2 := column.Hex32(other)
	if !ok1 || !ok2 {
		return false, errors.New("the parties are no pubkeys")
	}
	return engine.Look(ctx, s.db, (*engine.Conn).Exists, sqlEntryTaken, contract, entry, who, to, id)
}

// PlaceEntry fills in what an entry, found by its author, counterparty, time
// and id, got when it came: whether the relay has its event, as head or as
// history, its numbers and the time. It reports whether it is here.
func (s *Store) PlaceEntry(ctx context.Context, contract string, e *store.ThreadEntry) (here bool, err error) {
	author, other, err := entryKeys(*e)
	if err != nil {
		return false, err
	}
	row, err := engine.Look(ctx, s.db, (*engine.Conn).One, sqlOneEntry, contract, author, other, e.CreatedAt, e.ID)
	if err != nil || row == nil {
		return false, err
	}
	e.Published, e.N, e.K, e.ArrivedAt = row[0] != nil, row.Int(1), row.Int(2), row.Int(3)
	return true, nil
}

// WaitingEntries gives fn the events that the relay has not taken, in the order
// in which they came.
func (s *Store) WaitingEntries(ctx context.Context, fn func(*nostr.Event) error) error {
	all, err := engine.ReadList(ctx, s.db, engine.Scan, func(v engine.Row) (*nostr.Event, error) { return column.Event(v.Blob(0)) }, sqlWaiting)
	for i := 0; i < len(all) && err == nil; i++ {
		err = fn(all[i])
	}
	return err
}

// What an author takes back of contract memory (NIP-09) is withdrawn: it leaves
// events and the full-text index, and stays in history and in its thread, with
// the time and the request, for those whose conversation it is. What a state
// did stands.

const (
	sqlWithdrawEntries = `UPDATE contract_entries SET withdrawn = ?1, request = ?2 WHERE withdrawn = 0 AND seq IN `
	sqlWithdrawMoves   = `UPDATE contract_moves SET withdrawn = ?1, request = ?2 WHERE withdrawn = 0 AND seq IN `
	sqlWithdrawWaiting = `UPDATE contract_entries INDEXED BY contract_entries_private SET withdrawn = ?1, request = ?2
		WHERE withdrawn = 0 AND author = ?3 AND seq IS NULL AND form < 2 AND `
	sqlAnyWaiting = `SELECT 1 FROM contract_entries INDEXED BY contract_entries_private WHERE author = ? AND seq IS NULL AND form < 2 LIMIT 1`

	ofOwnAddress = `(SELECT seq FROM history WHERE kind = ?3 AND pubkey = ?4 AND d = ?5 AND created_at <= ?6)`
	ofSeq        = `(?3)`
)

// Withdrawn marks what is stored under seq as taken back by a request, nil where
// it is not known.
func (w *threads) Withdrawn(request []byte, seq int64) error {
	return w.withdraw(request, ofSeq, seq)
}

// withdraw marks what the request r takes back, of those whose seq a query
// selects.
func (w *threads) withdraw(request []byte, which string, args ...engine.Value) error {
	args = append([]engine.Value{w.Now, column.BytesOrNil(request)}, args...)
	return w.Run(engine.Do(sqlWithdrawEntries+which, args...), engine.Do(sqlWithdrawMoves+which, args...))
}

// Waiting reports whether an author has shared entries here that are no events
// yet.
func (w *threads) Waiting(author []byte) (bool, error) { return w.c.Exists(sqlAnyWaiting, author) }

// WithdrawnWaiting withdraws such an entry by its id.
func (w *threads) WithdrawnWaiting(request, author, id []byte) error {
	return w.Do(sqlWithdrawWaiting+"id = ?4", w.Now, request, author, id)
}

// WithdrawnAddress withdraws all versions of an address of contract memory up to
// the request's time.
func (w *threads) WithdrawnAddress(request, author []byte, kind int, d engine.Value, until int64) error {
	if err := w.withdraw(request, ofOwnAddress, int64(kind), author, d, until); err != nil || kind != niptemp.KindEntry {
		return err
	}
	return w.Do(sqlWithdrawWaiting+"contract = ?4 AND created_at <= ?5", w.Now, request, author, contractOf(d), until)
}

// contractOf is the contract id in a column d.
func contractOf(d engine.Value) string {
	if text, ok := d.(string); ok {
		return text
	}
	return column.HexOf(d)
}
