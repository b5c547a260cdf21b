package apply

import (
	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/record"
)

// remover does what authors ask to be removed, at once or in a job.
type remover struct {
	archive
	Table *gate.Table
}

// member is the one that is being applied, nil for a command.
func (rm *remover) member() *engine.Member {
	if rm.current == nil {
		return nil
	}
	return &rm.current.Member
}

// Unfinished is a request that a crash or a shutdown left unfinished.
type Unfinished struct {
	Request int64 // its seq
	Job     *engine.Job
}

const (
	sqlAnyEvent   = `SELECT seq FROM events WHERE id = ?`
	sqlAnyVersion = `SELECT seq, pubkey, length(json) FROM history WHERE id = ?`
)

// RemoveBanned takes a banned event out of the database. Versions of its
// address in history stay what they are.
func (a *archive) RemoveBanned(id []byte) error {
	row, err := a.Conn().One(sqlAnyEvent, id)
	if err != nil {
		return err
	}
	if row != nil {
		if err := a.RemoveEvent(row[0].(int64), byBan); err != nil {
			return err
		}
	}
	_, err = a.RemoveHistory(byBan, sqlAnyVersion, id)
	return err
}

// withdrawHead makes history of a head. What was superseded before stays what
// it is, and does not become head.
func (a *archive) withdrawHead(seq int64) error {
	if _, err := a.Exec(sqlHeadToHistory, seq, a.Now); err != nil {
		return err
	}
	a.Known.History = true
	return a.dropEvent(seq, nil, false, nil)
}

// keepWithdrawn stores what comes after the request that takes it back.
func (a *archive) keepWithdrawn(r *record.Record, request []byte) error {
	if err := a.keepVersion(r); err != nil {
		return err
	}
	return a.Others.Contracts.Withdrawn(request, a.Seq)
}

const (
	sqlIsDeletedID      = `SELECT request FROM deleted_ids WHERE id = ? AND pubkey = ?`
	sqlIsDeletedAddress = `SELECT request FROM deleted_addresses WHERE kind = ? AND pubkey = ? AND d = ? AND until >= ?`
	sqlDeletedID        = `INSERT INTO deleted_ids(id, pubkey, class, request) VALUES (?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET class = coalesce(class, excluded.class), request = coalesce(request, excluded.request)`
	sqlDeletedAddress = `INSERT INTO deleted_addresses(kind, pubkey, d, until, request) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (kind, pubkey, d) DO UPDATE SET until = max(until, excluded.until),
			request = CASE WHEN excluded.until > until THEN excluded.request ELSE request END`
	sqlOwnVersion     = `SELECT seq, kind, length(json) FROM history WHERE id = ? AND pubkey = ?`
	sqlOwnHead        = `SELECT seq, id, class FROM events WHERE kind = ? AND author = ` + record.NumOf + ` AND d = ? AND created_at <= ?`
	sqlAddressHistory = `SELECT seq, pubkey, length(json) FROM history
		WHERE kind = ? AND pubkey = ? AND d = ? AND created_at <= ?`

	// The class of an author's event, or the one that it had when it was
	// deleted. What has expired is not there, whether it is swept already or
	// not.
	sqlFoundClass = `SELECT class FROM events WHERE id = ?1 AND pubkey = ?2 AND (expires_at IS NULL OR expires_at > ?3)
		UNION ALL SELECT class FROM deleted_ids WHERE id = ?1 AND pubkey = ?2 LIMIT 1`
)

// met decides about an event that the relay has, or that may not come back: its
// author had it deleted (NIP-09), or its recipient if it is a gift wrap (NIP-59); its
// author asked to vanish, or it is a gift wrap to somebody who did (NIP-62). The
// zero Outcome is for all others. Contract memory that its author took back comes in
// by import and restore, as withdrawn, with the request where it is known.
func (rm *remover) met(r *record.Record, imported bool) (request []byte, withdrawn bool, res store.Result, err error) {
	request, gone, err := rm.takenBack(r)
	if err != nil {
		return nil, false, res, err
	}
	deleted := store.Result{Outcome: store.Deleted, Why: store.WhyDeleted}
	withdrawn = gone && record.IsContract(r.Event.Kind)
	if withdrawn && !imported {
		return nil, false, deleted, nil // it may be here, but not for who asks for it
	}
	if seq, have, err := rm.have(r); err != nil || have {
		return nil, false, store.Result{Outcome: store.Duplicate, Seq: seq, Why: store.WhyDuplicate}, err
	}
	if rm.Known.vanished {
		if vanished, err := rm.hasVanished(r); err != nil || vanished {
			return nil, false, deleted, err
		}
	}
	if gone && !withdrawn {
		return nil, false, deleted, nil
	}
	return request, withdrawn, res, nil
}

// takenBack reports whether a deletion request of the event's author, or of a gift
// wrap's recipient, is here that came before it, and its id where it is known.
func (rm *remover) takenBack(r *record.Record) (request []byte, gone bool, err error) {
	if !record.Deletable(r.Event.Kind) {
		return nil, false, nil
	}
	var row engine.Row
	if rm.Known.deletedIDs {
		row, err = rm.Conn().One(sqlIsDeletedID, r.ID, r.Pubkey)
		if to := recipient(r.Event); to != nil && err == nil && row == nil {
			row, err = rm.Conn().One(sqlIsDeletedID, r.ID, to)
		}
	}
	if err == nil && row == nil && rm.Known.deletedAddresses && r.D != nil {
		row, err = rm.Conn().One(sqlIsDeletedAddress, int64(r.Event.Kind), r.Pubkey, r.D, r.Created)
	}
	if err != nil {
		return nil, false, err
	}
	if row == nil {
		request = rm.barredBy(r)
		return request, request != nil, nil
	}
	return row.Blob(0), true, nil
}

// deleteID removes one event or one version in history, or withdraws it, and
// bars its return. Versions before it stay what they are: history. What is not
// here is to be barred later.
func (rm *remover) deleteID(r *record.Record, target string, waiting bool) (later bool, err error) {
	id, ok := column.Hex32(target)
	if !ok {
		return false, nil
	}
	row, err := rm.own(r, id)
	if err != nil {
		return false, err
	}
	if row != nil {
		if !record.Deletable(int(row[1].(int64))) {
			return false, nil
		}
		err = rm.deleteOwn(r, int(row[1].(int64)), row[0].(int64))
	} else if rm.Known.History {
		err = rm.deleteVersion(r, id)
	}
	if err == nil && waiting {
		err = rm.Others.Contracts.WithdrawnWaiting(r.ID, r.Pubkey, id)
	}
	if err != nil {
		return false, err
	}
	if _, err := rm.Unquarantine(sqlUnquarantineID, id, r.Pubkey); err != nil || row == nil {
		return true, err
	}
	return false, rm.bar(r, id, row[2])
}

// bar keeps an id out, with the class that it had.
func (rm *remover) bar(r *record.Record, id []byte, class engine.Value) error {
	rm.Known.deletedIDs = true
	return rm.Do(sqlDeletedID, id, r.Pubkey, class, r.ID)
}

// deleteOwn removes or withdraws an event of r's author.
func (rm *remover) deleteOwn(r *record.Record, kind int, seq int64) error {
	if err := rm.deleteHead(kind, seq); err != nil || !record.IsContract(kind) {
		return err
	}
	return rm.Others.Contracts.Withdrawn(r.ID, seq)
}

// deleteVersion removes a version in history of r's author, or withdraws it.
func (rm *remover) deleteVersion(r *record.Record, id []byte) error {
	row, err := rm.Conn().One(sqlOwnVersion, id, r.Pubkey)
	if err != nil || row == nil {
		return err
	}
	seq := row[0].(int64)
	if record.IsContract(int(row[1].(int64))) {
		return rm.Others.Contracts.Withdrawn(r.ID, seq)
	}
	return rm.dropVersion(byDeletion, seq, record.Pubkey(r.Pubkey), row[2].(int64))
}

// deleteAddress removes all versions of an address up to the request's time, or
// withdraws those of contract memory; their return is to be barred later. A
// later write revives it.
func (rm *remover) deleteAddress(r *record.Record, target string) (later bool, err error) {
	kind, d, ok := record.OwnAddress(target, r.Event.PubKey)
	if !ok {
		return false, nil
	}
	row, err := rm.Conn().One(sqlOwnHead, int64(kind), r.Pubkey, d, r.Created)
	if err != nil {
		return false, err
	}
	if row != nil {
		if err := rm.deleteHead(kind, row[0].(int64)); err != nil {
			return false, err
		}
		// A later request may name it by its id.
		if id := row.Blob(1); len(id) == len(r.ID) { // else it was rotten
			if err := rm.bar(r, id, row[2]); err != nil {
				return false, err
			}
		}
	}
	if record.IsContract(kind) {
		err = rm.Others.Contracts.WithdrawnAddress(r.ID, r.Pubkey, kind, d, r.Created)
	} else if rm.Known.History {
		_, err = rm.RemoveHistory(byDeletion, sqlAddressHistory, int64(kind), r.Pubkey, d, r.Created)
	}
	if err != nil {
		return false, err
	}
	_, err = rm.Unquarantine(sqlUnquarantineAddress, r.Pubkey, int64(kind), d, r.Created)
	return true, err
}

// deleteHead takes an event out of what readers see: contract memory becomes
// history, all else goes.
func (rm *remover) deleteHead(kind int, seq int64) error {
	if record.IsContract(kind) {
		return rm.withdrawHead(seq)
	}
	return rm.RemoveEvent(seq, byDeletion)
}
