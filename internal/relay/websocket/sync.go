package websocket

import (
	"errors"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay"
	"engramd/internal/relay/fairness"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/metrics"
	"engramd/internal/relay/store"
	"engramd/nips/nip01"
	"engramd/nips/nip77"
)

// What a set holds in memory: an item, and its part of the sums; and what one
// that is empty holds with all that belongs to it.
const (
	holdsSync = 1 << 10
	holdsItem = 41
)

// What the pool is charged for, in bytes to be parsed and hashed: an item to be
// sorted, and a byte of a message to be answered.
const (
	sortCost    = 60
	messageCost = 50
	answerCost  = 4 << 10
)

// syncFrameBytes is the longest answer of a reconciliation: 60 kB of hex, which
// is what others send and take.
const syncFrameBytes = 30_000

// What a client is told of a reconciliation that is not served.
const (
	// The same for all, and it says at once what a client would else wait for.
	syncOffText     = "blocked: negentropy (NIP-77) is not served here"
	syncUnknownText = "closed: nothing of this id is open here"
)

// What store.ErrMany is for a share, and for the time of a read: who asks for
// less at a time gets on.
var (
	errManyOfShare = &nip01.Refusal{Prefix: nip01.PrefixBlocked, Text: "too many query results together with those of what else your address or key has open"}
	errManyForTime = &nip01.Refusal{Prefix: nip01.PrefixBlocked, Text: "too many query results to be read in time"}
)

// sync serves a frame of NIP-77. Closing what was never open needs no answer.
func (e *effects) sync(f wire.Frame) {
	if e.c.in.isClosed() && !e.c.draining.Load() {
		return // nobody is there to be answered
	}
	if f.Label == wire.LabelNegClose {
		e.c.syncs.end(f.SubID, syncClosed)
		return
	}
	if e.c.srv.limits.Load().Sync.Off {
		e.c.syncs.end(f.SubID, syncRefused)
		e.c.syncs.refuse(f, syncOffText)
		return
	}
	if f.Label == wire.LabelNegOpen {
		e.c.syncs.end(f.SubID, syncReplaced)
		if why := e.openSync(f); why != nil {
			e.challengeBefore(why)
			e.c.syncs.refuse(f, why.Error())
		}
		return
	}
	one := e.c.syncs.find(f.SubID)
	if one == nil {
		e.c.syncs.refuse(f, syncUnknownText)
		return
	}
	e.goOnSync(one, f)
}

// refuse answers a frame of a reconciliation of which nothing is held any more.
func (s *syncs) refuse(f wire.Frame, text string) {
	s.c.record.logRefused(f.Label, text)
	s.c.say(wire.AppendNegErr(nil, f.SubID, text))
}

// openSync reads the ids that a filter matches and the gate grants, and answers
// the first message.
func (e *effects) openSync(f wire.Frame) *nip01.Refusal {
	lim, filter := e.c.srv.limits.Load().Sync, &f.Filters[0]
	if why := bounds(e.c, f); why != nil {
		return why
	}
	if open, _ := e.c.syncs.count(); open >= lim.Sessions {
		e.c.srv.o.Metrics.FrameRefused("syncs")
		return nip01.Refuse(nip01.PrefixBlocked, "too many reconciliations are open on this connection, close one first")
	}
	if filter.Limit > 0 || filter.LimitZero || filter.Search != "" {
		return nip01.Refuse(nip01.PrefixInvalid, "a filter of NEG-OPEN has no limit and no search: it is about all that matches")
	}
	one := &syncing{id: f.SubID, rules: e.c.srv.backend.Table()} // first: what is granted is by these or newer ones
	granted, err := e.authorize(gate.SurfaceSync, f.Filters)
	if err != nil {
		return relay.RefusalOf(err)
	}
	one.replica = e.c.srv.o.Replica(e.reader)
	items, err := e.readIDs(granted[0], one)
	if err != nil {
		return syncRefusal(e, err)
	}
	var reply []byte
	done := e.compute(float64(len(items))*sortCost+cost(f.Message), func() {
		if one.set, err = nip77.NewSet(items); err == nil {
			reply, err = one.set.Reply(f.Message, syncFrameBytes)
		}
	})
	if done && err == nil {
		e.c.syncs.add(one, lim.Idle)
		e.c.syncs.answer(one, reply)
		return nil
	}
	e.c.syncs.give(one.bytes, one.replica)
	if !done {
		return shuttingDown
	}
	return badSync(e.c.srv.o.Metrics, err)
}

// readIDs reads the events of a reconciliation and takes the memory for them.
func (e *effects) readIDs(granted relay.Granted, one *syncing) ([]nip77.Item, error) {
	e.permit.Release()
	defer e.permit.Acquire(e.who)
	lim := e.c.srv.limits.Load().Sync
	most := lim.Items
	if one.replica {
		most = lim.ReplicaItems
	}
	items, err := e.c.srv.backend.IDs(e.asking, granted, most, func(n int) error {
		bytes := holdsSync + holdsItem*int64(n)
		switch e.c.syncs.take(bytes, one.replica) {
		case fairness.Within:
			one.bytes = bytes
			return nil
		case fairness.OverTotal:
			return failure("the relay holds as many events for reconciliations as it may, try again later")
		}
		if bytes > lim.Share {
			return store.ErrMany // also if nothing else is open
		}
		return errManyOfShare
	})
	if err != nil && one.bytes > 0 {
		e.c.syncs.give(one.bytes, one.replica)
	}
	return items, err
}

// syncRefusal is why ids were not read; too many are counted.
func syncRefusal(e *effects, err error) *nip01.Refusal {
	if errors.Is(err, store.ErrTimeout) || errors.Is(err, store.ErrEnded) {
		err = errManyForTime
	}
	why := relay.RefusalOf(err)
	if errors.Is(err, store.ErrMany) || errors.As(err, new(*nip01.Refusal)) {
		e.c.srv.o.Metrics.FrameRefused("syncs")
	}
	return why
}

// goOnSync answers a further message, by the rules that the set was read by.
func (e *effects) goOnSync(one *syncing, f wire.Frame) {
	if !one.rules.Equal(e.c.srv.backend.Table()) {
		if !e.c.syncs.tell(one, syncRules, syncRulesText) {
			e.c.syncs.refuse(f, syncUnknownText)
		}
		return
	}
	e.c.syncs.work(one)
	defer func() { e.c.syncs.rest(one, e.c.srv.limits.Load().Sync.Idle) }()
	var reply []byte
	var err error
	ended := false
	if !e.compute(cost(f.Message), func() {
		set := e.c.syncs.setOf(one) // only now: who waits for the pool holds no set that was taken from him
		if ended = set == nil; !ended {
			reply, err = set.Reply(f.Message, syncFrameBytes)
		}
	}) {
		e.c.syncs.tell(one, syncGone, shuttingDown.Error())
		return
	}
	switch {
	case ended: // the client was told
	case err != nil:
		e.c.syncs.tell(one, syncRefused, badSync(e.c.srv.o.Metrics, err).Error())
	default:
		e.c.syncs.answer(one, reply)
	}
}

// badSync is the answer to a message that is none.
func badSync(m *metrics.Sessions, err error) *nip01.Refusal {
	m.FrameRefused("invalid")
	if errors.Is(err, nip77.ErrMessage) {
		return nip01.Refuse(nip01.PrefixInvalid, "%s", err)
	}
	return failure("the relay could not take its own events for reconciling")
}

func cost(msg []byte) float64 { return answerCost + messageCost*float64(len(msg)) }

// compute has the pool do work in the connection's turn, and waits for it. It
// reports false when there is nobody to do it for any more, or nobody to do it.
func (e *effects) compute(cost float64, work func()) (done bool) {
	e.flush()
	e.permit.Release()
	defer e.permit.Acquire(e.who)
	e.c.srv.verifier.do(e.c, cost, func() {
		if e.asking.Err() != nil {
			return
		}
		began := e.c.srv.o.Now()
		work()
		done = true
		e.c.srv.o.Metrics.SyncAnswered(e.c.srv.o.Now().Sub(began))
	})
	return done
}
