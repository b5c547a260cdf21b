package cluster

import (
	"context"
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
	Clock     func() time.Time // of the machine, default time.Now: its monotonic part carries the log's time on
	Logger    *slog.Logger
	Observe   Observer      // may be nil
	Patience  time.Duration // how long a command may be on its way until its sender is told ErrUnknown; default 10 s
	// Configured is called when a Configure was executed, before the store
	// executes the commands of a later transaction. It must not wait for the store.
	Configured func(text string)
	Faults     Faults
}
