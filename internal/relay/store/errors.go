package store

import "errors"

var (
	// ErrTimeout means that a read took more than Options.QueryTimeout or the
	// caller's deadline allowed.
	ErrTimeout = errors.New("the query took too long")
	// ErrClosed means that the store is closed or closing.
	ErrClosed = errors.New("the store is closed")
	// ErrReadOnly means that the store was opened with Options.ReadOnly.
	ErrReadOnly = errors.New("the store is open for reading only")
	// ErrFull means that the disk is full, or that the database has reached its
	// configured size.
	ErrFull = errors.New("the database is full")
	// ErrRestart means that an option cannot change while the store is open.
	ErrRestart = errors.New("this change needs a restart")
)

// ErrShared means that a database is a node's of a cluster, and may be changed
// through that node only.
var ErrShared = errors.New("this database is a node's of a cluster, and is changed through the running node only (engramd serve --cluster); engramd cluster leave makes it one that stands alone")

// ErrOtherGate means that a node's stored events are classed by other rules, or
// by another program's table of kinds, than this one has: the other nodes go on
// by those.
var ErrOtherGate = errors.New("the gate's rules or its table of kinds are not those by which the cluster's events are classed: stop all nodes, leave with one, and begin again with these (docs/cluster.md)")

// ErrEnded means that a read that cannot be resumed was ended half-way, because
// other reads could not begin or the write-ahead log could not be written back.
// The read may be tried again.
var ErrEnded = errors.New("the query was ended in favour of others")

// ErrFilter means that the store has no index for a filter, or that the filter
// was given to the wrong method. The strict parser and the relay rule both out.
var ErrFilter = errors.New("the store cannot answer this filter")

// ErrMany means that more events match than the caller takes.
var ErrMany = errors.New("more events match than are wanted")

// ErrNoSearch means that the program was built without full-text search (build
// tag sqlite_fts5).
var ErrNoSearch = errors.New("built without full-text search")
