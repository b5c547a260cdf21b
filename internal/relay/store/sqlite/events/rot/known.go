package rot

import (
	"context"
	"encoding/hex"
	"log/slog"
	"sync"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/record"
)

// Bounds of what is remembered, and of those whose id is looked for in all of an
// index.
const (
	mostKnown  = 10_000
	mostSought = 100
	mostWhole  = 1_000 // of which the event is remembered
)

// Known is which rows are known to be rotten. It is forgotten with the process:
// who reads them again, or the scrub, finds them again.
type Known struct {
	Log   *slog.Logger
	Found func() // is told of each that is new; may be nil

	mu   sync.Mutex
	rows map[Place]*Row
}

// Place is where a row lies.
type Place struct {
	Table string // events or history
	Seq   int64
}

const (
	sqlEntry = `SELECT class, kind, (SELECT key FROM pubkeys WHERE num = author) FROM events INDEXED BY events_author WHERE author NOT NULL AND +seq = ?`
	sqlNamed = `SELECT (SELECT key FROM pubkeys WHERE num = value) FROM tags WHERE name = 'p' AND typeof(value) = 'integer' AND seq = ?`
)

// Complete finds out by indexes what a rotten row does not tell of itself any
// more. They have to be gone through.
func (r *Row) Complete(c *engine.Conn) error {
	if r.ID == "" {
		id, err := c.Blob("SELECT id FROM "+r.Table+" INDEXED BY "+r.Table+"_id WHERE id NOT NULL AND +seq = ?", r.Seq)
		if err != nil {
			return err
		}
		r.ID = hex.EncodeToString(id)
	}
	if r.classes != nil || r.Table == "history" {
		return nil
	}
	entry, err := c.One(sqlEntry, r.Seq)
	if err != nil || entry == nil {
		return err
	}
	r.classes, r.kind, r.author = []gate.Class{record.StoredClass(entry[0])}, int(entry.Int(1)), entry.Hex(2)
	return c.Query(context.Background(), sqlNamed, []engine.Value{r.Seq}, func(v engine.Row) error {
		r.named = append(r.named, v.Hex(0))
		return nil
	})
}

// Note remembers a rotten row, and says so once.
func (k *Known) Note(c *engine.Conn, r *Row) {
	at := Place{r.Table, r.Seq}
	k.mu.Lock()
	known, n := k.rows[at], len(k.rows)
	k.mu.Unlock()
	if known != nil {
		*r = *known
		return
	}
	if n < mostSought {
		if err := r.Complete(c); err != nil {
			k.Log.Debug("a damaged row is not in all indexes", "err", err)
		}
	}
	if n >= mostKnown {
		return
	}
	kept := *r
	if n >= mostWhole {
		kept.Record = nil
	}
	k.mu.Lock()
	if k.rows == nil {
		k.rows = map[Place]*Row{}
	}
	_, old := k.rows[at]
	k.rows[at] = &kept
	k.mu.Unlock()
	if old {
		return
	}
	k.Log.Error("a stored event is damaged: it is not given out, and whoever sends it again heals it", "table", r.Table, "row", r.Seq, "id", r.ID)
	if k.Found != nil {
		k.Found()
	}
}

// Whole are known rows whose event is whole: something beside it is rotten, by
// which lists may pass it over.
func (k *Known) Whole() (list []*Row) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, r := range k.rows {
		if r.Record != nil && r.Table == "events" {
			list = append(list, r)
		}
	}
	return list
}

// Gone forgets a row that was healed or removed.
func (k *Known) Gone(table string, seq int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.rows, Place{table, seq})
}

// Has reports whether a row is known to be rotten.
func (k *Known) Has(table string, seq int64) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, has := k.rows[Place{table, seq}]
	return has
}

// Count is how many are known.
func (k *Known) Count() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.rows)
}
