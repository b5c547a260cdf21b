package engine

import (
	"errors"
	"sync"

	"engramd/internal/relay/fairness"
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
func openReaders(path string, n int, cache int64, p Pacing) (*readers, error) {
	r := &readers{path: path, cache: cache, n: n, empty: make(chan struct{}, 1), pacing: p.complete(n)}
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
	dsn, pragmas := readerPragmas(cache)
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
