// Package restore brings snapshots back: events are staged beside other writers and
// switched in at once, and what a rollback takes away lies in quarantine.
package restore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/apply"
	"engramd/internal/relay/store/sqlite/events/record"
)

// Restoration is a snapshot's events on their way into the store. They are
// staged first, beside other writers, and then switched in by one transaction:
// readers see the old state or the new one. Use it from one goroutine.
type Restoration struct {
	of    *Restorer
	o     store.RestoreOptions
	num   int64
	batch []store.Staged
	size  int
}

// Restorer begins restores of one store, and says what they do. Who changes what
// readers see sets active before, and done before active is cleared.
type Restorer struct {
	DB     *engine.DB
	Order  store.Orders
	Table  *gate.Table
	last   atomic.Int64 // number given to a Restoration
	active atomic.Int64 // switches under way
	done   atomic.Int64 // switches that took effect, ever; the table meta has it too
}

// stageBytes is how much JSON one transaction stages: some milliseconds.
const stageBytes = 256 << 10

// BeginRestore starts staging. End it with Switch or Drop; a process that dies
// leaves nothing.
func (r *Restorer) BeginRestore(o store.RestoreOptions) (store.Restoration, error) {
	if _, ok := column.Hex32(o.Agent); !ok {
		return nil, errors.New("restore: the agent is no pubkey")
	}
	if o.Mode == store.Rollback && o.Name == "" {
		return nil, errors.New("restore: a rollback needs a name")
	}
	return &Restoration{of: r, o: o, num: r.last.Add(1)}, nil
}

// Add stages one event of the snapshot. It must have been checked as for Begin;
// an event given twice counts once.
func (r *Restoration) Add(ctx context.Context, p store.Part, ev *nostr.Event) error {
	rec, err := record.New(ev, r.of.Table.Classify(ev))
	if err != nil {
		return err
	}
	r.batch = append(r.batch, store.Staged{Part: p, Event: rec.JSON})
	if r.size += len(rec.JSON); r.size < stageBytes {
		return nil
	}
	return r.Flush(ctx)
}

const sqlStage = `INSERT OR IGNORE INTO staged(restore, part, created_at, id, kind, pubkey, d, json) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`

// Flush writes to disk what Add collected. Switch does it too.
func (r *Restoration) Flush(ctx context.Context) error {
	rows := r.batch
	r.batch, r.size = nil, 0
	return r.of.Order.Tell(ctx, store.Stage{Restore: r.num, Events: rows})
}

// Writer is the part of it that writes.
type Writer struct {
	Events   *apply.Writer
	Of       *Restorer
	OnCommit func([]store.Committed)
}

// StageEvents stores what Add collected.
func (w *Writer) StageEvents(c store.Stage) error {
	for _, row := range c.Events {
		r, err := record.Parse(row.Event, w.Events.Table)
		if err != nil {
			return err
		}
		_, err = w.Events.Exec(sqlStage, c.Restore, int64(applyOrder(row.Part)), r.Created, r.ID, int64(r.Event.Kind), r.Pubkey, r.D, r.JSON)
		if err != nil {
			return err
		}
	}
	return nil
}

// applyOrder is when a part is applied: what blocks others first, then versions
// before the heads that superseded them.
func applyOrder(p store.Part) int {
	order := []store.Part{store.Deletions, store.Versions, store.Heads, store.Relays}
	if at := slices.Index(order, p); at >= 0 {
		return at
	}
	return len(order)
}

// Drop forgets what was staged. It does nothing after Switch.
func (r *Restoration) Drop(ctx context.Context) error {
	r.batch = nil
	for more := true; more; {
		var err error
		if more, err = store.Answer[bool](ctx, r.of.Order, store.Unstage{Restore: r.num}); err != nil {
			return err
		}
	}
	return nil
}

const sqlUnstage = `DELETE FROM staged WHERE (restore, part, created_at, id) IN (SELECT restore, part, created_at, id FROM staged`

// Unstage removes some of what was staged for a restore, 0 for all, and reports
// whether there may be more.
func (w *Writer) Unstage(restore int64) (more bool, err error) {
	text, args := sqlUnstage+" LIMIT ?)", []engine.Value{int64(apply.SweepChunk)}
	if restore != 0 {
		text, args = sqlUnstage+" WHERE restore = ? LIMIT ?)", []engine.Value{restore, int64(apply.SweepChunk)}
	}
	n, err := w.Events.Exec(text, args...)
	return n >= apply.SweepChunk, err
}

// Switch makes what was staged the state that readers see, in one transaction,
// and removes it from staging. Other writers wait for that transaction, about
// 25 µs for each event that is new here.
func (r *Restoration) Switch(ctx context.Context) (store.Restored, error) {
	if err := r.Flush(ctx); err != nil {
		return store.Restored{}, err
	}
	out, err := r.of.switchState(ctx, store.SwitchState{Restore: r.num, Options: r.o})
	if err != nil {
		return store.Restored{}, fmt.Errorf("restore: %w", err)
	}
	return out, r.Drop(ctx)
}

// Switch is Restoration.Switch in its transaction.
func (w *Writer) Switch(c store.SwitchState) (store.Restored, error) {
	agent, ok := column.Hex32(c.Options.Agent)
	if !ok {
		return store.Restored{}, errors.New("the agent is no pubkey")
	}
	return w.switchState(&switching{w: w, staged: true, num: c.Restore, agent: agent, o: c.Options}, (*switching).run)
}

const metaRestores = "restores"

// switchState has a command executed that puts an agent's memory into another
// state at once.
func (r *Restorer) switchState(ctx context.Context, c store.Command) (store.Restored, error) {
	defer r.switching()()
	return store.Answer[store.Restored](ctx, r.Order, c)
}

func (r *Restorer) switching() (done func()) {
	r.active.Add(1)
	return func() { r.active.Add(-1) }
}

// Switching says that what readers see is about to change, until done is called.
func (w *Writer) Switching() (done func()) { return w.Of.switching() }

// NumberFrom has restores numbered from n on.
func (w *Writer) NumberFrom(n int64) { w.Of.last.Store(n) }

// switchState runs that work, and then shows the state to live readers.
func (w *Writer) switchState(sw *switching, work func(*switching) error) (store.Restored, error) {
	from, count := w.Events.Seq, w.Of.done.Load()+1
	if err := w.Events.SetMeta(metaRestores, count); err != nil {
		return store.Restored{}, err
	}
	if err := work(sw); err != nil {
		return store.Restored{}, err
	}
	w.Events.After(func() {
		w.Of.done.Store(count)
		w.announce(from, w.Events.Seq)
	})
	return sw.done, nil
}

// Open reads the count of restores at open.
func (w *Writer) Open() error {
	n, err := w.Events.Conn().Number(engine.SQLMeta, metaRestores)
	w.Of.done.Store(n)
	return err
}

// Restores counts the restores and rollbacks that took effect. Who reads an
// answer in several pages takes it before the first one.
func (r *Restorer) Restores() int64 { return r.done.Load() }

// RestoredSince reports, after a page was read, whether the page may be of a
// later state than before: a restore took effect since Restores was called. It
// may be asked by everybody and tells of no event. Errors are as of Query.
func (r *Restorer) RestoredSince(ctx context.Context, before int64) (bool, error) {
	if r.done.Load() != before {
		return true, nil
	}
	if r.active.Load() == 0 && r.done.Load() == before {
		return false, nil
	}
	// One is under way. Whether it has taken effect, only the database knows.
	now, err := engine.Look(ctx, r.DB, (*engine.Conn).Number, engine.SQLMeta, metaRestores)
	return now != before, err
}

// announce gives what a restore stored to OnCommit, after the commit and in
// pieces, so that a large one takes no more memory than a small one.
func (w *Writer) announce(after, last int64) {
	for after < last {
		var piece []store.Committed
		err := w.Events.Conn().Query(context.Background(), sqlAnnounce, []engine.Value{after, last, int64(apply.SweepChunk)}, func(row engine.Row) error {
			after = row[0].(int64)
			json, class := row[1].([]byte), gate.Class(row[2].(int64))
			ev, err := column.Event(json)
			if err != nil {
				return err
			}
			piece = append(piece, store.Committed{Event: ev, JSON: json, Seq: after, Class: class})
			return nil
		})
		if err != nil {
			w.Events.Logger.Error("restored events were not sent to live readers", "err", err)
			return
		}
		if len(piece) == 0 {
			return
		}
		w.OnCommit(piece)
	}
}

const sqlAnnounce = `SELECT seq, json, class FROM events WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?`
