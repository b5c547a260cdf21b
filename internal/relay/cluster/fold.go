package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"engramd/internal/relay/store"
)

// folding is what State made and Durable makes valid: the state up to the last
// command of a transaction.
type folding struct {
	state      *state // nil for none
	stored     []byte
	used       int // steps behind the durable state that are in it
	answers    []answered
	configured bool
}

type answered struct {
	p      *pending
	answer Answer
}

// position is how far the log was read, and how far that is executed here.
type position struct {
	seen    *state
	durable *state
	steps   []step // behind the durable state, up to seen
	idle    int    // how many of the first of them the store has nothing to do with
	folded  folding
	voids   map[store.LogPlace]bool // ahead of the durable state
	base    time.Time               // when the last message was read, by the machine's clock
	holding
}

// errOrder means that the store executed something else than what came next.
var errOrder = errors.New("the store has executed something else than what came next")

// State implements store.Sequencer: it follows the steps up to the last command
// that was executed, and those only. It begins with the durable state each time,
// so that a transaction which is tried again, or ends elsewhere, leaves nothing
// behind. If what was executed is not what came next the node ends, and nil says
// that the transaction must not be committed. Neither must one of a node that a
// fault has ended: it may be executed by other lists, or be another's outcome.
func (n *Node) State(done []store.Done) []byte {
	n.mu.Lock()
	if n.err != nil && !errors.Is(n.err, context.Canceled) {
		n.folded = folding{}
		n.mu.Unlock()
		return nil
	}
	f, err := n.fold(done, n.o.Faults.OKBeforeAppend)
	n.folded = f
	n.mu.Unlock()
	if err != nil {
		n.Halt(err)
		return nil
	}
	return f.stored
}

func (p *position) fold(done []store.Done, ahead bool) (folding, error) {
	f := folding{state: p.durable.clone()}
	for _, d := range done {
		if ahead && d.Place.Index == maxCommands {
			continue
		}
		st := p.followTo(&f)
		if st == nil || st.place != d.Place {
			return folding{}, fmt.Errorf("%w: message %d, command %d", errOrder, d.Place.Number, d.Place.Index)
		}
		if st.sealed {
			f.state.chain.Seal(d)
		}
	}
	f.stored = f.state.marshal()
	return f, nil
}

// followTo follows the steps up to the next one that the store executes, and
// returns that, nil if there is none.
func (p *position) followTo(f *folding) *step {
	for f.used < len(p.steps) {
		st := &p.steps[f.used]
		f.used++
		a, _ := f.state.follow(st)
		if !st.placed {
			continue
		}
		if st.own != nil && st.sender != nil {
			f.answers = append(f.answers, answered{st.sender, a})
		}
		if _, ok := st.own.(Configure); ok && a.Refused == "" {
			f.configured = true
		}
		return st
	}
	return nil
}

// Durable implements store.Sequencer.
func (n *Node) Durable() {
	n.mu.Lock()
	f := n.folded
	if f.state == nil {
		n.mu.Unlock()
		return
	}
	n.folded = folding{}
	n.durable = f.state
	for i := range n.steps[:f.used] {
		if n.steps[i].mine {
			n.afoot--
		}
	}
	n.signals.give()
	clear(n.steps[:f.used])
	n.steps, n.idle = n.steps[f.used:], 0
	if len(n.steps) == 0 {
		n.steps = nil
	}
	n.emptied.give()
	progress(n)
	applied, lag := n.applied(), n.clock(n.o.Clock()).Sub(time.Unix(0, n.durable.time))
	stop := n.durable.disagreement()
	n.mu.Unlock()
	n.o.Observe.Executed(applied, lag)
	if f.configured && n.o.Configured != nil {
		n.o.Configured(f.state.text)
	}
	for _, a := range f.answers {
		a.p.answer(a.answer, nil)
	}
	if stop != nil {
		n.Halt(stop)
	}
}

// applied is the number up to which everything in the log is executed here, as
// far as it was read, and not held.
func (p *position) applied() uint64 {
	number := p.seen.following() - 1
	for p.idle < len(p.steps) && !p.steps[p.idle].placed {
		p.idle++
	}
	if p.idle < len(p.steps) {
		number = p.steps[p.idle].place.Number - 1
	}
	if p.held > 0 {
		number = min(number, p.held-1)
	}
	return number
}
