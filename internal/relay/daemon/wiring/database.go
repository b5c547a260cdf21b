package wiring

import (
	"context"

	"engramd/internal/relay/store/sqlite"
)

// This file chooses the store: no other one of this package knows which it is.
type (
	Database        = sqlite.Store
	DatabaseOptions = sqlite.Options
	FolderLock      = sqlite.DirLock
)

// ErrFolderInUse means that another process holds the data folder.
var ErrFolderInUse = sqlite.ErrLocked

// OpenDatabase opens the database, or makes one, in a folder that the caller
// has locked, unless it is only read.
func OpenDatabase(ctx context.Context, o DatabaseOptions) (*Database, error) {
	return sqlite.Open(ctx, o)
}

// DatabaseFile returns the path of the database in a data folder.
func DatabaseFile(dir string) string { return sqlite.File(dir) }

// SchemaVersion returns the version to which this program brings databases.
func SchemaVersion() (int64, error) { return sqlite.Latest() }

// PrepareFolder makes the data folder if it is missing. It must be called
// before the first database is opened.
func PrepareFolder(dir string) error { return sqlite.PrepareDir(dir) }

// LockFolder takes the data folder for this process; the error is
// ErrFolderInUse if another one holds it.
func LockFolder(dir string) (*FolderLock, error) { return sqlite.Lock(dir) }

// ScratchFolder returns the folder for temporary copies of a database.
func ScratchFolder(dir string) (string, error) { return sqlite.TempDir(dir) }

// SweepScratch removes copies that ended processes have left in a folder.
func SweepScratch(dir string) error { return sqlite.SweepScratch(dir) }

// StoreThreads returns how many threads of a store with so many readers may
// work outside of Go for long.
func StoreThreads(readers int) int { return sqlite.ThreadsInC(readers) }
