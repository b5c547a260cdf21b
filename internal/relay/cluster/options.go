package cluster

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"engramd/internal/relay/store"
)

// Executor is the store of a node, which executes what has its place.
type Executor interface {
	// Execute takes commands over that come next, in their order, and blocks
	// while too much waits. They are done when the Sequencer's State and Durable
	// say so. A nil Command is nothing but a place.
	Execute(ctx context.Context, list []store.Placed) error
}

// Options say what a node is made of.
type Options struct {
	Log       Log
	ClusterID ClusterID
	NodeID    NodeID
	Name      string // for people
	Boot      uint64 // greater than at any start before, stored before it is used
	Version   uint64 // up to which cluster version this program can go
	State     []byte // as it is stored with the database, nil for a new one
	Executor  Executor
	Confirmed func() bool      // whether the log's time may be gone by: until it may, nobody is struck out and nothing trimmed; default: it may
	Clock     func() time.Time // of the machine, default time.Now: its monotonic part carries the log's time on
	// Trusts says whether what Clock shows may be told the others, who make the log's
	// time of it; default: it may. Neither it nor Confirmed is called under a lock of the node.
	Trusts  func(time.Time) bool
	Logger  *slog.Logger
	Observe Observer // may be nil
	// Ask hands a question to all other nodes (AnswerTo), and what they answer comes
	// back to Hear, as best as can be. Without it Latest appends.
	Ask      func(question []byte)
	Patience time.Duration // how long a command may be on its way until its sender is told ErrUnknown; default 10 s
	// Configured is called when a Configure was executed, before the store
	// executes the commands of a later transaction. It must not wait for the store.
	Configured func(text string)
	Past       Past // may be nil
	Faults     Faults
}

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

// Observer is notified of what a node does. Its methods must not block.
type Observer interface {
	// AppendDone reports one append to the log, and whether it was acknowledged.
	AppendDone(took time.Duration, ok bool)
	// MessageRead reports a message: its number, what became of it ("taken",
	// "mark", or why it is void), and how far the machine's clock is ahead of the
	// log's time, which includes how long the message took to come here.
	MessageRead(number uint64, became string, ahead time.Duration)
	// Executed reports up to which message everything is durable here, and how
	// long after that message.
	Executed(number uint64, lag time.Duration)
	// SentAgain reports batches that were appended again.
	SentAgain(batches int)
	// QueueAdd moves the depth of the queue "cluster" by n.
	QueueAdd(queue string, n int)
}

type nobody struct{}

func (nobody) AppendDone(time.Duration, bool)            {}
func (nobody) MessageRead(uint64, string, time.Duration) {}
func (nobody) Executed(uint64, time.Duration)            {}
func (nobody) SentAgain(int)                             {}
func (nobody) QueueAdd(string, int)                      {}
