package engine

import (
	"context"
	"errors"
	"os"
	"sync"

	"engramd/internal/relay/fairness"
	"engramd/internal/relay/store"
)

// Effort says what a read is expected to take, by what is asked.
type Effort int

// A LookUp is of a few rows through an index, and may use what is kept for such;
// a Scan is anything else.
const (
	LookUp Effort = iota
	Scan
)

// String is what the observer is told.
func (e Effort) String() string {
	if e == LookUp {
		return "look_up"
	}
	return "scan"
}

// Bounds of the connections for reading.
const (
	wholePerTurn = 2       // of them, how many may be lent to counts and searches
	extraCache   = 2 << 20 // bytes of page cache of the connections beyond one for each turn
	extraStmts   = 32      // prepared statements of such a connection
)

// readers lends read connections: one for each turn is opened with the store,
// more when those are lent.
type readers struct {
	path  string
	cache int64
	maps  int64 // bytes of the file that are mapped
	turns *fairness.Turns
	whole *fairness.Turns // of reads that cannot be interrupted and taken up again

	pacing Pacing

	mu    sync.Mutex
	idle  []*Conn // the extra ones first
	n     int     // turns, and connections that stay open
	main  int     // those of them that are open
	lent  int
	empty chan struct{} // gets a token when a connection comes back and none is lent
}

// openReaders opens a connection for each of n turns.
func openReaders(path string, n int, cache, maps int64, p Pacing) (*readers, error) {
	r := &readers{path: path, cache: cache, maps: maps, n: n, empty: make(chan struct{}, 1), pacing: p.complete(n)}
	r.turns = fairness.NewTurns(n, keptTurns(n)).Bound(r.pacing.Most, r.pacing.Grace).Forgive(debt)
	r.whole = fairness.NewTurns(wholePerTurn*n, max(1, n/2)).Forgive(debt)
	for range n {
		c, err := r.connect(false)
		if err != nil {
			return nil, errors.Join(err, r.close())
		}
		r.idle = append(r.idle, c)
		r.main++
	}
	return r, nil
}

// keptTurns is how many of n turns only look-ups get: more scans at a time than
// there are processors get nothing done sooner, and keep all else waiting.
func keptTurns(n int) int { return max(min(n-1, 1+n/8), n-fairness.Processors()) }

// ThreadsInC is how many threads of a store with so many readers may be in
// SQLite for long: those of scans, and the writer's.
func ThreadsInC(readers int) int { return readers - keptTurns(readers) + 1 }

func (r *readers) connect(extra bool) (*Conn, error) {
	cache := r.cache
	if extra {
		cache = extraCache
	}
	dsn, pragmas := readerPragmas(cache, r.maps)
	c, err := connect(r.path, dsn, pragmas)
	if err != nil {
		return nil, err
	}
	if c.extra = extra; extra {
		c.limit = extraStmts
	}
	if err := watched(c, r.pacing.Every); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// get lends a connection to who has a turn.
func (r *readers) get() (*Conn, error) {
	r.mu.Lock()
	r.lent++
	if n := len(r.idle); n > 0 {
		c := r.idle[n-1]
		r.idle = r.idle[:n-1]
		r.mu.Unlock()
		return c, nil
	}
	extra := r.main >= r.n
	if !extra {
		r.main++
	}
	r.mu.Unlock()
	c, err := r.connect(extra)
	if err != nil {
		r.mu.Lock()
		r.lent--
		if !extra {
			r.main--
		}
		r.mu.Unlock()
	}
	return c, err
}

// put takes a connection back. As many extra ones as there are turns are kept
// for the next time.
func (r *readers) put(c *Conn) {
	r.mu.Lock()
	r.lent--
	switch {
	case !c.db.AutoCommit(): // its transaction could not be ended: another one is opened in its place
		if !c.extra {
			r.main--
		}
	case !c.extra:
		r.idle, c = append(r.idle, c), nil
	case len(r.idle) < r.n:
		r.idle, c = append([]*Conn{c}, r.idle...), nil
	}
	if r.lent == 0 {
		select {
		case r.empty <- struct{}{}:
		default:
		}
	}
	r.mu.Unlock()
	if c != nil {
		c.Close() // it only read: an error changes nothing
	}
}

// close waits until every connection is given back and closes it. The store has
// made sure that no new loans start.
func (r *readers) close() error {
	r.turns.Close()
	r.whole.Close()
	for {
		r.mu.Lock()
		lent, idle := r.lent, r.idle
		if lent == 0 {
			r.idle = nil
			r.mu.Unlock()
			var err error
			for _, c := range idle {
				err = errors.Join(err, c.Close())
			}
			return err
		}
		r.mu.Unlock()
		<-r.empty
	}
}

// Space looks at the file, on a connection of its own: it answers also when all
// readers are busy.
func (db *DB) Space(ctx context.Context) (out store.Space, err error) {
	_, out.WAL = db.Sizes()
	err = db.Whole(ctx, func(_ context.Context, c *Conn) error {
		size, err := c.Number("PRAGMA page_size")
		if err != nil {
			return err
		}
		pages, err := c.Number("PRAGMA page_count")
		if err != nil {
			return err
		}
		free, err := c.Number("PRAGMA freelist_count")
		out.Database, out.Free = pages*size, free*size
		return err
	})
	return out, err
}

// Sizes reports the size in bytes of the database file and of its write-ahead
// log.
func (db *DB) Sizes() (database, wal int64) {
	size := func(path string) int64 {
		info, err := os.Stat(path)
		if err != nil {
			return 0
		}
		return info.Size()
	}
	return size(db.path), size(db.path + "-wal")
}

// Reads says how busy the readers are.
func (db *DB) Reads() store.Reads {
	t := db.readers.turns
	return store.Reads{Waiting: t.Waiting() + db.readers.whole.Waiting(), UnderWay: t.UnderWay(), Yields: t.Yields(), Ended: t.Ended()}
}

// Recent returns how fast commits were, and the slowest top reads.
func (db *DB) Recent(top int) store.Recent { return db.recent.told(top) }

// ReadDone notes one call of a read method.
func (db *DB) ReadDone(read store.SlowRead) { db.recent.read(read) }
