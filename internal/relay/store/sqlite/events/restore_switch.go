package events

import (
	"bytes"
	"fmt"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/record"
)

// switching is the transaction in which a restore takes effect.
type switching struct {
	w      *writer
	staged bool // of what was staged under num; else of what is in quarantine
	num    int64
	agent  []byte
	o      store.RestoreOptions
	done   store.Restored
}

func (s *switching) run() error {
	if s.o.Mode == store.Rollback {
		if err := s.clearHeads(); err != nil {
			return err
		}
		if err := s.clearVersions(); err != nil {
			return err
		}
	}
	return s.apply()
}

const sqlStaged = `SELECT part, created_at, id, json FROM staged
	WHERE restore = ?1 AND (part, created_at, id) > (?2, ?3, ?4) ORDER BY part, created_at, id LIMIT ?5`

// apply stores what was staged, part by part and oldest first.
func (s *switching) apply() error {
	last := []engine.Value{int64(-1), int64(0), []byte{}}
	for {
		n := 0
		args := append([]engine.Value{s.num}, append(last, int64(sweepChunk))...)
		err := s.w.Conn().Each(sqlStaged, args, func(row []engine.Value) error {
			n++
			last = row[:3:3]
			return s.take(int(row[0].(int64)), row[3].([]byte))
		})
		if err != nil || n == 0 {
			return err
		}
	}
}

// take stores one staged event.
func (s *switching) take(order int, json []byte) error {
	rec, err := s.w.recordOf(json)
	if err != nil {
		return err
	}
	if !s.staged || s.o.Mode == store.Rollback {
		if err := s.w.dropFloor(rec); err != nil {
			return err
		}
	}
	put := s.w.applyImport
	if order == applyOrder(store.Versions) {
		put = s.w.applyVersion
	}
	others := len(s.w.stage.committed)
	result, err := put(rec)
	if err != nil {
		return err
	}
	s.w.stage.committed = s.w.stage.committed[:others] // see announce
	switch result.Outcome {
	case store.Stored:
		s.done.Stored++
	case store.Replaced:
		s.done.Replaced++
	case store.Duplicate:
		s.done.Present++
	case store.Stale:
		s.done.Kept++
	case store.Deleted:
		s.done.Deleted++
	case store.Refused:
		s.done.Expired++
	default:
		return fmt.Errorf("an event could not be stored: %w", result.Err)
	}
	return nil
}

// applyImport is apply for an event that no Put brought.
func (w *writer) applyImport(r *record.Record) (store.Result, error) {
	return w.apply(&Pending{rec: r, opts: store.PutOptions{Import: true}})
}

// applyVersion stores a superseded version as such: it never becomes head, also
// where nothing newer is known, and no older version stays head: it was
// superseded by this one.
func (w *writer) applyVersion(r *record.Record) (store.Result, error) {
	if !record.HasHistory(r) {
		return w.applyImport(r)
	}
	if r.Expires != 0 && r.Expires <= w.Now {
		return store.Result{Outcome: store.Refused, Why: whyExpired}, nil
	}
	if banned, err := w.others.Admin.Banned(r.ID); err != nil || banned {
		return store.Result{Outcome: store.Deleted}, err
	}
	request, withdrawn, before, err := w.met(r, true)
	if err != nil || before.Outcome != 0 {
		return before, err
	}
	if _, err := w.judgeContract(r, store.PutOptions{Import: true}); err != nil {
		return store.Result{}, err
	}
	if withdrawn {
		return store.Result{Outcome: store.Stored}, w.keepWithdrawn(r, request)
	}
	if !w.keepsVersions(r) {
		return store.Result{Outcome: store.Stale, Why: store.WhyStale}, nil
	}
	if _, err := w.overtake(r); err != nil {
		return store.Result{}, err
	}
	return w.keepCopy(r)
}

const (
	sqlHeadsOf    = `SELECT seq, kind, d, created_at, id FROM events WHERE author = ? AND kind IN (30174, 10002) ORDER BY seq`
	sqlVersionsOf = `SELECT seq, kind, d, created_at, id FROM history WHERE pubkey = ? AND kind = 30174 ORDER BY seq`
	sqlTarget     = `SELECT created_at, id FROM staged WHERE restore = ? AND kind = ? AND pubkey = ? AND d = ? AND part IN (2, 3)`
)

// target is the staged head of an address; ok is false when it has none.
func (s *switching) target(kind, d engine.Value) (h head, ok bool, err error) {
	row, err := s.w.Conn().One(sqlTarget, s.num, kind, s.agent, d)
	if err != nil || row == nil {
		return head{}, false, err
	}
	return head{exists: true, created: row[0].(int64), id: row[1].([]byte)}, true, nil
}

// older reports whether h comes before an event with this created_at and id,
// which would replace it.
func (h head) older(created int64, id []byte) bool {
	if created != h.created {
		return created > h.created
	}
	return bytes.Compare(id, h.id) < 0
}

// clearHeads takes away the heads of the agent that are newer than the staged
// ones, or stand where none is staged.
func (s *switching) clearHeads() error {
	who, err := s.w.keys.Number(record.Pubkey(s.agent))
	if err != nil || who == 0 {
		return err
	}
	return s.w.Conn().Each(sqlHeadsOf, []engine.Value{who}, func(row []engine.Value) error {
		target, ok, err := s.target(row[1], row[2])
		if err != nil {
			return err
		}
		if ok && !target.older(row[3].(int64), row[4].([]byte)) {
			return nil
		}
		seq := row[0].(int64)
		if err := s.quarantine("events", seq, true); err != nil {
			return err
		}
		return s.w.removeEvent(seq, noReason)
	})
}

// clearVersions takes away superseded versions that are newer than the staged
// heads, and the staged heads themselves, which become heads again.
func (s *switching) clearVersions() error {
	return s.w.Conn().Each(sqlVersionsOf, []engine.Value{s.agent}, func(row []engine.Value) error {
		target, ok, err := s.target(row[1], row[2])
		if err != nil {
			return err
		}
		seq, created, id := row[0], row[3].(int64), row[4].([]byte)
		switch {
		case ok && bytes.Equal(id, target.id): // stored anew as head
		case ok && target.older(created, id), !ok && created > s.o.AsOf:
			if err := s.quarantine("history", seq.(int64), false); err != nil {
				return err
			}
		default:
			return nil
		}
		_, err = s.w.removeHistory(noReason, `SELECT seq, pubkey, length(json) FROM history WHERE seq = ?`, seq)
		return err
	})
}

// quarantine copies a row of events or history to where no reader comes.
func (s *switching) quarantine(table string, seq int64, isHead bool) error {
	s.done.Quarantined++
	s.w.stage.seqGone = true
	s.w.known.quarantine = true
	_, err := s.w.Exec(`INSERT INTO quarantine(restore, moved_at, head, id, pubkey, kind, d, created_at, expires_at, json)
		SELECT ?1, ?2, ?3, id, pubkey, kind, d, created_at, expires_at, json FROM `+table+` WHERE seq = ?4`,
		s.o.Name, s.w.Now, column.Bool(isHead), seq)
	return err
}
