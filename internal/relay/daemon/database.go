package daemon

import (
	"context"

	"engramd/internal/relay/store/sqlite"
)

// This file chooses the store: no other one of this package knows which it is.
type (
	database        = sqlite.Store
	databaseOptions = sqlite.Options
	folderLock      = sqlite.DirLock
)

// errFolderInUse means that another process holds the data folder.
var errFolderInUse = sqlite.ErrLocked

// openDatabase opens the database, or makes one, in a folder that the caller
// has locked, unless it is only read.
func openDatabase(ctx context.Context, o databaseOptions) (*database, error) {
	return sqlite.Open(ctx, o)
}

// databaseFile returns the path of the database in a data folder.
func databaseFile(dir string) string { return sqlite.File(dir) }

// schemaVersion returns the version to which this program brings databases.
func schemaVersion() (int64, error) { return sqlite.Latest() }

// prepareFolder makes the data folder if it is missing. It must be called
// before the first database is opened.
func prepareFolder(dir string) error { return sqlite.PrepareDir(dir) }

// lockFolder takes the data folder for this process; the error is
// errFolderInUse if another one holds it.
func lockFolder(dir string) (*folderLock, error) { return sqlite.Lock(dir) }

// scratchFolder returns the folder for temporary copies of a database.
func scratchFolder(dir string) (string, error) { return sqlite.TempDir(dir) }

// sweepScratch removes copies that ended processes have left in a folder.
func sweepScratch(dir string) error { return sqlite.SweepScratch(dir) }

// storeThreads returns how many threads of a store with so many readers may
// work outside of Go for long.
func storeThreads(readers int) int { return sqlite.ThreadsInC(readers) }
