package apply

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/record"
)

// deleting is a deletion request on its way. What it removes may be much more
// than itself: what is beyond engine.StepCost goes in further transactions, with
// others' writes in between, and the answer comes after the last. So does what it
// names and is not here, which readers never see: its return is barred at once by
// the request itself (barredBy), and by a row of its own once its step has come.
// A crash in between is made good when the store opens.
type deleting struct {
	rec     *record.Record
	request int64 // its seq
	at      int64 // when it was executed: what later steps write is of that time too
	next    int   // tag
	later   []int // tags whose rows are still to be written
	noted   bool  // as unfinished, in the table meta
	resumed bool  // some rows may be there from before the store was opened
}

// barCost is what a row that bars a return costs: a step writes 500 of them.
const barCost = engine.StepCost / 500

// unfinishedDeletion is the key in the table meta, before the request's seq;
// its successor ends the range of such keys.
const (
	unfinishedDeletion    = "deletion:"
	sqlDeletionUnfinished = `SELECT value FROM meta WHERE key >= 'deletion:' AND key < 'deletion;' ORDER BY value`
	sqlDeletionRequest    = `SELECT json, arrived_at FROM events WHERE seq = ? AND kind = 5`
)

func (d *deleting) key() string { return unfinishedDeletion + strconv.FormatInt(d.request, 10) }

// step removes some of what the request names and reports whether there is
// more.
func (d *deleting) step(rm *remover) (more bool, err error) {
	defer func(now int64) { rm.Now = now }(rm.Now)
	rm.Now = d.at
	waiting, err := rm.Others.Contracts.Waiting(d.rec.Pubkey)
	if err != nil {
		return false, err
	}
	start, tags := rm.Extra, d.rec.Event.Tags
	for ; d.next < len(tags); d.next++ {
		if rm.Extra-start > engine.StepCost {
			return true, nil
		}
		t := tags[d.next]
		if len(t) < 2 {
			continue
		}
		later := false
		switch t[0] {
		case "e":
			later, err = rm.deleteID(d.rec, t[1], waiting)
		case "a":
			later, err = rm.deleteAddress(d.rec, t[1])
		}
		if err != nil {
			return false, err
		}
		if later {
			d.later = append(d.later, d.next)
		}
	}
	for ; len(d.later) > 0; d.later = d.later[1:] {
		if rm.Extra-start > engine.StepCost {
			return true, nil
		}
		// What was done before costs nothing, so that as many steps are left as there were.
		if done, err := d.barred(rm, tags[d.later[0]]); err != nil {
			return false, err
		} else if done {
			continue
		}
		if err := d.barLater(rm, tags[d.later[0]]); err != nil {
			return false, err
		}
		rm.Extra += barCost
	}
	if d.noted {
		err = rm.DropMeta(d.key())
	}
	return false, err
}

// barLater writes the row that keeps out what a tag names.
func (d *deleting) barLater(rm *remover, t nostr.Tag) error {
	if t[0] == "e" {
		id, _ := column.Hex32(t[1])
		return rm.bar(d.rec, id, nil)
	}
	kind, key, _ := record.OwnAddress(t[1], d.rec.Event.PubKey)
	rm.Known.deletedAddresses = true
	return rm.Do(sqlDeletedAddress, int64(kind), d.rec.Pubkey, key, d.rec.Created, d.rec.ID)
}

// barred reports whether barLater has written the row of a tag before.
func (d *deleting) barred(rm *remover, t nostr.Tag) (bool, error) {
	if !d.resumed {
		return false, nil
	}
	var row engine.Row
	var err error
	if t[0] == "e" {
		id, _ := column.Hex32(t[1])
		row, err = rm.Conn().One(sqlIsDeletedID, id, d.rec.Pubkey)
	} else {
		kind, key, _ := record.OwnAddress(t[1], d.rec.Event.PubKey)
		row, err = rm.Conn().One(sqlIsDeletedAddress, int64(kind), d.rec.Pubkey, key, d.rec.Created)
	}
	return row != nil && bytes.Equal(row.Blob(0), d.rec.ID), err
}

// bars reports whether the request names an event that came before it.
func (d *deleting) bars(r *record.Record) bool {
	its := bytes.Equal(d.rec.Pubkey, r.Pubkey) || bytes.Equal(d.rec.Pubkey, recipient(r.Event))
	return its && slices.ContainsFunc(d.rec.Event.Tags, func(t nostr.Tag) bool {
		switch {
		case len(t) < 2:
		case t[0] == "e":
			return t[1] == r.Event.ID
		case t[0] == "a" && r.D != nil && r.Created <= d.rec.Created:
			kind, key, ok := record.OwnAddress(t[1], r.Event.PubKey)
			return ok && kind == r.Event.Kind && record.SameKey(key, r.D)
		}
		return false
	})
}

// barredBy is the id of an unfinished request that keeps an event out; nil for
// none.
func (rm *remover) barredBy(r *record.Record) []byte {
	for _, j := range rm.Jobs() {
		if d, ok := j.Of.(*deleting); ok && d.bars(r) {
			return d.rec.ID
		}
	}
	return nil
}

func (d *deleting) job(rm *remover, m *engine.Member) *engine.Job {
	step := func() (bool, error) { return d.step(rm) }
	return &engine.Job{Member: m, Step: step, Save: func() func() { was := *d; return func() { *d = was } }, Of: d}
}

// goOn has the rest done after the commit.
func (d *deleting) goOn(rm *remover) error {
	if err := rm.SetMeta(d.key(), d.request); err != nil {
		return err
	}
	d.noted = true
	rm.StartJob(d.job(rm, rm.member()))
	return nil
}

// OpenDeletions makes jobs of the requests that were left unfinished.
func (rm *remover) OpenDeletions() (left []Unfinished, err error) {
	err = rm.Conn().Each(sqlDeletionUnfinished, nil, func(row engine.Row) error {
		d := &deleting{request: row[0].(int64), noted: true, resumed: true}
		left = append(left, Unfinished{d.request, d.job(rm, nil)})
		found, err := rm.Conn().One(sqlDeletionRequest, d.request)
		if err != nil {
			return err
		}
		if found == nil { // its author has vanished, and with him what he wrote
			d.rec = &record.Record{Event: &nostr.Event{}}
			return nil
		}
		d.at = found[1].(int64)
		ev, err := column.Event(found[0].([]byte))
		if err != nil {
			return err
		}
		d.rec, err = record.New(ev, gate.Open)
		return err
	})
	return left, err
}

// delete does what a deletion request asks for. Only what its author wrote is
// concerned, and gift wraps for him alone; whether it is here or not, the tombstone is, and the answer is the
// same. See deleting for what takes more than one transaction.
func (rm *remover) delete(r *record.Record) error {
	if err := rm.judge(r); err != nil {
		return err
	}
	d := &deleting{rec: r, request: rm.Seq + 1, at: rm.Now}
	more, err := d.step(rm)
	if err == nil && more {
		err = d.goOn(rm)
	}
	return err
}

// judge classes a deletion request by what the ids that it names are here,
// before it removes that: it is open only if each is an open event of its
// author. The verdict, which cannot be made again, is kept as the class.
func (rm *remover) judge(r *record.Record) error {
	open := true
	for _, t := range r.Event.Tags {
		if len(t) < 2 || t[0] != "e" || !open {
			continue
		}
		var err error
		if open, err = rm.foundOpen(r, t[1]); err != nil {
			return err
		}
	}
	r.SetClass(rm.Table.ClassifyDeletion(r.Event, open))
	return nil
}

// foundOpen reports whether the id is that of an open event of r's author, here
// or deleted before.
func (rm *remover) foundOpen(r *record.Record, target string) (bool, error) {
	id, ok := column.Hex32(target)
	if !ok {
		return false, nil
	}
	row, err := rm.Conn().One(sqlFoundClass, id, r.Pubkey, rm.Now)
	return err == nil && row != nil && row[0] == engine.Value(int64(gate.Open)), err
}
