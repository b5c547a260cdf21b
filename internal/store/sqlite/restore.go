package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/gate"
	"engramd/internal/store"
)

// Restoration is a snapshot's events on their way into the store. They are staged first, beside other writers, and then
// switched in by one transaction: readers see the old state or the new one. Use it from one goroutine.
type Restoration struct {
	s     *Store
	o     RestoreOptions
	num   int64
	agent []byte
	batch []stagedRow
	size  int
}

type stagedRow struct {
	part Part
	rec  *record
}

// restorations says what restores of one store do. Who changes what readers see sets active before, and done before active
// is cleared.
type restorations struct {
	last   atomic.Int64 // number given to a Restoration
	active atomic.Int64 // switches under way
	done   atomic.Int64 // switches that took effect, ever; the table meta has it too
}

// stageBytes is how much JSON one transaction stages: some milliseconds.
const stageBytes = 256 << 10

// BeginRestore starts staging. End it with Switch or Drop; a process that dies leaves nothing.
func (s *Store) BeginRestore(o RestoreOptions) (store.Restoration, error) {
	agent, ok := lowerHex32(o.Agent)
	if !ok {
		return nil, errors.New("restore: the agent is no pubkey")
	}
	if o.Mode == Rollback && o.Name == "" {
		return nil, errors.New("restore: a rollback needs a name")
	}
	return &Restoration{s: s, o: o, num: s.restores.last.Add(1), agent: agent}, nil
}

// Add stages one event of the snapshot. It must have been checked as for Begin; an event given twice counts once.
func (r *Restoration) Add(ctx context.Context, p Part, ev *nostr.Event) error {
	rec, err := newRecord(ev, r.s.table.Load().Classify(ev))
	if err != nil {
		return err
	}
	r.batch = append(r.batch, stagedRow{part: p, rec: rec})
	if r.size += len(rec.json); r.size < stageBytes {
		return nil
	}
	return r.Flush(ctx)
}

const sqlStage = `INSERT OR IGNORE INTO staged(restore, part, created_at, id, kind, pubkey, d, json) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`

// Flush writes to disk what Add collected. Switch does it too.
func (r *Restoration) Flush(ctx context.Context) error {
	rows := r.batch
	r.batch, r.size = nil, 0
	return r.s.do(ctx, func(w *writer) error {
		for _, row := range rows {
			_, err := w.exec(sqlStage, r.num, int64(applyOrder(row.part)), row.rec.created, row.rec.id, int64(row.rec.ev.Kind),
				row.rec.pubkey, row.rec.d, row.rec.json)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// applyOrder is when a part is applied: what blocks others first, then versions before the heads that superseded them.
func applyOrder(p Part) int {
	switch p {
	case Deletions:
		return 0
	case Versions:
		return 1
	case Heads:
		return 2
	case Relays:
		return 3
	default:
		return 4
	}
}

// Drop forgets what was staged. It does nothing after Switch.
func (r *Restoration) Drop(ctx context.Context) error {
	r.batch = nil
	for more := true; more; {
		err := r.s.do(ctx, func(w *writer) error {
			n, err := w.exec(sqlUnstage+" WHERE restore = ? LIMIT ?)", r.num, int64(sweepChunk))
			more = n >= sweepChunk
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

const sqlUnstage = `DELETE FROM staged WHERE (restore, part, created_at, id) IN (SELECT restore, part, created_at, id FROM staged`

// sweepStaged removes some of what a process left in staging that is gone, and reports whether there may be more.
func (w *writer) sweepStaged() (more bool, err error) {
	n, err := w.exec(sqlUnstage+" LIMIT ?)", int64(sweepChunk))
	return n >= sweepChunk, err
}

// Switch makes what was staged the state that readers see, in one transaction, and removes it from staging. Other writers
// wait for that transaction, about 25 µs for each event that is new here.
func (r *Restoration) Switch(ctx context.Context) (Restored, error) {
	var out Restored
	if err := r.Flush(ctx); err != nil {
		return out, err
	}
	err := r.s.switchState(ctx, func(w *writer) error {
		sw := &switching{w: w, r: r}
		err := sw.run()
		out = sw.done
		return err
	})
	if err != nil {
		return Restored{}, fmt.Errorf("restore: %w", err)
	}
	return out, r.Drop(ctx)
}

const metaRestores = "restores"

// switchState runs work that puts the agent's memory into another state at once, and then shows it to live readers.
func (s *Store) switchState(ctx context.Context, work func(*writer) error) error {
	s.restores.active.Add(1)
	defer s.restores.active.Add(-1)
	return s.do(ctx, func(w *writer) error {
		from, count := w.seq, s.restores.done.Load()+1
		if err := w.setMeta(metaRestores, count); err != nil {
			return err
		}
		if err := work(w); err != nil {
			return err
		}
		w.after(func() {
			s.restores.done.Store(count)
			w.announce(from, w.seq)
		})
		return nil
	})
}

// countRestores reads the count of restores at open.
func (w *writer) countRestores() error {
	n, err := w.c.number(`SELECT value FROM meta WHERE key = ?`, metaRestores)
	w.s.restores.done.Store(n)
	return err
}

// Restores counts the restores and rollbacks that took effect. Who reads an answer in several pages takes it before the
// first one.
func (s *Store) Restores() int64 { return s.restores.done.Load() }

// RestoredSince reports, after a page was read, whether the page may be of a later state than before: a restore took
// effect since Restores was called. It may be asked by everybody and tells of no event. Errors are as of Query.
func (s *Store) RestoredSince(ctx context.Context, before int64) (bool, error) {
	if s.restores.done.Load() != before {
		return true, nil
	}
	if s.restores.active.Load() == 0 && s.restores.done.Load() == before {
		return false, nil
	}
	// One is under way. Whether it has taken effect, only the database knows.
	var now int64
	err := s.read(ctx, lookUp, func(_ context.Context, c *conn) (err error) {
		now, err = c.number(`SELECT value FROM meta WHERE key = ?`, metaRestores)
		return err
	})
	return now != before, err
}

// announce gives what a restore stored to OnCommit, after the commit and in pieces, so that a large one takes no more
// memory than a small one.
func (w *writer) announce(after, last int64) {
	for after < last {
		var piece []Committed
		err := w.c.query(context.Background(), sqlAnnounce, []driver.Value{after, last, int64(sweepChunk)}, func(row []driver.Value) error {
			after = row[0].(int64)
			json, class := row[1].([]byte), gate.Class(row[2].(int64))
			ev, err := parsed(json)
			if err != nil {
				return err
			}
			piece = append(piece, Committed{Event: ev, JSON: json, Seq: after, Class: class})
			return nil
		})
		if err != nil {
			w.s.log.Error("restored events were not sent to live readers", "err", err)
			return
		}
		if len(piece) == 0 {
			return
		}
		w.s.onCommit(piece)
	}
}

const sqlAnnounce = `SELECT seq, json, class FROM events WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?`
