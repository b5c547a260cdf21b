package session

import (
	"context"
	"fmt"

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
	a := account{m: m}
	defer func() { a.close() }()
	gone, err := a.open(ctx)
	if err != nil {
		return memory.Others{}, client.Status{}, err
	}
	here := writerlog.Account(a.in)
	if here.Core && !gone {
		return memory.Others{}, client.Status{}, &UnaccountedError{here.Written()}
	}
	others, status, err := m.Others(ctx)
	if err == nil && !gone && (others.Begun || others.Logged || !here.Absent()) {
		err = a.ask(ctx)
	}
	return others, status, err
}

// maxAttested bounds the logs of which attestations are asked for.
const maxAttested = 100

// account is CoreAbsent at work.
type account struct {
	m     *Memory
	in    writerlog.Accounting
	seen  writerlog.Evidence
	state *memorystate.State // nil: none is kept
	close func()
}

// open reads what this machine knows, where a state is there.
func (a *account) open(ctx context.Context) (gone bool, err error) {
	s := a.m.s
	a.in.D, a.close = nipae.AddressIn(a.m.Conversation(), a.m.Agent(), a.m.Owner(), nipae.Core), func() {}
	a.seen.Events = map[string]writerlog.Event{}
	if s.live != nil {
		a.state = s.live.state
	} else if s.Keeps() && pairOf(a.m.Memory).Kept(s.o.State) {
		soon, cancel := context.WithTimeout(ctx, s.allow(OpenBudget))
		defer cancel()
		if a.state, err = s.OpenState(soon, s.o.Note); err == nil {
			a.close = func() { _ = a.state.Close() }
		}
	}
	if err == nil && a.state != nil {
		a.in, gone, err = a.state.Links.Accounting(ctx, a.in.D)
	}
	if err != nil {
		err = fmt.Errorf("what this machine wrote is not known, and so not whether there was a core: %w", err)
	}
	return gone, err
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
			a.seen.Add(e)
		}
		told = a.told(ctx)
		if err != nil || status.Partial || !told.Absent() {
			continue
		}
		if told = a.attested(ctx, told); told.Absent() {
			return nil
		}
	}
	switch {
	case told.Core || told.Written() > 0:
		return &UnaccountedError{told.Written()}
	case err != nil:
		return err
	}
	return client.Failures(client.ErrPartial, status.Relays)
}

// told accounts for what is known, and notes how far that goes. What is not noted is
// asked for again.
func (a *account) told(ctx context.Context) writerlog.Accounts {
	a.in.Events, a.in.Units = a.seen.Events, a.seen.Units
	told, until := writerlog.Account(a.in), map[string]int64{}
	for w, l := range told.Logs {
		if n, known := a.in.Known[w]; l.Until >= 0 && (!known || l.Until > n) {
			until[w] = l.Until
		}
	}
	if a.state != nil {
		_ = a.state.Links.SetAccounted(ctx, until)
	}
	return told
}

// attested adds what the agent signed of logs that are known, as far as relays show
// that. Other logs may be those of another pair.
func (a *account) attested(ctx context.Context, told writerlog.Accounts) writerlog.Accounts {
	var ds []string
	for w := range told.Logs {
		ds = append(ds, attestation.D(w))
	}
	if len(ds) == 0 {
		return told
	}
	most := min(len(ds), maxAttested)
	answers, _ := a.m.s.Client.AskSoon(ctx, nostr.Filter{Kinds: []int{attestation.Kind}, Authors: []string{a.m.Agent()}, Tags: nostr.TagMap{"d": ds[:most]}})
	if a.in.Attested == nil {
		a.in.Attested = map[string]int64{}
	}
	for _, ev := range answers.Events {
		if one, err := attestation.Of(ev); err == nil {
			a.in.Attested[one.W] = max(a.in.Attested[one.W], one.N)
		}
	}
	return a.told(ctx)
}
