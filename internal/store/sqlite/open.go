package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"engramd/internal/gate"
	"engramd/internal/store"
)

// Store is one open database: one writer, several readers.
//
// What participants have tables for, they read, and have changed, by methods of
// their own, which are part of it.
type Store struct {
	*contractStore
	*identityStore
	*outboxStore
	*adminStore

	path     string
	clock    func() time.Time
	log      *slog.Logger
	observe  store.Observer
	onCommit func([]store.Committed)
	live     atomic.Pointer[store.Live]
	table    atomic.Pointer[gate.Table]
	lastSeq  atomic.Int64
	search   atomic.Bool // the full-text index exists
	restores restorations
	executed func(store.Executed)
	follows  bool
	older    int64    // the version of a database that lacks migrations; 0 when none is missing
	scratch  *scratch // where it was copied to; nil when it was not
	maxLog   int64
	whole    atomic.Int64 // reads of the whole database under way, which hold the log
	recent   recent

	queue     *queue
	writer    *writer
	retainer  *retainer  // nil when open for reading alone
	retaining sync.Mutex // one round of retention at a time
	readers   *readers
	closing   chan struct{}
	stopped   chan struct{} // the writer's goroutine ended
	once      sync.Once
	err       error // of Close
}

// pageSize suits both notes of 500 bytes and engrams of 64 KiB: measured in the
// package's benchmarks.
const pageSize = 8192

// Open opens the database, creating it if there is none, applies the migrations
// that are missing, puts the events whose gate class changed into their new
// one, and starts the writer. The folder must exist; the caller holds its Lock.
//
// The error wraps ErrNewer when a newer program wrote the database, ErrForeign
// when it is no engramd database.
func Open(ctx context.Context, o Options) (*Store, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	s := &Store{
		path: o.Path, clock: o.Clock, log: o.Log, observe: o.Observe, onCommit: o.OnCommit, maxLog: o.MaxLogBytes,
		executed: o.executed, follows: o.follows, closing: make(chan struct{}), stopped: make(chan struct{}),
		queue: newQueue(o.MaxQueue, o.MaxQueueBytes, o.Observe),
	}
	s.contractStore = &contractStore{asks: s, requests: withdrawal}
	s.identityStore = &identityStore{asks: s, others: privateEntries{}}
	s.outboxStore = &outboxStore{asks: s}
	s.adminStore = &adminStore{asks: s}
	s.live.Store(&o.Live)
	s.table.Store(o.Table)
	if o.ReadOnly {
		if err := s.startReading(ctx, o); err != nil {
			return nil, err
		}
		return s, nil
	}
	if err := createFile(o.Path); err != nil {
		return nil, err
	}
	c, err := connect(o.Path, writerDSN(), writerPragmas(o.CacheBytes))
	if err != nil {
		return nil, err
	}
	if err := s.start(ctx, c, o); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return s, nil
}

// start prepares the database on the writer's connection and brings the actors
// up.
func (s *Store) start(ctx context.Context, c *Conn, o Options) error {
	if err := migrate(ctx, c, o.Path, o.Log); err != nil {
		return err
	}
	w, err := newWriter(ctx, s, c, o.MaxBatch)
	if err != nil {
		return err
	}
	if s.readers, err = openReaders(o.Path, o.Readers, o.CacheBytes/4, o.pacing); err != nil {
		return err
	}
	s.writer = w
	go w.run(o.After)
	if !s.follows {
		s.startRetainer(o.After)
	}
	return nil
}

// startReading opens the readers alone.
func (s *Store) startReading(ctx context.Context, o Options) error {
	if _, err := os.Stat(o.Path); err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	if err := s.openToRead(ctx, o); err != nil {
		if s.readers != nil {
			err = errors.Join(err, s.readers.close())
		}
		return errors.Join(err, s.scratch.remove())
	}
	s.queue.close(store.ErrReadOnly)
	close(s.stopped)
	return nil
}

// openToRead opens the readers, on a copy if the database is of an older
// version and there may be one.
func (s *Store) openToRead(ctx context.Context, o Options) (err error) {
	if s.readers, err = openReaders(s.path, o.Readers, o.CacheBytes/4, o.pacing); err != nil {
		return err
	}
	if s.older, err = s.behind(ctx); err != nil {
		return err
	}
	switch {
	case s.older > 0 && o.AsIs:
		return nil
	case s.older > 0 && o.Scratch == "":
		return fmt.Errorf("%w: %s", ErrOlder, s.path)
	case s.older > 0:
		if err := s.rehearse(ctx, o); err != nil {
			return err
		}
		if err := s.readers.close(); err != nil {
			return err
		}
		if s.readers, err = openReaders(s.path, o.Readers, o.CacheBytes/4, o.pacing); err != nil {
			return err
		}
	}
	return s.read(ctx, LookUp, func(_ context.Context, c *Conn) error {
		last, err := lastSeq(c)
		if err != nil {
			return err
		}
		s.lastSeq.Store(last)
		complete, err := searchIsComplete(c)
		s.search.Store(complete)
		return err
	})
}

// behind is the version of a database that lacks migrations; 0 when none is
// missing.
func (s *Store) behind(ctx context.Context) (version int64, err error) {
	err = s.read(ctx, LookUp, func(_ context.Context, c *Conn) error {
		missing, err := pending(c, s.path)
		if err == nil && len(missing) > 0 {
			version = max(1, int64(missing[0].Version)-1) // a file without tables is as good as one of version 1
		}
		return err
	})
	return version, err
}

// complete fills in the defaults.
func (o *Options) complete() error {
	if o.Path == "" || o.Table == nil {
		return errors.New("store: Path and Table are required")
	}
	o.Readers = cmp.Or(o.Readers, 4)
	o.MaxBatch = cmp.Or(o.MaxBatch, 2048)
	o.MaxQueue = cmp.Or(o.MaxQueue, 2*o.MaxBatch)
	o.MaxQueueBytes = cmp.Or(o.MaxQueueBytes, 8<<20)
	o.CacheBytes = cmp.Or(o.CacheBytes, 64<<20)
	o.MaxLogBytes = cmp.Or(o.MaxLogBytes, defaultMaxLog)
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.After == nil {
		o.After = time.After
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Observe == nil {
		o.Observe = nobody{}
	}
	if o.OnCommit == nil {
		o.OnCommit = func([]store.Committed) {}
	}
	completeLive(&o.Live)
	return nil
}

func completeLive(l *store.Live) {
	l.Versions = cmp.Or(l.Versions, 100)
	l.Days = cmp.Or(l.Days, 365)
	l.QueryTimeout = cmp.Or(l.QueryTimeout, 10*time.Second)
}

// nobody observes nothing.
type nobody struct{}

func (nobody) CommitDone(time.Duration, int, bool)     {}
func (nobody) QueryDone(string, time.Duration, string) {}
func (nobody) ReadWaited(string, time.Duration)        {}
func (nobody) Removed(string, int)                     {}
func (nobody) NoRoom(int)                              {}
func (nobody) Retired(string, int)                     {}
func (nobody) QueueAdd(string, int)                    {}

var _ store.Observer = nobody{}

// writerDSN and writerPragmas make the connection that writes. What matters for
// "OK means durable" is read back from it by tests: WAL with synchronous=FULL,
// so that COMMIT returns after the fsync of the log.
func writerDSN() url.Values {
	return url.Values{"_txlock": {"immediate"}}
}

func writerPragmas(cache int64) []string {
	return []string{
		"page_size=" + strconv.Itoa(pageSize), // before the first table; without effect afterwards
		"journal_mode=WAL",
		"synchronous=FULL",
		"secure_delete=ON",
		"cache_size=-" + strconv.FormatInt(cache/1024, 10),
		"temp_store=MEMORY", // savepoints keep their undo pages in memory; migrate says when not
		"trusted_schema=OFF",
		"wal_autocheckpoint=4000",
		"journal_size_limit=67108864",
	}
}

// createFile makes an empty database file that only we can read; SQLite gives
// its log files the same mode.
func createFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		if err := f.Chmod(0o600); err != nil {
			return fmt.Errorf("restrict database to its owner: %w", err)
		}
	}
	return nil
}

// LastSeq is the highest sequence number that every reader can see. It only
// grows.
func (s *Store) LastSeq() int64 { return s.lastSeq.Load() }

// SetOptions replaces the options that may change while the store is open. They
// hold for the writes that follow.
func (s *Store) SetOptions(ctx context.Context, l store.Live) error {
	completeLive(&l)
	return s.tell(ctx, store.Configure{Live: l})
}

func (w *writer) configure(l store.Live) error {
	if err := w.setPageLimit(l.MaxBytes); err != nil {
		return err
	}
	w.After(func() { w.s.retainAnew(w.s.live.Swap(&l).Retention, l.Retention) })
	return nil
}

// SetTable replaces the gate rules that events are classed by. Rules that would
// put stored events into other classes cannot change while the store is open:
// the error is ErrRestart.
func (s *Store) SetTable(t *gate.Table) error {
	if t.Fingerprint() != s.table.Load().Fingerprint() {
		return store.ErrRestart
	}
	s.table.Store(t)
	return nil
}

// Close refuses further writes, commits and answers those that wait, ends the
// reads, and checkpoints the log into the database file. It may be called more
// than once.
func (s *Store) Close() error {
	s.once.Do(func() {
		s.retainer.stop()
		s.queue.close(store.ErrClosed)
		<-s.stopped
		close(s.closing)
		s.err = errors.Join(s.readers.close(), s.scratch.remove())
		if s.writer != nil {
			s.err = errors.Join(s.err, s.writer.close())
		}
	})
	<-s.stopped
	return s.err
}

// Sizes reports the size in bytes of the database file and of its write-ahead
// log.
func (s *Store) Sizes() (database, wal int64) {
	size := func(path string) int64 {
		info, err := os.Stat(path)
		if err != nil {
			return 0
		}
		return info.Size()
	}
	return size(s.path), size(s.path + "-wal")
}

// PrepareDir creates the data folder with mode 0700, durably, or checks that an
// existing one is a folder and takes the access of others away. It also makes
// it the folder in which SQLite puts temporary files, unless the operator has
// named one in SQLITE_TMPDIR: they hold parts of events, and another folder may
// lie on another disk, in memory, or not be writable. They have no name there,
// so that the kernel removes them with the process. SQLite looks once, when the
// process opens its first database.
func PrepareDir(dir string) error {
	if err := makeDir(filepath.Clean(dir)); err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("data folder: %s is not a folder", dir)
	}
	if info.Mode().Perm()&0o077 != 0 {
		if err := os.Chmod(dir, 0o700); err != nil {
			return fmt.Errorf("data folder %s is open to others and cannot be restricted: %w", dir, err)
		}
	}
	_, err = TempDir(dir)
	return err
}

// tempEnv is what SQLite knows its folder for temporary files by.
const tempEnv = "SQLITE_TMPDIR"

// TempDir is the folder for temporary files: the one that the operator has
// named in SQLITE_TMPDIR, else dir, which SQLite then uses as well.
func TempDir(dir string) (string, error) {
	if named := os.Getenv(tempEnv); named != "" {
		return named, nil
	}
	return dir, os.Setenv(tempEnv, dir)
}

// makeDir creates a folder and those above it that are missing. What is in a
// new folder survives a loss of power only if its name in the one above does.
func makeDir(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	parent := filepath.Dir(dir)
	if err := makeDir(parent); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return syncPath(parent)
}

// File is the database's path inside a data folder.
func File(dir string) string { return filepath.Join(dir, "engramd.db") }
