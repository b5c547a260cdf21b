package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine/sigbus"
)

// DB is one open database: one writer, several readers.
type DB struct {
	o       Options
	path    string // of the database, or of the copy of an older one
	applier Applier
	queue   *queue
	writer  *Writer
	readers *readers
	recent  recent
	older   int64        // the version of a database that lacks migrations; 0 when none is missing
	scratch *scratch     // where it was copied to; nil when it was not
	whole   atomic.Int64 // reads of the whole database under way, which hold the log
	closing chan struct{}
	stopped chan struct{} // the writer's goroutine ended
	once    sync.Once
	err     error // of Close
}

// New returns a database that is not open yet. What it is told before Open waits
// for that.
func New(o Options) *DB {
	o.Complete()
	return &DB{
		o: o, path: o.Path, closing: make(chan struct{}), stopped: make(chan struct{}),
		queue: newQueue(o.MaxQueue, o.MaxQueueBytes, o.Observe),
	}
}

// Open opens the database, creating it if there is none, applies the migrations
// that are missing, has a prepare it, and starts the writer. The folder must
// exist; the caller holds its Lock. After an error there is nothing to close.
//
// The error is a *LossError when the database is not what it was, and wraps ErrNewer when a newer program wrote the database, ErrForeign
// when it is no engramd database.
func (db *DB) Open(ctx context.Context, a Applier) error {
	db.applier = a
	f, err := db.look()
	if err != nil {
		return err
	}
	if db.o.ReadOnly {
		return db.startReading(ctx)
	}
	if err := createFile(db.path); err != nil {
		return err
	}
	c, err := connect(db.path, writerDSN(), writerPragmas(db.o.CacheBytes))
	if err != nil {
		return err
	}
	if err := db.start(ctx, c, f); err != nil {
		return errors.Join(err, c.Close())
	}
	return nil
}

// start prepares the database on the writer's connection and brings the actors
// up.
func (db *DB) start(ctx context.Context, c *Conn, f found) error {
	if err := migrate(ctx, c, db.path, db.o.Log); err != nil {
		return err
	}
	if err := writeBack(c); err != nil {
		db.o.Log.Warn("the write-ahead log that was found cannot be written back", "err", err)
	}
	w, err := newWriter(ctx, db, c)
	if err != nil {
		return err
	}
	if err := w.marks.open(f); err != nil {
		return err
	}
	if err := db.openReaders(); err != nil {
		return errors.Join(err, w.marks.close())
	}
	db.writer = w
	go w.run(db.o.After)
	return nil
}

func (db *DB) openReaders() (err error) {
	maps := int64(mapped)
	if mark := Unread(db.o.Path); sigbus.Left(mark) {
		maps = 0
		db.o.Log.Warn("a page of the database could not be read when it was last open (SIGBUS): it is read without mmap, which is slower, until engramd check finds it whole", "file", db.o.Path, "mark", mark)
	} else {
		sigbus.Leave(mark, db.o.Path)
	}
	db.readers, err = openReaders(db.path, db.o.Readers, db.o.CacheBytes/4, maps, db.o.Pacing)
	return err
}

// Unread is the file that stands beside a database of which a page could not be read.
func Unread(path string) string { return path + ".unread" }

// startReading opens the readers alone.
func (db *DB) startReading(ctx context.Context) error {
	if _, err := os.Stat(db.path); err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	if err := db.openToRead(ctx); err != nil {
		if db.readers != nil {
			err = errors.Join(err, db.readers.close())
		}
		return errors.Join(err, db.scratch.remove())
	}
	db.queue.close(store.ErrReadOnly)
	close(db.stopped)
	return nil
}

// openToRead opens the readers, on a copy if the database is of an older
// version and there may be one.
func (db *DB) openToRead(ctx context.Context) (err error) {
	if err := db.openReaders(); err != nil {
		return err
	}
	if db.older, err = behind(ctx, db); err != nil || db.older == 0 || db.o.AsIs {
		return err
	}
	if db.o.Scratch == "" {
		return fmt.Errorf("%w: %s", ErrOlder, db.path)
	}
	if err := rehearse(ctx, db); err != nil {
		return err
	}
	if err := db.readers.close(); err != nil {
		return err
	}
	return db.openReaders()
}

// behind is the version of a database that lacks migrations; 0 when none is
// missing.
func behind(ctx context.Context, db *DB) (version int64, err error) {
	err = db.Read(ctx, LookUp, func(_ context.Context, c *Conn) error {
		missing, err := pending(c, db.path)
		if err == nil && len(missing) > 0 {
			version = max(1, int64(missing[0].Version)-1) // a file without tables is as good as one of version 1
		}
		return err
	})
	return version, err
}

// Close refuses further members, applies and answers those that wait, ends the
// reads, and checkpoints the log into the database file. It may be called more
// than once.
func (db *DB) Close() error {
	db.once.Do(func() {
		db.queue.close(store.ErrClosed)
		<-db.stopped
		close(db.closing)
		db.err = errors.Join(db.readers.close(), db.scratch.remove())
		if db.writer != nil {
			db.err = errors.Join(db.err, db.writer.close())
		}
	})
	<-db.stopped
	return db.err
}
