package engine

import (
	"sync"
	"sync/atomic"
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
