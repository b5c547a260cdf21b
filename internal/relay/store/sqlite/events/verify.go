package events

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/schnorr/batch"
	"engramd/internal/protocol/wire"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/rot"
)

// stored is an event that is verified.
type stored struct {
	rot.Place
	json  []byte
	sound engine.Value // as column.Sound has it
}

// Verify reads every event and version and checks its sum, its id and its
// signature, on all cores. It tells which are rotten and how many there are. The
// database may be of an older version.
func (s *Store) Verify(ctx context.Context) (n int64, rotten []store.Damaged, err error) {
	err = s.db.Whole(ctx, func(ctx context.Context, c *engine.Conn) error {
		v := verifying{work: make(chan []stored, 2*runtime.GOMAXPROCS(0))}
		if err := v.all(ctx, c); err != nil {
			return err
		}
		n = v.n
		for _, place := range v.wrong {
			row, err := rot.Look(c, s.o.Table, place.Table, place.Seq)
			switch {
			case err != nil && v.old:
				rotten = append(rotten, store.Damaged{Seq: place.Seq})
			case err != nil:
				return err
			case row != nil:
				if err := row.Complete(c); err != nil {
					return err
				}
				rotten = append(rotten, row.Damaged())
			}
		}
		return nil
	})
	return n, rotten, err
}

// verifying is one Verify.
type verifying struct {
	n          int64
	old        bool // the database has no sums
	work       chan []stored
	signatures wire.Verifier

	mu    sync.Mutex
	wrong []rot.Place
}

// verifyAtOnce is how many events a core takes, and verifyBytes how much JSON.
const (
	verifyAtOnce = 512
	verifyBytes  = 1 << 20
)

func (v *verifying) all(ctx context.Context, c *engine.Conn) error {
	var cores sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		cores.Go(func() {
			for list := range v.work {
				v.check(list)
			}
		})
	}
	err := v.read(ctx, c)
	close(v.work)
	cores.Wait()
	slices.SortFunc(v.wrong, func(a, b rot.Place) int {
		return cmp.Or(cmp.Compare(a.Table, b.Table), cmp.Compare(a.Seq, b.Seq))
	})
	return err
}

// read reads all rows in pieces.
func (v *verifying) read(ctx context.Context, c *engine.Conn) error {
	has, err := c.Exists(`SELECT 1 FROM pragma_table_info('events') WHERE name = 'sum'`)
	if err != nil {
		return err
	}
	v.old = !has
	for _, table := range []string{"events", "history"} {
		sound := column.Sound(table, table)
		if v.old {
			sound = "NULL"
		}
		var list []stored
		bytes := 0
		flush := func() {
			if len(list) > 0 {
				v.work <- list
				list, bytes = nil, 0
			}
		}
		err := c.Query(ctx, "SELECT seq, json, "+sound+" FROM "+table+" NOT INDEXED", nil, func(row engine.Row) error {
			v.n++
			list = append(list, stored{rot.Place{Table: table, Seq: row.Int(0)}, row.Blob(1), row[2]})
			if bytes += len(row.Blob(1)); len(list) >= verifyAtOnce || bytes >= verifyBytes {
				flush()
			}
			return nil
		})
		flush()
		if err != nil {
			return err
		}
	}
	return nil
}

// check checks some events.
func (v *verifying) check(list []stored) {
	var wrong []rot.Place
	var all []*nostr.Event
	var places []rot.Place
	for _, one := range list {
		ev, err := column.Event(one.json)
		if err != nil || one.sound == engine.Value(int64(0)) {
			wrong = append(wrong, one.Place)
			continue
		}
		all, places = append(all, ev), append(places, one.Place)
	}
	for i, err := range v.signatures.VerifyAll(all, batch.Hold) {
		if err != nil {
			wrong = append(wrong, places[i])
		}
	}
	v.mu.Lock()
	v.wrong = append(v.wrong, wrong...)
	v.mu.Unlock()
}

// Rotten is how many rows are known to be rotten.
func (s *Store) Rotten() int { return s.rot.Count() }
