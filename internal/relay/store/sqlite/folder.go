package sqlite

import "engramd/internal/relay/store/sqlite/engine"

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
