package rot

import (
	"cmp"
	"log/slog"
	"sync"

	"engramd/internal/relay/store/sqlite/engine"
)

// Bounds of what is remembered, and of those whose id is looked for in all of an
// index.
const (
	mostKnown  = 10_000
	mostSought = 100
)

// Known is which rows are known to be rotten. It is forgotten with the process:
// who reads them again, or the scrub, finds them again.
type Known struct {
	Log   *slog.Logger
	Found func() // is told of each that is new; may be nil

	mu   sync.Mutex
	rows map[Place]string // ids
}

// Place is where a row lies.
type Place struct {
	Table string // events or history
	Seq   int64
}

// Identify completes the id of a row whose JSON does not tell it: its index does,
// which has to be gone through.
func (k *Known) Identify(c *engine.Conn, r *Row) {
	k.mu.Lock()
	id := k.rows[Place{r.Table, r.Seq}]
	k.mu.Unlock()
	if r.ID = cmp.Or(r.ID, id); r.ID != "" {
		return
	}
	row, err := c.One("SELECT id FROM "+r.Table+" INDEXED BY "+r.Table+"_id WHERE id NOT NULL AND +seq = ?", r.Seq)
	if err == nil && row != nil {
		r.ID = row.Hex(0)
	}
}

// Note remembers a rotten row, and says so once.
func (k *Known) Note(c *engine.Conn, r *Row) {
	at := Place{r.Table, r.Seq}
	k.mu.Lock()
	id, old := k.rows[at]
	n := len(k.rows)
	k.mu.Unlock()
	switch {
	case old:
		r.ID = cmp.Or(r.ID, id)
		return
	case n < mostSought:
		k.Identify(c, r)
	}
	k.mu.Lock()
	if _, old = k.rows[at]; !old && n < mostKnown {
		if k.rows == nil {
			k.rows = map[Place]string{}
		}
		k.rows[at] = r.ID
	}
	k.mu.Unlock()
	if old || n >= mostKnown {
		return
	}
	k.Log.Error("a stored event is damaged: it is not given out, and whoever sends it again heals it", "table", r.Table, "row", r.Seq, "id", r.ID)
	if k.Found != nil {
		k.Found()
	}
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
