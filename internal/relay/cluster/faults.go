package cluster

import (
	"context"
	"time"

	"engramd/internal/relay/store"
)

// Faults break a node on purpose, for tests of the tests: each of them must be
// found. They are for nothing else; the zero value has none.
type Faults struct {
	OKBeforeAppend bool // a command is executed here before it has its place
	NoWaitForReads bool // Latest waits for nothing
	SkipACommand   bool // now and then a command of another node is not executed
	OwnTime        bool // a command's time is the machine's when it is executed
	EndFromLog     bool // Latest asks one server for the log's end
	IgnoreCounters bool // batches are taken whatever their boot and counter
	IgnoreEpochs   bool // commands are taken whatever lease they were given under
}

// skipEvery is how many commands of other nodes there are for each that
// SkipACommand leaves out.
const skipEvery = 17

// executeAhead is Faults.OKBeforeAppend.
func executeAhead(ctx context.Context, n *Node, c store.Command, p *pending) error {
	n.mu.Lock()
	placed := store.Placed{Place: store.LogPlace{Number: n.seen.number, Index: maxCommands}, At: n.seen.time / int64(time.Second), Command: c, Ticket: p.ticket}
	n.mu.Unlock()
	p.ticket = nil
	return n.o.Executor.Execute(ctx, []store.Placed{placed})
}
