package cluster

import "errors"

var (
	// ErrForeign means that a log, or a database, is of another cluster.
	ErrForeign = errors.New("this belongs to another cluster")
	// ErrAhead means that a database has executed what is not in the log.
	ErrAhead = errors.New("the database is ahead of the log")
	// ErrStruck means that this node is no member any more: it must join again,
	// under a new id.
	ErrStruck = errors.New("this node was struck out of the cluster")
	// ErrTwice means that another process runs under this node's id.
	ErrTwice = errors.New("another process runs as this node")
	// ErrOld means that the cluster is at a version which this program does not
	// know.
	ErrOld = errors.New("this program is too old for the cluster")
	// ErrNotSkipped means that this node has executed what others were told to
	// skip: it must join again.
	ErrNotSkipped = errors.New("this node has executed what was to be skipped")
)

// ErrLarge means that a command is larger than the log takes.
var ErrLarge = errors.New("the command is larger than a message of the log")

// ErrLease means that a command did nothing, because it was given under a lease
// that is not in force.
var ErrLease = errors.New("another node has the lease under which this was to be done")

// ErrVoided means that every node was told to skip the command.
var ErrVoided = errors.New("the command was skipped on all nodes")

var (
	// ErrDiffers means that this node's outcomes are not what the majority of
	// members has.
	ErrDiffers = errors.New("the majority of members has executed something else")
	// ErrDisagree means that members have different outcomes, and none of them a
	// majority.
	ErrDisagree = errors.New("members have executed different things, and none of them is a majority's")
)

// ErrState means that what is stored as a state is none that this program can
// read.
var ErrState = errors.New("not a state of this program")
