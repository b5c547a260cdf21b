package events

import (
	"context"
	"errors"
	"math"
	"time"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/apply"
	"engramd/internal/relay/store/sqlite/events/record"
	"engramd/internal/relay/store/sqlite/events/rot"
)

// scrubber goes through all rows, so that rot is found that nobody asks for, and
// gives rows from before there were sums theirs, once id and signature were
// verified. It works for this database alone: none of it is a command.
type scrubber struct {
	s  *Store
	at int64 // the number that was looked at last; -1 before the first

	cancel  context.CancelFunc // nil when it is not started
	stopped chan struct{}
}

// The whole database is read once a week, in pieces of so many rows or bytes at
// least. Rows without sums come first, and faster.
const (
	scrubEvery = time.Minute
	scrubSteps = int64(7 * 24 * time.Hour / scrubEvery)
	scrubRows  = 64
	scrubBytes = 4 << 20
	sumEvery   = time.Second
	sumRows    = 256

	// metaSums is up to which number every row has a sum, or was found rotten.
	metaSums = "ready.sums"
	allSums  = int64(math.MaxInt64)
)

// sqlScrub is rows of both tables by number.
var sqlScrub = `SELECT 0, e.seq, e.json, ` + column.Sound("events", "e") + `, e.class FROM events AS e WHERE e.seq > ?1
	UNION ALL SELECT 1, h.seq, h.json, ` + column.Sound("history", "h") + `, h.class FROM history AS h WHERE h.seq > ?1 ORDER BY 2 LIMIT ?2`

func (b *scrubber) start(after func(time.Duration) <-chan time.Time) {
	ctx, cancel := context.WithCancel(context.Background())
	b.cancel, b.stopped = cancel, make(chan struct{})
	go func() {
		defer close(b.stopped)
		for wait := scrubEvery; ; {
			select {
			case <-ctx.Done():
				return
			case <-after(wait):
			}
			more, err := b.step(ctx)
			if wait = scrubEvery; more && err == nil {
				wait = sumEvery
			}
			if err != nil && ctx.Err() == nil && !errors.Is(err, store.ErrEnded) && !errors.Is(err, store.ErrTimeout) {
				b.s.o.Log.Error("looking for damaged events failed", "err", err)
			}
		}
	}()
}

func (b *scrubber) stop() {
	if b.cancel != nil {
		b.cancel()
		<-b.stopped
	}
}

// step looks at the next piece and reports whether rows without sums may be left.
func (b *scrubber) step(ctx context.Context) (more bool, err error) {
	summed, err := engine.Look(ctx, b.s.db, (*engine.Conn).Number, engine.SQLMeta, metaSums)
	if err != nil {
		return false, err
	}
	from, rows, bytes := b.at, int64(sumRows), int64(scrubBytes)
	if more = summed != allSums; more {
		from = summed
	} else {
		if from < 0 { // where it would be if it had not been stopped
			week := int64(scrubEvery/time.Second) * scrubSteps
			from = b.s.LastSeq() / week * (b.s.o.Clock().Unix() % week)
		}
		size, _ := b.s.db.Sizes()
		rows, bytes = max(scrubRows, b.s.LastSeq()/scrubSteps+1), max(bytes, 2*size/scrubSteps)
	}
	piece, err := b.look(ctx, from, rows, bytes)
	if err != nil {
		return false, err
	}
	if !more {
		b.at = piece.last
	}
	if !more && len(piece.mend) == 0 {
		return false, nil
	}
	return more, b.s.apart(ctx, func(w *writer) error { return piece.write(w, more) })
}

// piece is what was found out about some rows.
type piece struct {
	last int64 // their last number; 0 when there were none
	sums []scrubbed
	mend []scrubbed // what indexes lack of them
}

// scrubbed is a row that is sound.
type scrubbed struct {
	rot.Place
	json []byte
	rec  *record.Record
}

// look reads and judges a piece.
func (b *scrubber) look(ctx context.Context, from, rows, bytes int64) (p piece, err error) {
	err = b.s.db.Read(ctx, engine.Scan, func(ctx context.Context, c *engine.Conn) error {
		p = piece{}
		return c.Query(ctx, sqlScrub, []engine.Value{from, rows}, func(v engine.Row) error {
			one := scrubbed{Place: rot.Place{Table: "events", Seq: v.Int(1)}, json: v.Blob(2)}
			if v.Int(0) == 1 {
				one.Table = "history"
			}
			p.last = one.Seq
			if err := b.judge(c, &p, one, v[3], v[4]); err != nil {
				return err
			}
			if bytes -= int64(len(one.json)); bytes <= 0 {
				return engine.ErrStop
			}
			return nil
		})
	})
	return p, err
}

func (b *scrubber) judge(c *engine.Conn, p *piece, one scrubbed, sound, class engine.Value) error {
	ev, parsed := column.Event(one.json)
	summed := sound == engine.Value(int64(1))
	if parsed != nil || !summed {
		row, err := rot.Look(c, b.s.o.Table, one.Table, one.Seq)
		if err != nil || row == nil {
			return err
		}
		if row.Rotten || parsed != nil || wire.Verify(ev) != nil {
			b.s.rot.Note(c, row)
			return nil
		}
	}
	rec, err := record.New(ev, record.StoredClass(class))
	if err != nil {
		return err
	}
	if one.rec = rec; !summed {
		p.sums = append(p.sums, one)
	}
	whole, err := apply.Indexed(c, one.Table, one.Seq, rec)
	if err == nil && !whole {
		b.s.o.Log.Error("an index lacked a stored event, and has it again: distrust the disk", "table", one.Table, "row", one.Seq)
		p.mend = append(p.mend, one)
	}
	return err
}

// write gives rows their sums and indexes what they lack.
func (p *piece) write(w *writer, summing bool) error {
	for _, one := range p.sums {
		_, err := w.Exec("UPDATE "+one.Table+" SET sum = "+column.SumOf(one.Table, one.Table)+" WHERE seq = ? AND sum IS NULL AND json = ?", one.Seq, one.json)
		if err != nil {
			return err
		}
	}
	for _, one := range p.mend {
		if err := w.Reindex(one.Table, one.Seq, one.rec); err != nil {
			return err
		}
	}
	if !summing {
		return nil
	}
	if p.last == 0 {
		p.last = allSums
	}
	return w.SetMeta(metaSums, p.last)
}
