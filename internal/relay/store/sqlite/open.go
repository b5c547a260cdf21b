package sqlite

import (
	"context"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events"
	"engramd/internal/relay/store/sqlite/identities"
)

// Options say how a store is opened.
type Options = events.Options

// Store is one open database: one writer, several readers. The methods of its
// parts are its own.
type Store struct {
	*events.Store
	*contractStore
	*identityStore
	*outboxStore
	*adminStore

	db         *engine.DB
	identities *identities.Writer // on the writer's goroutine
}

// Open opens the database, creating it if there is none, applies the migrations
// that are missing, puts the events whose gate class changed into their new
// one, and starts the writer. The folder must exist; the caller holds its Lock.
//
// The error wraps ErrNewer when a newer program wrote the database, ErrForeign
// when it is no engramd database.
func Open(ctx context.Context, o Options) (*Store, error) {
	s := &Store{}
	var err error
	if s.Store, s.db, err = events.Open(ctx, o, s.parts); err != nil {
		return nil, err
	}
	return s, nil
}

// Older reports the version that a database of an older version has, which was
// opened with Options.Scratch or Options.AsIs.
func (s *Store) Older() (version int64, older bool) { return s.db.Older() }

// QueueLen reports how many events wait for the writer.
func (s *Store) QueueLen() int { return s.db.QueueLen() }

// Reads says how busy the readers are.
func (s *Store) Reads() store.Reads { return s.db.Reads() }

// Recent returns how fast commits were, and the slowest top reads.
func (s *Store) Recent(top int) store.Recent { return s.db.Recent(top) }

// Sizes reports the size in bytes of the database file and of its write-ahead
// log.
func (s *Store) Sizes() (database, wal int64) { return s.db.Sizes() }

// Space looks at the file, on a connection of its own: it answers also when all
// readers are busy.
func (s *Store) Space(ctx context.Context) (store.Space, error) {
	space, err := s.db.Space(ctx)
	space.Max = s.MaxBytes()
	return space, err
}

// Ready proves that the database takes events of ordinary size
// (engine.DB.Ready). The error wraps ErrFull where room is what is missing.
func (s *Store) Ready(ctx context.Context) error { return s.db.Ready(ctx) }

// Backup writes a consistent copy of the database to path while the store works
// (engine.DB.Backup). An existing file is never overwritten: ErrExists.
func (s *Store) Backup(ctx context.Context, path string) error { return s.db.Backup(ctx, path) }

// What opening a database, and writing a file beside it, may end with.
var (
	ErrOlder   = engine.ErrOlder
	ErrNewer   = engine.ErrNewer
	ErrForeign = engine.ErrForeign
	ErrLocked  = engine.ErrLocked
	ErrExists  = engine.ErrExists
)

// A DirLock is the sole right to write into a data folder; a LockedError says
// who has it.
type (
	DirLock     = engine.DirLock
	LockedError = engine.LockedError
)

// Lock takes the data folder for this process. The folder must exist
// (PrepareDir). When another process holds it, the error is a *LockedError.
func Lock(dir string) (*DirLock, error) { return engine.Lock(dir) }

// PrepareDir creates the data folder, or takes the access of others to it away,
// and makes it the folder for temporary files (engine.PrepareDir).
func PrepareDir(dir string) error { return engine.PrepareDir(dir) }

// TempDir is the folder for temporary files: the one that the operator has
// named in SQLITE_TMPDIR, else dir, which SQLite then uses as well.
func TempDir(dir string) (string, error) { return engine.TempDir(dir) }

// File is the database's path inside a data folder.
func File(dir string) string { return engine.File(dir) }

// Latest is the version that this program brings databases to.
func Latest() (int64, error) { return engine.Latest() }

// SweepScratch removes copies of older databases that ended processes have left
// in a folder.
func SweepScratch(dir string) error { return engine.SweepScratch(dir) }

// ThreadsInC is how many threads of a store with so many readers may be in
// SQLite for long: those of scans, and the writer's.
func ThreadsInC(readers int) int { return engine.ThreadsInC(readers) }
