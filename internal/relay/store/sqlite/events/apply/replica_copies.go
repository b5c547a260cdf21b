package apply

import (
	"bytes"
	"errors"
	"fmt"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/record"
)

// What a followed relay brings (PutOptions.Replica).

// placeCopy is place for it.
func (w *Writer) placeCopy(r *record.Record, past, withdrawn bool, request []byte) (store.Result, error) {
	switch {
	case withdrawn:
		// It was a head there, so what is older is none.
		if _, err := w.overtake(r); err != nil {
			return store.Result{}, err
		}
		return store.Result{Outcome: store.Stored}, w.keepWithdrawn(r, request)
	case past && !record.IsContract(r.Event.Kind):
		return w.placePast(r)
	}
	result, err := w.place(r)
	if err != nil || result.Outcome != store.Stale || result.Why != store.WhyStale || record.IsContract(r.Event.Kind) {
		return result, err
	}
	if why, err := w.belowFloor(r); err != nil || why != nil {
		return store.Result{Outcome: store.Stale, Why: why}, err
	}
	return w.keepCopy(r)
}

// placePast stores a version that is superseded where it comes from. The source
// alone is not believed in that: where nothing that its author signed shows that
// the version is superseded, the newest one that is known is the head.
func (w *Writer) placePast(r *record.Record) (store.Result, error) {
	if !w.keepsVersions(r) {
		return store.Result{Outcome: store.Stale, Why: store.WhyStale}, nil
	}
	head, err := w.head(r) // one that has expired leaves a floor
	if err != nil {
		return store.Result{}, err
	}
	if why, err := w.belowFloor(r); err != nil || why != nil {
		return store.Result{Outcome: store.Stale, Why: why}, err
	}
	if !head.exists || !head.beats(r) {
		if superseded, err := w.superseded(r); err != nil || !superseded {
			if err != nil {
				return store.Result{}, err
			}
			return w.place(r)
		}
	}
	overtaken, err := w.overtake(r)
	if err != nil {
		return store.Result{}, err
	}
	result, err := w.keepCopy(r)
	if overtaken {
		result.Outcome = store.Replaced
	}
	return result, err
}

// isPast makes history of the head that the record is itself, because it is
// superseded where it comes from, and its author's signature says so.
func (w *Writer) isPast(r *record.Record) (done bool, err error) {
	if record.IsContract(r.Event.Kind) || !w.keepsVersions(r) {
		return false, nil
	}
	head, err := w.head(r)
	if errors.Is(err, store.ErrDamaged) && !w.Placed {
		return false, nil // it is another: the record's own row was healed
	}
	if err != nil || !head.exists || !bytes.Equal(head.id, r.ID) {
		return false, err
	}
	if superseded, err := w.superseded(r); err != nil || !superseded {
		return false, err
	}
	return true, w.withdrawHead(head.seq)
}

// superseded reports whether something that the record's author signed shows
// that it is no head any more: a newer version in history, or a later request to
// delete something that may have been one.
func (w *Writer) superseded(r *record.Record) (bool, error) {
	if newer, err := w.newerInHistory(r); err != nil || newer {
		return newer, err
	}
	if !w.Known.deletedIDs {
		return false, nil
	}
	found, tags, bytes := false, 0, 0
	err := w.Conn().Each(sqlRequestsSince, []engine.Value{r.Pubkey, r.Created, requestsRead}, func(row engine.Row) error {
		json, _ := row[0].([]byte)
		if bytes += len(json); found || tags > requestTags || bytes > requestBytes {
			return nil
		}
		ev, err := column.Event(json)
		if err != nil {
			return fmt.Errorf("deletion request: %w: %w", column.ErrDamaged, err)
		}
		for _, t := range ev.Tags {
			if len(t) < 2 || t[0] != "e" {
				continue
			}
			id, ok := column.Hex32(t[1])
			if tags++; !ok || tags > requestTags {
				continue
			}
			if found, err = w.Conn().Exists(sqlMayHaveBeen, id, r.Pubkey, int64(r.Class)); err != nil || found {
				return err
			}
		}
		return nil
	})
	return found, err
}

// Bounds of what is looked at for one version.
const (
	requestsRead = int64(100)
	requestTags  = 500
	requestBytes = 256 << 10
)

const (
	sqlRequestsSince = `SELECT json FROM events WHERE author = ` + record.NumOf + ` AND kind = 5 AND created_at >= ? ORDER BY created_at LIMIT ?`
	// What was deleted before it came may have been of any class.
	sqlMayHaveBeen = `SELECT 1 FROM deleted_ids AS d WHERE id = ?1 AND pubkey = ?2 AND (class IS NULL OR class = ?3)
		AND NOT EXISTS (SELECT 1 FROM events WHERE id = d.id) AND NOT EXISTS (SELECT 1 FROM history WHERE id = d.id)`
)

// overtake makes history of a head that is older than the record.
func (w *Writer) overtake(r *record.Record) (done bool, err error) {
	head, err := w.head(r)
	if err != nil || !head.exists || head.beats(r) {
		return false, err
	}
	return true, w.withdrawHead(head.seq)
}

// keepCopy stores a version of a gated kind as history, if any is kept.
func (w *Writer) keepCopy(r *record.Record) (store.Result, error) {
	if !w.keepsVersions(r) {
		return store.Result{Outcome: store.Stale, Why: store.WhyStale}, nil
	}
	if err := w.keepVersion(r); err != nil {
		return store.Result{}, err
	}
	return store.Result{Outcome: store.Stored}, w.pruneAddress(r)
}

func (w *Writer) keepsVersions(r *record.Record) bool {
	return record.HasHistory(r) && (record.IsContract(r.Event.Kind) || w.Options().Versions >= 0)
}
