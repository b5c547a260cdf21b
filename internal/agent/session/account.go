package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	memorystate "engramd/internal/memory/state"
	"engramd/internal/memory/verify/attestation"
	"engramd/internal/protocol/writerlog"
	"engramd/nips/nipae"
)

// UnaccountedError says that no relay shows a core, and that it cannot be told whether
// there is one: something was written that nothing accounts for. It is client.ErrBehind.
type UnaccountedError struct {
	Written int64 // how many numbers of logs were taken, as far as that is known
}

// Error is all that is said in the place of the core.
func (e *UnaccountedError) Error() string {
	return fmt.Sprintf("no core is shown; this agent has written %d times", e.Written)
}

// Is makes it client.ErrBehind.
func (e *UnaccountedError) Is(target error) bool { return target == client.ErrBehind }

// CoreAbsent decides, where every relay says that it has no core, whether there is none.
// It is Others then. What other machines wrote is looked for at the relays, and noted in
// the state once it is found. The errors are those of Others, and *UnaccountedError.
func (m *Memory) CoreAbsent(ctx context.Context) (memory.Others, client.Status, error) {
	a := account{m: m, in: writerlog.Evidence{Events: map[string]writerlog.Event{}}, attested: map[string]int64{}}
	a.core = nipae.AddressIn(m.Conversation(), m.Agent(), m.Owner(), nipae.Core)
	there, gone, done, err := a.open(ctx)
	defer done()
	if err != nil {
		return memory.Others{}, client.Status{}, fmt.Errorf("what this machine wrote is not known, and so not whether there was a core: %w", err)
	}
	here := a.told(ctx)
	if !gone && (there || here.Core) {
		return memory.Others{}, client.Status{}, &UnaccountedError{max(1, here.Written())}
	}
	others, status, err := m.Others(ctx)
	if err == nil && !gone && (others.Begun || others.Logged || !here.Absent()) {
		err = a.ask(ctx)
	}
	return others, status, err
}

// account is CoreAbsent at work.
type account struct {
	m               *Memory
	core            string // its address
	in              writerlog.Evidence
	known, attested map[string]int64
	state           *memorystate.State // nil: none is kept
}

// errNoState is a state that lies here and cannot be opened, of which stateNow told.
var errNoState = errors.New("its state cannot be opened")

// open reads what this machine knows, where a state is: whether there was a core, and
// whether it need not be there any more. done ends the use of the state.
func (a *account) open(ctx context.Context) (there, gone bool, done func(), err error) {
	s := a.m.s
	if !s.Keeps() || !pairOf(a.m.Memory).Kept(s.o.State) {
		return false, false, func() {}, nil
	}
	if a.state, done = stateNow(ctx, s); a.state == nil {
		return false, false, done, errNoState
	}
	at, err := a.state.Heads.At(ctx, a.core)
	known, knownErr := a.state.Links.Accounted(ctx)
	own, ownErr := a.state.Links.Own(ctx)
	marks, marksErr := a.state.Audit.Marks(ctx)
	a.known, a.in.Own = known, own
	for url, all := range marks {
		a.in.Relays = append(a.in.Relays, writerlog.Shown{URL: url, Marks: all})
	}
	why, expired := at.Lost(), at.Head.Expires > 0 && at.Head.Expires <= time.Now().Unix()
	gone = len(at.Open) == 0 && (expired || why == memorystate.Accepted || why == memorystate.Deleted)
	return len(at.Open) > 0 || at.Head.ID != "", gone, done, cmp.Or(err, knownErr, ownErr, marksErr)
}

// ask asks the relays for heads, and for superseded versions where that is not enough.
// It is nil if all that was written is accounted for.
func (a *account) ask(ctx context.Context) error {
	var told writerlog.Accounts
	var status client.Status
	var err error
	for _, ask := range []func(context.Context) ([]nipae.Engram, client.Status, error){a.m.Newest, a.m.Every} {
		var all []nipae.Engram
		all, status, err = ask(ctx)
		for _, e := range all {
			a.in.Add(e)
		}
		if told = a.told(ctx); err == nil && !status.Partial && told.Absent() {
			if told = a.attest(ctx, told); told.Absent() {
				return nil
			}
		}
	}
	switch {
	case told.Core || told.Written() > 0:
		return &UnaccountedError{max(1, told.Written())}
	case err != nil:
		return err
	}
	return client.Failures(client.ErrPartial, status.Relays)
}

// told accounts for what is known, and notes how far that goes. What is not noted is
// asked for again.
func (a *account) told(ctx context.Context) writerlog.Accounts {
	told, until := writerlog.Account(a.in, a.core, a.known, a.attested), map[string]int64{}
	for w, l := range told.Logs {
		if n, known := a.known[w]; l.Until >= 0 && (!known || l.Until > n) {
			until[w] = l.Until
		}
	}
	if a.state != nil && len(until) > 0 {
		_ = a.state.Links.SetAccounted(ctx, until)
	}
	return told
}

// maxAttested bounds the logs of which attestations are asked for.
const maxAttested = 100

// attest accounts for what the agent signed of the logs that are known as well, as far
// as relays show that. Other logs may be another pair's.
func (a *account) attest(ctx context.Context, told writerlog.Accounts) writerlog.Accounts {
	var ds []string
	for w := range told.Logs {
		ds = append(ds, attestation.D(w))
	}
	if len(ds) == 0 {
		return told
	}
	filter := nostr.Filter{Kinds: []int{attestation.Kind}, Authors: []string{a.m.Agent()}, Tags: nostr.TagMap{"d": ds[:min(len(ds), maxAttested)]}}
	answers, _ := a.m.s.Client.AskSoon(ctx, filter)
	for _, ev := range answers.Events {
		if one, err := attestation.Of(ev); err == nil {
			a.attested[one.W] = max(a.attested[one.W], one.N)
		}
	}
	return a.told(ctx)
}
