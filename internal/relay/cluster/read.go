package cluster

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"

	"engramd/internal/relay/store"
)

// read executes the log from behind the stored state on, until ctx ends. last is
// where the log ended when the node was started.
func (n *Node) read(ctx context.Context, last uint64) error {
	n.mu.Lock()
	ahead := n.seen.clone()
	n.mu.Unlock()
	voids, err := lookAhead(ctx, n.log, ahead, last)
	if err != nil {
		return err
	}
	n.mu.Lock()
	n.voids = voids
	n.mu.Unlock()
	return n.log.Read(ctx, n.seen.following(), func(m Message) error { return n.message(ctx, m) })
}

// following is the number of the message that comes next: once more the last
// one, if some of its commands are to come.
func (s *state) following() uint64 {
	if s.left > 0 {
		return s.number
	}
	return s.number + 1
}

// message takes a message of the log: what it does to the state, and what the
// store has to execute of it.
func (n *Node) message(ctx context.Context, m Message) error {
	if err := pace(ctx, n); err != nil {
		return err
	}
	msg, err := parseMessage(m.Data)
	if err == nil && msg.cluster != n.o.ClusterID {
		err = ErrForeign
	}
	now := n.o.Clock()
	r := reading{Node: n, m: m, msg: msg, bad: err, from: msg.header(m.Data)}
	if r.bad != nil {
		r.from = header{sum: r.from.sum}
	}
	n.mu.Lock()
	err = r.take()
	n.base = now
	ahead, at := n.offset(now), n.seen.number
	hash, noted := n.seen.trail.at(at, at)
	meet(n)
	progress(n)
	n.turnBack()
	n.mu.Unlock()
	for _, f := range r.failed {
		f.p.fail(f.err)
	}
	if noted && n.o.Past != nil {
		n.o.Past.Note(at, hash)
	}
	n.o.Observe.MessageRead(m.Number, string(r.became), ahead)
	if err == nil {
		err = hold(ctx, n)
	}
	if err == nil && len(r.placed) > 0 {
		err = n.o.Executor.Execute(ctx, r.placed)
	}
	if err != nil {
		return fmt.Errorf("message %d: %w", m.Number, err)
	}
	return nil
}

// mostSteps is how many steps there may be behind the durable state while the store
// has something to execute: marks wait for no room there.
const mostSteps = 1 << 15

// pace waits while there are too many.
func pace(ctx context.Context, n *Node) error {
	for {
		n.mu.Lock()
		full := len(n.steps) >= mostSteps && n.applied() < n.seen.number
		n.mu.Unlock()
		if !full {
			return nil
		}
		select {
		case <-n.emptied:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// reading is one message while it is taken.
type reading struct {
	*Node
	m   Message
	msg message
	bad error // why it could not be parsed

	became verdict
	from   header
	own    *batch // if this node sent it
	placed []store.Placed
	failed []failure
}

type failure struct {
	p   *pending
	err error
}

// take makes the steps of a message.
func (r *reading) take() error {
	if want := r.seen.following(); r.m.Number != want {
		return fmt.Errorf("it came where %d was to come", want)
	}
	whole := r.voids[store.LogPlace{Number: r.m.Number, Index: -1}]
	if r.bad != nil && !whole {
		return r.bad
	}
	if r.seen.left > 0 {
		if whole {
			return ErrNotSkipped
		}
		r.became = taken
	} else {
		r.begin(whole)
		if err := r.seen.proven(r.o.NodeID); err != nil {
			return err
		}
		r.question(r.seen)
	}
	if err := r.self(); err != nil || r.became != taken {
		return err
	}
	for i := r.seen.next; i < len(r.msg.items); i++ {
		if err := r.command(i, whole); err != nil {
			return err
		}
	}
	return r.standing(&r.o, r.announced)
}

// begin moves on to the message, and takes its batch.
func (r *reading) begin(whole bool) {
	st := step{kind: stepPass, place: store.LogPlace{Number: r.m.Number, Index: -1}, at: r.m.At.UnixNano(), from: r.from, honour: whole}
	switch {
	case r.bad != nil:
		r.became = "unreadable"
	default:
		r.became = r.seen.judge(r.from)
		r.miss()
	}
	if r.became == taken {
		st.kind = stepTake
	}
	r.seen.follow(&st)
	if i, found := r.seen.find(r.from.node); !found || !r.seen.members[i].silenced { // who differs is not there, whatever it says
		beat := r.msg.beats()
		writes := r.became == taken && slices.ContainsFunc(r.msg.items, func(it item) bool { return it.store != nil })
		r.vigil.read(r.from.node, beat, writes || beat && r.from.node != r.o.NodeID || r.o.Faults.StrikeTheIdle, time.Now())
	}
	if last := len(r.steps) - 1; last >= 0 && r.steps[last].kind == stepPass && st.kind == stepPass && !r.steps[last].honour && r.seen.version < proofVersion {
		r.steps[last] = step{kind: stepPass, place: st.place, at: r.seen.time, honour: st.honour} // one is as good as both
		return
	}
	r.steps = append(r.steps, st)
}

// miss says once of a boot of a member that batches of it were never read here: what
// it appends again cannot mend that.
func (r *reading) miss() {
	if key := (sender{r.from.node, r.from.boot}); r.became == voidMissed && r.missed != key {
		r.missed = key
		r.o.Logger.Error("batches of a member are missing here, and all that it sends is void: members have read different logs",
			"member", key.node, "message", r.m.Number, "batch", r.from.counter)
	}
}

// sender is a boot of a node.
type sender struct {
	node NodeID
	boot uint64
}

// self heeds what became of this node's own batch.
func (r *reading) self() error {
	if r.from.node != r.o.NodeID || r.bad != nil {
		return nil
	}
	switch {
	case r.from.boot > r.o.Boot, r.became == voidBoot && r.from.boot == r.o.Boot:
		return ErrTwice
	case r.from.boot < r.o.Boot:
		return nil
	case r.became == voidStruck:
		return ErrStruck
	case r.became == voidVersion:
		return ErrOld
	case r.became == voidMember:
		return errors.New("the cluster takes no more members")
	case r.became != taken:
		return nil
	}
	if r.own = r.arrived(r.from.counter); r.own == nil {
		return nil
	}
	r.reached(r.own.waiters, r.m.Number, nil, nil)
	r.own.waiters = nil
	r.signals.give()
	if !bytes.Equal(r.own.raw, r.m.Data) {
		return ErrTwice
	}
	return nil
}

// command follows one command of the batch.
func (r *reading) command(i int, whole bool) error {
	it, place := r.msg.items[i], store.LogPlace{Number: r.m.Number, Index: i}
	st := step{kind: stepCommand, place: place, at: r.m.At.UnixNano(), from: r.from, epoch: it.epoch, own: it.own, honour: r.voids[place]}
	st.skip = whole || st.honour
	if r.own != nil {
		st.sender = r.own.list[i]
	}
	a, void := r.seen.follow(&st)
	switch {
	case void && st.sender != nil:
		why := ErrLease
		if st.skip {
			why = ErrVoided
		}
		r.failed = append(r.failed, failure{st.sender, why})
		st.sender = nil
	case !void && !r.skips(&st):
		p := store.Placed{Place: place, At: r.at(), Command: it.store}
		if c, ok := it.own.(Configure); ok && a.Refused == "" {
			p.Command = store.Configure{Live: c.Live}
		}
		if st.sender != nil {
			p.Ticket = st.sender.ticket
		}
		st.placed, st.sealed = true, p.Command != nil
		r.placed = append(r.placed, p)
	}
	if r.own != nil && !st.placed {
		r.afoot--
	}
	st.mine = r.own != nil && st.placed
	r.steps = append(r.steps, st)
	if c, ok := it.own.(Void); ok && !void && a.Refused != "" && r.seen.wants(c) {
		return fmt.Errorf("%w: %s", ErrNotSkipped, a.Refused)
	}
	return nil
}

// at is the time at which the commands of the message are executed.
func (r *reading) at() int64 {
	if r.o.Faults.OwnTime {
		return r.o.Clock().Unix()
	}
	return r.seen.time / int64(time.Second)
}

// skips is Faults.SkipACommand.
func (r *reading) skips(st *step) bool {
	if !r.o.Faults.SkipACommand || st.own != nil || st.sender != nil {
		return false
	}
	r.skipped++
	return r.skipped%skipEvery == 0
}

// standing returns why this node cannot go on as what it is, nil if it can.
func (p *position) standing(o *Options, announced bool) error {
	_, member := p.seen.find(o.NodeID)
	switch {
	case p.seen.version > o.Version:
		return fmt.Errorf("%w: it is at version %d, and this program goes up to %d", ErrOld, p.seen.version, o.Version)
	case !member && announced:
		return ErrStruck
	}
	return nil
}

// beats reports whether its sender says that it lives.
func (m *message) beats() bool {
	return m.word != nil && m.word.beat || slices.ContainsFunc(m.items, func(it item) bool {
		_, beat := it.own.(Heartbeat)
		return beat
	})
}

func (m *message) header(data []byte) header {
	h := header{node: m.node, boot: m.boot, counter: m.counter, commands: len(m.items), word: m.word, sum: sha256.Sum256(data)}
	if len(m.items) > 0 {
		if j, ok := m.items[0].own.(Join); ok {
			h.join = &j
		}
	}
	return h
}
