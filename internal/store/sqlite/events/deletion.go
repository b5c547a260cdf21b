package events

import (
	"strconv"
	"strings"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/gate"
	"engramd/internal/store"
	"engramd/internal/store/sqlite/engine"
)

const (
	sqlIsDeletedID      = `SELECT request FROM deleted_ids WHERE id = ? AND pubkey = ?`
	sqlIsDeletedAddress = `SELECT request FROM deleted_addresses WHERE kind = ? AND pubkey = ? AND d = ? AND until >= ?`
	sqlDeletedID        = `INSERT INTO deleted_ids(id, pubkey, class, request) VALUES (?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET class = coalesce(class, excluded.class), request = coalesce(request, excluded.request)`
	sqlDeletedAddress = `INSERT INTO deleted_addresses(kind, pubkey, d, until, request) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (kind, pubkey, d) DO UPDATE SET until = max(until, excluded.until),
			request = CASE WHEN excluded.until > until THEN excluded.request ELSE request END`
	sqlOwnEvent       = `SELECT seq, kind, class FROM events WHERE id = ? AND pubkey = ?`
	sqlOwnVersion     = `SELECT seq, kind, length(json) FROM history WHERE id = ? AND pubkey = ?`
	sqlOwnHead        = `SELECT seq, id, class FROM events WHERE kind = ? AND author = ` + numOf + ` AND d = ? AND created_at <= ?`
	sqlAddressHistory = `SELECT seq, pubkey, length(json) FROM history
		WHERE kind = ? AND pubkey = ? AND d = ? AND created_at <= ?`

	// The class of an author's event, or the one that it had when it was
	// deleted. What has expired is not there, whether it is swept already or
	// not.
	sqlFoundClass = `SELECT class FROM events WHERE id = ?1 AND pubkey = ?2 AND (expires_at IS NULL OR expires_at > ?3)
		UNION ALL SELECT class FROM deleted_ids WHERE id = ?1 AND pubkey = ?2 LIMIT 1`
)

// met decides about an event that the relay has, or that may not come back: its
// author had it deleted (NIP-09) or asked to vanish, or it is a gift wrap to
// somebody who did (NIP-62). The zero Outcome is for all others. Contract
// memory that its author took back comes in by import and restore, as
// withdrawn, with the request where it is known.
func (w *writer) met(r *record, imported bool) (request []byte, withdrawn bool, res store.Result, err error) {
	request, gone, err := w.takenBack(r)
	if err != nil {
		return nil, false, res, err
	}
	deleted := store.Result{Outcome: store.Deleted, Why: store.WhyDeleted}
	withdrawn = gone && isContract(r.ev.Kind)
	if withdrawn && !imported {
		return nil, false, deleted, nil // it may be here, but not for who asks for it
	}
	if have, err := w.have(r); err != nil || have {
		return nil, false, store.Result{Outcome: store.Duplicate, Why: store.WhyDuplicate}, err
	}
	if w.known.vanished {
		if vanished, err := w.hasVanished(r); err != nil || vanished {
			return nil, false, deleted, err
		}
	}
	if gone && !withdrawn {
		return nil, false, deleted, nil
	}
	return request, withdrawn, res, nil
}

// takenBack reports whether a deletion request of the event's author is here
// that came before it, and its id where it is known.
func (w *writer) takenBack(r *record) (request []byte, gone bool, err error) {
	if !deletable(r.ev.Kind) {
		return nil, false, nil
	}
	var row []engine.Value
	if w.known.deletedIDs {
		row, err = w.c.One(sqlIsDeletedID, r.id, r.pubkey)
	}
	if err == nil && row == nil && w.known.deletedAddresses && r.d != nil {
		row, err = w.c.One(sqlIsDeletedAddress, int64(r.ev.Kind), r.pubkey, r.d, r.created)
	}
	if err != nil || row == nil {
		return nil, false, err
	}
	request, _ = row[0].([]byte)
	return request, true, nil
}

// deletable reports whether NIP-09 has an effect on the kind.
func deletable(kind int) bool { return kind != kindDeletion && kind != kindVanish }

// delete does what a deletion request asks for. Only what its author wrote is
// concerned; whether it is here or not, the tombstone is, and the answer is the
// same. See deleting for what takes more than one transaction.
func (w *writer) delete(r *record) error {
	if err := w.judge(r); err != nil {
		return err
	}
	d := &deleting{rec: r, request: w.seq + 1}
	more, err := d.step(w)
	if err == nil && more {
		err = d.goOn(w)
	}
	return err
}

// judge classes a deletion request by what the ids that it names are here,
// before it removes that: it is open only if each is an open event of its
// author. The verdict, which cannot be made again, is kept as the class.
func (w *writer) judge(r *record) error {
	open := true
	for _, t := range r.ev.Tags {
		if len(t) < 2 || t[0] != "e" || !open {
			continue
		}
		var err error
		if open, err = w.foundOpen(r, t[1]); err != nil {
			return err
		}
	}
	r.setClass(w.s.table.Load().ClassifyDeletion(r.ev, open))
	return nil
}

// foundOpen reports whether the id is that of an open event of r's author, here
// or deleted before.
func (w *writer) foundOpen(r *record, target string) (bool, error) {
	id, ok := lowerHex32(target)
	if !ok {
		return false, nil
	}
	row, err := w.c.One(sqlFoundClass, id, r.pubkey, w.Now)
	return err == nil && row != nil && row[0] == engine.Value(int64(gate.Open)), err
}

// deleteID removes one event or one version in history, or withdraws it.
// Versions before it stay what they are: history.
func (w *writer) deleteID(r *record, target string, waiting bool) error {
	id, ok := lowerHex32(target)
	if !ok {
		return nil
	}
	row, err := w.c.One(sqlOwnEvent, id, r.pubkey)
	if err != nil {
		return err
	}
	var class engine.Value // that it had, NULL when it is not here
	if row != nil {
		if !deletable(int(row[1].(int64))) {
			return nil
		}
		class = row[2]
		err = w.deleteOwn(r, int(row[1].(int64)), row[0].(int64))
	} else if w.known.history {
		err = w.deleteVersion(r, id)
	}
	if err == nil && waiting {
		err = w.parts.Contracts.WithdrawnWaiting(r.id, r.pubkey, id)
	}
	if err != nil {
		return err
	}
	if _, err := w.unquarantine(sqlUnquarantineID, id, r.pubkey); err != nil {
		return err
	}
	w.known.deletedIDs = true
	_, err = w.Exec(sqlDeletedID, id, r.pubkey, class, r.id)
	return err
}

// deleteOwn removes or withdraws an event of r's author.
func (w *writer) deleteOwn(r *record, kind int, seq int64) error {
	if err := w.deleteHead(kind, seq); err != nil || !isContract(kind) {
		return err
	}
	return w.parts.Contracts.Withdrawn(r.id, seq)
}

// deleteVersion removes a version in history of r's author, or withdraws it.
func (w *writer) deleteVersion(r *record, id []byte) error {
	row, err := w.c.One(sqlOwnVersion, id, r.pubkey)
	if err != nil || row == nil {
		return err
	}
	seq := row[0].(int64)
	if isContract(int(row[1].(int64))) {
		return w.parts.Contracts.Withdrawn(r.id, seq)
	}
	return w.dropVersion(byDeletion, seq, author(r.pubkey), row[2].(int64))
}

// deleteAddress removes all versions of an address up to the request's time, or
// withdraws those of contract memory, and blocks their return; a later write
// revives it.
func (w *writer) deleteAddress(r *record, target string) error {
	kind, d, ok := ownAddress(target, r.ev.PubKey)
	if !ok {
		return nil
	}
	row, err := w.c.One(sqlOwnHead, int64(kind), r.pubkey, d, r.created)
	if err != nil {
		return err
	}
	if row != nil {
		if err := w.deleteHead(kind, row[0].(int64)); err != nil {
			return err
		}
		// A later request may name it by its id.
		w.known.deletedIDs = true
		if _, err := w.Exec(sqlDeletedID, row[1], r.pubkey, row[2], r.id); err != nil {
			return err
		}
	}
	if isContract(kind) {
		err = w.parts.Contracts.WithdrawnAddress(r.id, r.pubkey, kind, d, r.created)
	} else if w.known.history {
		_, err = w.removeHistory(byDeletion, sqlAddressHistory, int64(kind), r.pubkey, d, r.created)
	}
	if err != nil {
		return err
	}
	if _, err := w.unquarantine(sqlUnquarantineAddress, r.pubkey, int64(kind), d, r.created); err != nil {
		return err
	}
	w.known.deletedAddresses = true
	_, err = w.Exec(sqlDeletedAddress, int64(kind), r.pubkey, d, r.created, r.id)
	return err
}

// deleteHead takes an event out of what readers see: contract memory becomes
// history, all else goes.
func (w *writer) deleteHead(kind int, seq int64) error {
	if isContract(kind) {
		return w.withdrawHead(seq)
	}
	return w.removeEvent(seq, byDeletion)
}

// ownAddress takes "kind:pubkey:d" apart. It is false for what is no address
// and for addresses of others.
func ownAddress(a, pubkey string) (kind int, d engine.Value, ok bool) {
	parts := strings.SplitN(a, ":", 3)
	if len(parts) < 2 || parts[1] != pubkey {
		return 0, nil, false
	}
	kind, err := strconv.Atoi(parts[0])
	if err != nil || strconv.Itoa(kind) != parts[0] {
		return 0, nil, false
	}
	switch {
	case nostr.IsReplaceableKind(kind):
		// A replaceable kind has no d; "kind:pubkey" and "kind:pubkey:" are
		// both written.
		return kind, "", len(parts) == 2 || parts[2] == ""
	case nostr.IsAddressableKind(kind) && len(parts) == 3:
		return kind, key(parts[2]), true
	}
	return 0, nil, false
}
