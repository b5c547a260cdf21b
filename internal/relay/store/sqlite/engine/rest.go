package engine

import (
	"context"
	"errors"
	"time"
)

// What is in the write-ahead log alone is lost with it, and only a log of 33 MB
// is written back by commits: a relay for one person would have its weeks there.
// So it is written back when the writer has nothing to do, on another
// connection: nobody waits for it.
const (
	restAfter = time.Second / 2 // without a commit; readiness is asked for once a second
	restBytes = 1 << 20         // a smaller log is left
	restAge   = time.Hour       // unless what it has alone is older
)

// rest is when the log is written back.
type rest struct {
	since  time.Time     // of the oldest commit that may be in the log alone
	put    time.Duration // how long it is put off; 0: it was not looked at since the last commit
	pause  time.Duration // after the last attempt, if that did not do it
	ending chan error    // of the attempt under way
}

// committed notes a commit.
func (k *keeper) committed() {
	if k.put = 0; k.since.IsZero() {
		k.since = k.db.o.Clock()
	}
}

// idle is how long the writer waits before it looks whether the log is to be
// written back, if it has nothing to do for so long; 0: it does not.
func (k *keeper) idle() time.Duration {
	if k.since.IsZero() || k.ending != nil {
		return 0
	}
	return max(restAfter, k.put)
}

// writeBack begins to write the log back, if it is large or old enough.
func (k *keeper) writeBack() {
	size, err := sizeOf(k.db.path + "-wal")
	if age := k.db.o.Clock().Sub(k.since); err == nil && size <= restBytes && age < restAge && age >= 0 {
		k.put = restAge - age
		return
	}
	k.put = restAge // unless a commit comes, or it fails
	ending := make(chan error, 1)
	k.ending = ending
	go func() { ending <- checkpoint(k.db.path) }()
}

// errHeld means that the log could not be written back because it is read.
var errHeld = errors.New("overlapping reads kept the log from being written back")

// checkpoint writes a log back on a connection of its own, without waiting for
// anybody.
func checkpoint(path string) (err error) {
	c, err := connect(path, writerDSN(), []string{"synchronous=FULL", "trusted_schema=OFF"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	return c.checkpoint("PASSIVE")
}

// checkpoint fails with errHeld unless all of the log was written back.
func (c *Conn) checkpoint(how string) error {
	return c.Query(context.Background(), "PRAGMA wal_checkpoint("+how+")", nil, func(v Row) error {
		if v.Int(0) != 0 || v.Int(1) != v.Int(2) {
			return errHeld
		}
		return nil
	})
}

// wroteBack ends an attempt. It empties the log if nothing was written meanwhile
// and nobody reads from it.
func (k *keeper) wroteBack(err error) {
	k.ending = nil
	if err == nil && k.put != 0 {
		err = k.within("0", "TRUNCATE")
	}
	switch {
	case err == nil && k.put == 0: // what came meanwhile is looked at in its turn
	case err == nil:
		k.since, k.pause = time.Time{}, 0
		k.db.writer.marks.note()
	default:
		if !errors.Is(err, errHeld) {
			k.db.o.Log.Warn("the write-ahead log could not be written back to the database", "err", err)
		}
		k.pause = min(max(2*k.pause, logPause), longestPause)
		k.put = k.pause
	}
}

// within writes the log back, waiting for readers so many milliseconds.
func (k *keeper) within(wait, how string) error {
	err := k.c.Script("PRAGMA busy_timeout=" + wait)
	if err == nil {
		err = k.c.checkpoint(how)
	}
	return errors.Join(err, k.c.Script("PRAGMA busy_timeout=10000"))
}
