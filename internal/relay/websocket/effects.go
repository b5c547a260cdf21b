package websocket

import (
	"context"

	"github.com/gorilla/websocket"
	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/internal/relay"
	"engramd/internal/relay/fairness"
	"engramd/internal/relay/gate"
	"engramd/nips/nip01"
)

// effects executes one connection's messages in the order they came. Its
// answers go into the outbox in that order, and are sent before it waits for
// the next message or commit. It runs while the inbox has something. It owns
// the connection's identity and its subscriptions.
type effects struct {
	c        *conn
	ctx      context.Context // carries who is asking
	asking   context.Context // ctx for what is read for the client: it ends when the client has gone
	reader   gate.Reader
	who      fairness.Who       // whom its work is charged to
	permit   fairness.Permit    // held while it computes, never while it waits
	unprove  func()             // gives the place of a key's share back; nil before one is held
	keys     int                // in reader
	beside   relay.Attestations // that came with the keys
	awaiting []awaited          // EVENTs begun, oldest first
	unsent   int                // answers queued since the last flush
}

// awaited is one EVENT whose answer is due.
type awaited struct {
	id      string
	size    int     // of its message
	pending Pending // nil when the answer is known
	answer  []byte
}

// run executes what is in the inbox until there is nothing left.
func (e *effects) run() {
	over := true
	defer func() {
		if over { // else another goroutine may run already
			e.permit.Release()
			close(e.c.effectsOver)
		}
	}()
	defer e.c.rescue("effects")
	for {
		if e.permit.Long() {
			e.permit.Release()
		}
		e.permit.Acquire(e.who)
		e.answer(false)
		j := e.c.in.first()
		switch {
		case e.c.ctx.Err() != nil:
			return
		case j == nil && len(e.awaiting) == 0:
			e.flush()
			e.permit.Release()
			resting, finished := e.c.in.rest()
			if resting && finished {
				e.finish()
				return
			}
			if resting {
				over = false
				return
			}
		case j == nil, j.pooled && !j.parsed.Load():
			e.flush()
			e.wait()
		default:
			e.pace()
			e.c.in.take()
			e.execute(j)
		}
	}
}

// wait blocks until there is a message to execute or the oldest EVENT has its
// answer.
func (e *effects) wait() {
	var done <-chan struct{}
	if len(e.awaiting) > 0 {
		if e.awaiting[0].pending == nil {
			return
		}
		done = e.awaiting[0].pending.Done()
	}
	e.permit.Release()
	select {
	case <-done:
	case <-e.c.in.more:
	case <-e.c.ctx.Done():
	}
}

// pace blocks while the client has more queued than it should: it is not given
// further answers, and soon not read from either.
func (e *effects) pace() (ok bool) {
	for e.c.out.above(e.c.srv.limits.Load().QueueMark) {
		e.flush()
		e.permit.Release()
		select {
		case <-e.c.out.low:
		case <-e.c.ctx.Done():
			return false
		case <-e.c.in.stopped:
			return false
		}
	}
	return true
}

// finish has the writer end the connection after what is queued.
func (e *effects) finish() {
	code, text := int(e.c.code.Load()), ""
	switch {
	case e.c.draining.Load():
		text = "the relay is shutting down"
	case code == websocket.CloseMessageTooBig:
		text = tooLargeText(e.c.srv.limits.Load())
	}
	if e.c.out.finish(code, text) {
		go newWriter(e.c).run()
	}
}

// answersTogether is how many answers are queued before they are sent.
const answersTogether = 64

// answer queues the answers that are due, in order: those known, or all.
func (e *effects) answer(all bool) {
	for len(e.awaiting) > 0 {
		a := &e.awaiting[0]
		if a.pending != nil {
			select {
			case <-a.pending.Done():
			default:
				if !all {
					return
				}
				e.flush()
				e.permit.Release()
			}
			a.answer = e.okay(a.id, a.pending.Wait())
		}
		e.c.say(a.answer)
		if e.unsent++; e.unsent >= answersTogether {
			e.flush()
		}
		e.c.answered(a.size)
		*a = awaited{}
		e.awaiting = e.awaiting[1:]
	}
	e.awaiting = nil
}

// flush sends what is queued.
func (e *effects) flush() {
	e.unsent = 0
	e.c.flush()
}

// okay returns the OK for an answer of the relay, after the challenge if it
// asks for authentication.
func (e *effects) okay(id string, a relay.Answer) []byte {
	e.c.over.answered(a, e.c.srv.o.Now())
	if !a.OK {
		e.c.record.logRefused(wire.LabelEvent, a.Message())
	}
	e.challengeBefore(a.Why)
	return wire.AppendOK(nil, id, a.OK, a.Message())
}

// execute has the effects of one message.
func (e *effects) execute(j *job) {
	if j.fault == "" && !j.parsed.Load() {
		j.parse(&e.c.srv.signatures)
	}
	e.c.srv.o.Metrics.FrameRead(j.label())
	if j.fault == "" && j.err == nil && j.frame.Label == wire.LabelEvent {
		e.event(j)
		return
	}
	if j.fault == "" && isEventFault(j.err) {
		e.c.srv.o.Metrics.FrameRefused("invalid")
		e.c.record.logRefused(wire.LabelEvent, "invalid: "+j.err.Error())
		e.known(j, fault(j.err))
		return
	}
	e.answer(true)
	e.flush() // what follows may take its time
	e.permit.Acquire(e.who)
	defer e.permit.Release()
	defer e.flush()
	defer e.c.answered(j.size)
	switch {
	case j.fault != "":
		e.c.record.logRefused("message", j.fault)
		e.c.syncs.end(hugeSync(j), syncRefused)
		for _, answer := range faultAnswers(j) {
			e.c.say(answer)
		}
	case j.err != nil:
		e.refuse(j.err)
	case j.frame.Label == wire.LabelAuth:
		e.auth(j.frame.Event)
	case j.frame.Label == wire.LabelClose:
		e.end(j.frame.SubID)
	case j.frame.Label == wire.LabelReq, j.frame.Label == wire.LabelCount:
		e.ask(j.frame)
	default:
		e.sync(j.frame)
	}
}

// event begins an EVENT without waiting for its commit.
func (e *effects) event(j *job) {
	ev := j.frame.Event
	if j.sig != nil {
		e.c.srv.o.Metrics.FrameRefused("invalid")
		e.c.record.logRefused(wire.LabelEvent, "invalid: "+j.sig.Error())
		e.known(j, wire.AppendOK(nil, ev.ID, false, "invalid: "+j.sig.Error()))
		return
	}
	if !nostr.IsEphemeralKind(ev.Kind) { // those are delivered here and now
		e.permit.Release() // the store may be busy
		defer e.permit.Acquire(e.who)
	}
	e.awaiting = append(e.awaiting, awaited{id: ev.ID, size: j.size, pending: e.c.srv.backend.Begin(e.ctx, ev)})
}

// known puts an answer behind those of the EVENTs before it.
func (e *effects) known(j *job, answer []byte) {
	e.awaiting = append(e.awaiting, awaited{size: j.size, answer: answer})
}

// challengeBefore sends the connection's challenge before an answer that asks
// for authentication (NIP-42).
func (e *effects) challengeBefore(why *nip01.Refusal) {
	if why.Has(nip01.PrefixAuthRequired) {
		e.c.say(wire.AppendAuthChallenge(nil, e.c.challenge))
	}
}

// auth adds a pubkey to who is asking, and an owner's attestation of it if one
// came along. What was granted before stays granted as it was.
func (e *effects) auth(ev *nostr.Event) {
	var pubkey string
	var err error = errTooManyKeys
	if e.keys < e.c.srv.limits.Load().Keys {
		pubkey, err = e.c.srv.backend.Authenticate(ev, e.c.challenge)
	}
	e.c.srv.o.Metrics.AuthDone(err == nil)
	e.c.record.logAuth(e.c.srv.o.Tags.Of(pubkey), err)
	if err != nil {
		e.c.say(wire.AppendOK(nil, ev.ID, false, err.Error()))
		return
	}
	if !e.reader.Has(pubkey) {
		e.reader = e.reader.With(pubkey)
		e.keys++
		e.prove(pubkey)
	}
	e.beside = e.beside.WithAuth(ev)
	as := func(ctx context.Context) context.Context {
		return fairness.With(relay.WithAttestations(relay.WithReader(ctx, e.reader), e.beside), e.who)
	}
	e.ctx, e.asking = as(e.c.ctx), as(e.c.asking)
	e.c.record.proved(e.ctx)
	e.c.say(wire.AppendOK(nil, ev.ID, true, ""))
}

// prove charges what follows to the share of a proved key, if it has one and
// none before it had.
func (e *effects) prove(pubkey string) {
	if e.unprove != nil {
		return
	}
	e.permit.Release() // the store is asked
	who, leave := e.c.srv.o.Shares.Prove(e.ctx, e.who, pubkey)
	if who == e.who {
		leave()
		return
	}
	e.who, e.unprove = who, leave
	e.c.who.Store(&who)
	e.c.filters.Move(who)
	e.c.held.Move(who)
	e.c.syncs.stake.Move(who)
	e.c.srv.queues.leave(e.c.out.move(e.c.srv.queues.enter(who)))
}

// leave gives back what the connection held, at its end.
func (e *effects) leave() {
	e.c.feed.closeAll()
	e.c.syncs.endAll()
	if e.unprove != nil {
		e.unprove()
	}
}
