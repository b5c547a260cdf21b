package events

import (
	"strconv"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/gate"
	"engramd/internal/store/sqlite/engine"
)

// deleting is a deletion request on its way. What it removes may be much more
// than itself: what is beyond removalCost goes in further transactions, with
// others' writes in between, and the answer comes after the last. The return of
// everything is barred by the first. A crash in between is made good when the
// store opens.
type deleting struct {
	rec     *record
	request int64 // its seq
	next    int   // tag
	noted   bool  // as unfinished, in the table meta
}

// unfinishedDeletion is the key in the table meta, before the request's seq;
// its successor ends the range of such keys.
const (
	unfinishedDeletion    = "deletion:"
	sqlDeletionUnfinished = `SELECT value FROM meta WHERE key >= 'deletion:' AND key < 'deletion;' ORDER BY value`
	sqlDeletionDone       = `DELETE FROM meta WHERE key = ?`
	sqlRequestJSON        = `SELECT json FROM events WHERE seq = ? AND kind = 5`
)

func (d *deleting) key() string { return unfinishedDeletion + strconv.FormatInt(d.request, 10) }

// step removes some of what the request names and reports whether there is
// more.
func (d *deleting) step(w *writer) (more bool, err error) {
	waiting, err := w.parts.Contracts.Waiting(d.rec.pubkey)
	if err != nil {
		return false, err
	}
	start, tags := w.Extra, d.rec.ev.Tags
	for ; d.next < len(tags); d.next++ {
		if w.Extra-start > removalCost {
			return true, nil
		}
		t := tags[d.next]
		if len(t) < 2 {
			continue
		}
		switch t[0] {
		case "e":
			err = w.deleteID(d.rec, t[1], waiting)
		case "a":
			err = w.deleteAddress(d.rec, t[1])
		}
		if err != nil {
			return false, err
		}
	}
	if d.noted {
		_, err = w.Exec(sqlDeletionDone, d.key())
	}
	return false, err
}

func (d *deleting) job(w *writer, m *engine.Member) *engine.Job {
	step := func() (bool, error) { return d.step(w) }
	return &engine.Job{Member: m, Step: step, Save: func() func() { was := *d; return func() { *d = was } }}
}

// goOn has the rest done after the commit, and bars now what it is to remove.
func (d *deleting) goOn(w *writer) error {
	for _, t := range d.rec.ev.Tags[d.next:] {
		if len(t) < 2 {
			continue
		}
		var err error
		switch t[0] {
		case "e":
			err = w.barID(d.rec, t[1])
		case "a":
			err = w.barAddress(d.rec, t[1])
		}
		if err != nil {
			return err
		}
	}
	if err := w.SetMeta(d.key(), d.request); err != nil {
		return err
	}
	d.noted = true
	w.StartJob(d.job(w, w.member()))
	return nil
}

// barID keeps an id out, of which an event may be here yet.
func (w *writer) barID(r *record, target string) error {
	id, ok := lowerHex32(target)
	if !ok {
		return nil
	}
	row, err := w.c.One(sqlOwnEvent, id, r.pubkey)
	if err != nil || row != nil && !deletable(int(row[1].(int64))) {
		return err
	}
	w.known.deletedIDs = true
	if row == nil {
		_, err = w.Exec(sqlDeletedID, id, r.pubkey, nil, r.id)
		return err
	}
	_, err = w.Exec(sqlDeletedID, id, r.pubkey, row[2], r.id)
	return err
}

// barAddress keeps out what the request deletes of an address.
func (w *writer) barAddress(r *record, target string) error {
	kind, d, ok := ownAddress(target, r.ev.PubKey)
	if !ok {
		return nil
	}
	w.known.deletedAddresses = true
	_, err := w.Exec(sqlDeletedAddress, int64(kind), r.pubkey, d, r.created, r.id)
	return err
}

// openDeletions makes jobs of the requests that were left unfinished.
func (w *writer) openDeletions() (left []unfinished, err error) {
	err = w.c.Each(sqlDeletionUnfinished, nil, func(row []engine.Value) error {
		d := &deleting{request: row[0].(int64), noted: true}
		left = append(left, unfinished{d.request, d.job(w, nil)})
		found, err := w.c.One(sqlRequestJSON, d.request)
		if err != nil {
			return err
		}
		if found == nil { // its author has vanished, and with him what he wrote
			d.rec = &record{ev: &nostr.Event{}}
			return nil
		}
		ev, err := parsed(found[0].([]byte))
		if err != nil {
			return err
		}
		d.rec, err = newRecord(ev, gate.Open)
		return err
	})
	return left, err
}
