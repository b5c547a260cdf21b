package relay

import (
	"context"
	"errors"
	"net/netip"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/fairness"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/nips/nip01"
)

// Answer is the relay's word on one event: what OK says (NIP-01), and the
// outcome as metrics name it.
type Answer struct {
	OK bool
	// Why is the reason if it is not OK; "duplicate" also where it is. Nil says
	// nothing.
	Why     *nip01.Refusal
	Outcome string
}

// Message returns the text that goes with OK.
func (a Answer) Message() string {
	if a.Why == nil {
		return ""
	}
	return a.Why.Error()
}

// Submission is one event and how it is to be written.
type Submission struct {
	// Event was parsed strictly and verified (wire.ParseEvent, wire.Verify).
	Event *nostr.Event
	// Base and Forward are those of store.PutOptions: the head that the event
	// must supersede, and the further relays for which it is queued in the same
	// commit.
	Base    *[32]byte
	Forward []string
	// Class is the rule under which the event is read. Begin sets it, by the
	// table in force.
	Class gate.Class
}

// Submitter takes events into the relay; *Relay is one.
type Submitter interface {
	// Submit returns once the event is durable or refused.
	Submit(ctx context.Context, s Submission) Answer
}

// Pending is a submission on its way into the store.
type Pending struct {
	Submission
	relay  *Relay
	stored store.Pending
	answer Answer       // when stored is nil: already decided
	who    fairness.Who // sent it
}

// Outcomes that are decided before the store is asked.
const (
	outcomeRefused   = "refused"
	outcomeEphemeral = "ephemeral"
)

// Submit is Begin and Wait.
func (r *Relay) Submit(ctx context.Context, s Submission) Answer {
	return r.Begin(ctx, s).Wait()
}

// Begin runs the RejectEvent hooks now, in order, and queues the store work,
// when the sender's share may have more waiting for the store and for live
// delivery; events begun one after the other are applied in that order and may
// share a commit. ctx says who is asking (WithReader, WithAddr).
func (r *Relay) Begin(ctx context.Context, s Submission) *Pending {
	ev := s.Event
	s.Class = r.table.Load().Classify(ev)
	p := &Pending{Submission: s, relay: r, who: fairness.From(ctx)}
	for _, reject := range r.Hooks.RejectEvent {
		if refused, message := reject(ctx, ev); refused {
			return p.decided(Answer{Why: nip01.Parse(message), Outcome: outcomeRefused})
		}
	}
	if nostr.IsEphemeralKind(ev.Kind) {
		for _, hook := range r.Hooks.OnEphemeralEvent {
			hook(ctx, ev)
		}
		r.passOn(p.Class, ev)
		return p.decided(Answer{OK: true, Outcome: outcomeEphemeral})
	}
	var stored store.Pending
	err := r.backlog.wait(ctx, p.who)
	if err == nil {
		stored, err = r.store.Begin(ctx, ev, store.PutOptions{
			Class: &p.Class, Forward: p.Forward, Base: p.Base, KnownOnly: !r.cfg.Guesses.Left(p.who), Vouched: r.cfg.Vouched(ctx, ev),
		})
	}
	if err != nil {
		if !errors.Is(err, store.ErrUnsynced) { // that is said once
			r.cfg.Log.Error("event not queued", "kind", ev.Kind, "err", err)
		}
		return p.decided(Answer{Why: failureOf(err), Outcome: store.Failed.String()})
	}
	p.stored = stored
	return p
}

// OnNotStored sets who is told of events that passed the hooks and were not
// stored: the relay has them, or a newer version, or the store refused them.
func (r *Relay) OnNotStored(tell func(who fairness.Who, ev *nostr.Event)) { r.notStored.Store(&tell) }

func (p *Pending) decided(a Answer) *Pending {
	p.answer = a
	return p
}

// Done is closed when Wait will not block; nil Pendings never exist.
func (p *Pending) Done() <-chan struct{} {
	if p.stored == nil {
		return closed
	}
	return p.stored.Done()
}

// Wait returns after the commit is durable, or the event was refused. Call it
// once: it counts the outcome.
func (p *Pending) Wait() Answer {
	answer := p.answer
	if p.stored != nil {
		res := p.stored.Wait()
		answer = answerOf(res)
		if res.Why.Is(store.WhyTaken) {
			p.relay.cfg.Guesses.Take(p.who, 1)
		}
		if tell := p.relay.notStored.Load(); tell != nil && res.Outcome != store.Stored && res.Outcome != store.Replaced {
			(*tell)(p.who, p.Event)
		}
	}
	p.relay.cfg.Metrics.EventDone(p.Class.String(), answer.Outcome)
	return answer
}

func answerOf(res store.Result) Answer {
	a := Answer{Why: res.Why, Outcome: res.Outcome.String()}
	switch res.Outcome {
	case store.Stored, store.Replaced, store.Duplicate:
		a.OK = true
	case store.Failed:
		a.Why = failureOf(res.Err)
	}
	return a
}

var closed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

type contextKey int

const (
	readerKey contextKey = iota
	addrKey
	attestationsKey
	readingKey
)

// WithReader returns a context that carries who is asking: the set of pubkeys
// that a connection proved by NIP-42 or a request by NIP-98.
func WithReader(ctx context.Context, reader gate.Reader) context.Context {
	return context.WithValue(ctx, readerKey, reader)
}

// ReaderFrom tells hooks who is asking. Without one it is nobody: the empty
// reader.
func ReaderFrom(ctx context.Context) gate.Reader {
	reader, _ := ctx.Value(readerKey).(gate.Reader)
	return reader
}

// AsAuthor returns a context in which the author of ev is asking: the server
// acts for a caller whose key the signature has proved.
func AsAuthor(ctx context.Context, ev *nostr.Event) context.Context {
	return WithReader(ctx, gate.NewReader(ev.PubKey))
}

// WithAddr returns a context that carries the client's address, already
// resolved through the trusted proxies.
func WithAddr(ctx context.Context, addr netip.Addr) context.Context {
	return context.WithValue(ctx, addrKey, addr)
}

// AddrFrom returns the client's address; invalid where there is none (imports).
func AddrFrom(ctx context.Context) netip.Addr {
	addr, _ := ctx.Value(addrKey).(netip.Addr)
	return addr
}
