package engine

import (
	"errors"
	"os"
	"time"
)

// The write-ahead log is begun anew when all of it is in the database file and
// nobody reads from it any more. While reads overlap without a gap that never
// happens, and the log would grow for ever. So beyond a size nobody begins a
// scan for a moment, those that are under way are given some time and then
// ended, and the log is written back.
const (
	defaultMaxLog = 128 << 20
	logPatience   = 100 * time.Millisecond // how long scans may go on
	logPause      = time.Second            // between two attempts, and twice as long each time one fails
	longestPause  = time.Minute
	commitsToLook = 16 // between two looks at the log's size: 64 MiB at the most
)

// keeper keeps the log small.
type keeper struct {
	db      *DB
	c       *Conn           // the one that writes
	cleared <-chan struct{} // while an attempt is under way: closed when no scan is
	resume  func()
	next    time.Time // no attempt before
	backoff time.Duration
	commits int // since its size was looked at
	rest        // what is done when there is nothing to do
}

// look begins an attempt when the log is too large. The operator's own work
// on the whole database is waited for.
func (k *keeper) look() {
	if k.cleared != nil || k.db.whole.Load() > 0 {
		return
	}
	if k.commits++; k.commits < commitsToLook {
		return
	}
	k.commits = 0
	info, err := os.Stat(k.db.path + "-wal")
	if err != nil || info.Size() <= k.db.o.MaxLogBytes || time.Now().Before(k.next) {
		return
	}
	k.cleared, k.resume = k.db.readers.turns.Clear(logPatience)
}

// clear writes the log back, between two scans.
func (k *keeper) clear() {
	err := k.within("100", "TRUNCATE")
	k.resume()
	k.cleared, k.resume = nil, nil
	if k.backoff = min(2*k.backoff, longestPause); err == nil || k.backoff == 0 {
		k.backoff = logPause
	}
	k.next = time.Now().Add(k.backoff)
	if err != nil && !errors.Is(err, errHeld) {
		k.db.o.Log.Warn("the write-ahead log could not be written back to the database", "err", err)
		return
	}
	k.db.o.Log.Info("scans were held up, because overlapping reads kept the log from being written back", "done", err == nil)
	if err == nil {
		k.since = time.Time{}
		k.db.writer.marks.note()
	}
}

// writeBack brings a log that was found at the start into the database, before
// anything is written behind it. Commits in it may never have become durable:
// after a sync that failed the kernel has them still, and takes them for written.
// What is acknowledged behind them would be lost with them.
func writeBack(c *Conn) error {
	err := c.Script("PRAGMA busy_timeout=100") // others may read
	if err == nil {
		err = c.Script("PRAGMA wal_checkpoint(TRUNCATE)")
	}
	return errors.Join(err, c.Script("PRAGMA busy_timeout=10000"))
}
