package events

import (
	"bytes"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/gate"
	"engramd/internal/store"
	"engramd/nips/kind"
	"engramd/nips/nip01"
	"engramd/nips/niptemp"
)

// Kinds with a meaning for the store.
const (
	kindDeletion = nostr.KindDeletion
	kindVanish   = kind.Vanish
	kindGiftWrap = nostr.KindGiftWrap
)

const (
	sqlInsertEvent = `INSERT INTO events(seq, kind, created_at, class, d, readers, expires_at, arrived_at, json, author)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	sqlInsertTag   = `INSERT INTO tags(name, value, created_at, seq, kind) VALUES (?, ?, ?, ?, ?)`
	sqlHaveEvent   = `SELECT 1 FROM events WHERE id = ?`
	sqlHaveHistory = `SELECT 1 FROM history WHERE id = ?`
)

// whyExpired answers an event whose NIP-40 time came between the policy's look
// at it and the writer's.
var whyExpired = nip01.Refuse(nip01.PrefixInvalid, "the event has expired")

// known is what the writer knows of tables without asking them: false means
// surely empty. They are empty on most relays most of the time, and are asked
// for every event otherwise.
type known struct {
	history, deletedIDs, deletedAddresses, vanished, quarantine, floors bool
}

// apply decides what becomes of one event, in the order of the table in
// 40-relay-behaviour: expired, banned, this very event, deleted before, the
// contract's lifecycle, a newer head, quota. What it changed is undone when it
// fails or refuses.
//
// The lifecycle comes after "deleted" and before "newer": sending an accepted
// event again is a duplicate and no second move, while a move that comes too
// late must not be answered as if it had been taken.
func (w *writer) apply(p *Pending) (store.Result, error) {
	r := p.rec
	if r.expires != 0 && r.expires <= w.Now {
		return store.Result{Outcome: store.Refused, Why: whyExpired}, nil
	}
	if banned, err := w.parts.Admin.Banned(r.id); err != nil || banned {
		return store.Result{Outcome: store.Deleted, Why: store.WhyBanned}, err
	}
	opts := p.opts
	opts.Import = opts.Import || opts.Replica
	request, withdrawn, before, err := w.met(r, opts.Import)
	if err == nil && opts.Past && before.Outcome == store.Duplicate {
		if past, err := w.isPast(r); err != nil || past {
			return store.Result{Outcome: store.Replaced}, err
		}
	}
	if err != nil || before.Outcome != 0 {
		return before, err
	}
	if conflict, err := w.misses(r, p.opts.Base); err != nil || conflict {
		return store.Result{Outcome: store.Conflict, Why: store.WhyConflict}, err
	}
	usage, err := w.usageBefore(r)
	if err != nil {
		return store.Result{}, err
	}
	if refusal := w.surelyOverQuota(r, usage, &p.opts); refusal != nil {
		return store.Result{Outcome: store.Refused, Why: refusal}, nil
	}
	if refusal, err := w.judgeContract(r, opts); err != nil || refusal != nil {
		return store.Result{Outcome: store.Refused, Why: refusal}, err
	}
	if err := w.effects(r); err != nil {
		return store.Result{}, err
	}
	var result store.Result
	switch {
	case opts.Replica:
		result, err = w.placeCopy(r, opts.Past, withdrawn, request)
	case withdrawn:
		result, err = store.Result{Outcome: store.Stored}, w.keepWithdrawn(r, request)
	default:
		result, err = w.place(r)
	}
	if err != nil {
		return store.Result{}, err
	}
	if result.Outcome == store.Stale && r.ev.Kind == niptemp.KindEntry && !p.opts.Import {
		result = w.said(r)
	}
	if refusal := w.overQuota(r, usage, &p.opts); refusal != nil {
		return store.Result{Outcome: store.Refused, Why: refusal}, nil
	}
	if len(p.opts.Forward) > 0 && isContract(r.ev.Kind) {
		err = w.parts.Outbox.Forward(r.ev, r.json, p.opts.Forward)
	}
	return result, err
}

// misses reports whether a write was made for another head than the one that is
// there, or would not become the head.
func (w *writer) misses(r *record, base *[32]byte) (bool, error) {
	if base == nil {
		return false, nil
	}
	if r.d == nil {
		return true, nil
	}
	head, err := w.head(r)
	if err != nil {
		return false, err
	}
	if head.exists {
		return !bytes.Equal(head.id, base[:]) || head.beats(r), nil
	}
	if *base != [32]byte{} {
		return true, nil
	}
	return w.newerInHistory(r)
}

// have reports whether this very event is here, as head, regular event or
// history.
func (w *writer) have(r *record) (bool, error) {
	w.args = append(w.args[:0], r.id)
	have, err := w.c.Exists(sqlHaveEvent, w.args...)
	if err != nil || have || !w.known.history || r.d == nil {
		return have, err
	}
	return w.c.Exists(sqlHaveHistory, r.id)
}

// said is the answer to an entry that is no head, of the same second as its
// author's last one or older: it stands in its thread as any other, and who
// listens hears of it now.
func (w *writer) said(r *record) store.Result {
	w.committed(r, w.seq)
	return store.Result{Outcome: store.Stored, Seq: w.seq}
}

// committed has who listens hear of an event after the commit.
func (w *writer) committed(r *record, seq int64) {
	c := store.Committed{Event: r.ev, JSON: r.json, Seq: seq, Class: r.class}
	if w.current != nil {
		c.Who = w.current.Who()
	}
	w.stage.committed = append(w.stage.committed, c)
}

// place stores the record as what it is: regular event, head, or late version.
func (w *writer) place(r *record) (store.Result, error) {
	if r.d == nil {
		return w.insert(r)
	}
	head, err := w.head(r)
	if err != nil {
		return store.Result{}, err
	}
	if head.exists && head.beats(r) {
		return store.Result{Outcome: store.Stale, Why: store.WhyStale}, w.keepLate(r)
	}
	if !head.exists {
		newer, err := w.newerInHistory(r)
		if err != nil {
			return store.Result{}, err
		}
		if newer {
			return store.Result{Outcome: store.Stale, Why: store.WhyStale}, w.keepLate(r)
		}
		removed, err := w.belowFloor(r)
		if err != nil {
			return store.Result{}, err
		}
		if removed {
			return store.Result{Outcome: store.Stale, Why: store.WhyRemoved}, w.keepLate(r)
		}
		return w.insert(r)
	}
	if err := w.supersede(head, r); err != nil {
		return store.Result{}, err
	}
	result, err := w.insert(r)
	result.Outcome = store.Replaced
	return result, err
}

// insert makes the record a head or regular event.
func (w *writer) insert(r *record) (store.Result, error) {
	w.seq++
	seq := w.seq
	who, err := w.giveAuthor(author(r.pubkey))
	if err != nil {
		return store.Result{}, err
	}
	readers, err := w.giveReaders(r.readers)
	if err != nil {
		return store.Result{}, err
	}
	w.args = append(w.args[:0], seq, int64(r.ev.Kind), r.created, int64(r.class), r.d,
		readers, timeOrNil(r.expires), w.Now, r.json, who)
	if _, err = w.Exec(sqlInsertEvent, w.args...); err != nil {
		return store.Result{}, err
	}
	for i := range r.tags {
		if err := w.insertTag(r, &r.tags[i], seq); err != nil {
			return store.Result{}, err
		}
	}
	if err := w.placeContract(r, seq); err != nil {
		return store.Result{}, err
	}
	w.index(seq, r.class, r.ev)
	w.count(author(r.pubkey), 1, int64(len(r.json)))
	w.expiresAt(r.expires)
	w.committed(r, seq)
	return store.Result{Outcome: store.Stored, Seq: seq}, nil
}

// insertTag enters one row into the tag index.
func (w *writer) insertTag(r *record, t *tagRow, seq int64) error {
	value := t.value
	if k, ok := t.numberedKey(); ok {
		num, err := w.giveNumber(k)
		if err != nil {
			return err
		}
		value = num
	}
	w.args = append(w.args[:0], t.name, value, r.created, seq, int64(r.ev.Kind))
	_, err := w.Exec(sqlInsertTag, w.args...)
	return err
}

// effects does what an event asks for that is about to be stored: before that,
// so that a deletion finds room in a full database.
func (w *writer) effects(r *record) error {
	switch r.ev.Kind {
	case kindDeletion:
		return w.delete(r)
	case kindVanish:
		return w.vanish(r, w.seq+1)
	}
	return nil
}

// isContract reports whether the kind is contract memory (NIP-TEMP), whose
// history is kept for ever.
func isContract(kind int) bool { return kind == niptemp.KindEntry || kind == niptemp.KindState }

// hasHistory reports whether superseded versions of the record are kept: gated
// replaceable and addressable kinds.
func hasHistory(r *record) bool { return r.d != nil && r.class != gate.Open }
