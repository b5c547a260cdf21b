package session

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"time"

	"engramd/internal/agent/briefing"
	"engramd/internal/agent/hook"
	"engramd/internal/client"
	"engramd/internal/memory/activity"
	"engramd/internal/memory/recall/answer"
	memorystate "engramd/internal/memory/state"
	"engramd/internal/memory/write"
)

// continuing is what a session on this machine goes on from.
func continuing(ctx context.Context, state *memorystate.State) (hook.Continuing, error) {
	log, root, err := state.Links.Root(ctx)
	if err != nil || log.Next == 0 {
		return hook.Continuing{}, err
	}
	return hook.Continuing{Root: hex.EncodeToString(root[:]), N: log.Next, Log: log.W}, nil
}

// wakeOptions are what a machine knows that counts at the start of a session. What
// is not known is none.
func wakeOptions(ctx context.Context, s *Session, state *memorystate.State, session string) briefing.Options {
	if state == nil {
		return briefing.Options{}
	}
	from, err := continuing(ctx, state)
	if err != nil {
		s.warn("where the memory continues from is not known: %v", err)
	}
	used, _ := UsedHere(ctx, state)
	shown, _ := state.Sessions.Shown(ctx, session)
	return briefing.Options{Writer: used.writer, Known: activity.Known{Uses: used.own, Feedback: used.judged}, Seen: seenBy(shown),
		Dreamt: dreamtIn(ctx, state), When: s.o.Dream, From: from}
}

const (
	// attestTag marks the notes.
	attestTag = "attest"
	// besideBudget is how long the start of a session waits for what another process
	// of this machine holds: the state or the copy. The core does not depend on them.
	besideBudget = 400 * time.Millisecond
	// Tidy is how long the start of a session may close what it opened: a copy whose
	// index is kept answers prompts sooner.
	Tidy = 1500 * time.Millisecond
)

// ErrNoState is a machine on which nothing is kept.
var ErrNoState = errors.New("nothing is kept on this machine, and so nothing can be attested")

// Attestor is a session that attests, as far as that is known.
type Attestor struct{ Session, Process string }

// Attest writes where a session continues from into its first chained note, and
// returns where that is; "" if the session has one, or there is nothing to continue
// from. The note is archived from the beginning: it is for those who check the log,
// and no memory. ErrNoState: no state is kept. client.ErrBehind: by the local copy no
// relay shows something that was written.
func (s *Session) Attest(ctx context.Context, state *memorystate.State, from hook.Continuing, by Attestor) (slug string, err error) {
	if state == nil {
		return "", ErrNoState
	}
	if from.N == 0 {
		return "", nil
	}
	kept, err := s.known.kept(ctx)
	if err != nil {
		return "", err
	}
	if kept != nil {
		if there, err := kept.Unshown(ctx); err != nil || there.All() > 0 {
			return "", cmp.Or(err, client.ErrBehind)
		}
	}
	first, err := state.Sessions.Attest(ctx, by.Session, by.Process)
	if err != nil || !first {
		return "", err
	}
	w := &write.Writer{Memory: s.Memory, Source: s.o.Source, Session: by.Session, Clock: time.Now}
	none := 0.0
	r, err := w.AddNote(ctx, s.Memory, write.Note{Text: from.Note(), Tags: []string{attestTag}, Salience: &none, Archived: true}, nil)
	if s.o.Log == nil {
		err = s.o.Report(r.Status, err)
	}
	if err != nil {
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.allow(besideBudget))
		defer cancel()
		return "", errors.Join(err, state.Sessions.Unattest(undo, by.Session, by.Process))
	}
	return string(r.Slug), nil
}

// attest attests the start of the served session, unless that was; it does not wait
// for that.
func (v *Live) attest(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		v.Settle(ctx) // until then relays may not be found
		look := v.Wake(ctx)
		look.Now = time.Now()
		start := briefing.Start{From: look.From}
		if err := v.Source().Read(ctx, func(view answer.View) error { start = briefing.Of(ctx, view, look); return nil }); err != nil {
			start.From.Unread = true
		}
		id := ""
		if one, ok := v.served(ctx); ok {
			id = one.ID
		}
		_, process := v.s.o.Ancestors()
		slug, err := v.s.Attest(ctx, v.state, start.From, Attestor{id, process})
		switch {
		case err != nil && ctx.Err() == nil:
			v.log.Warn("where the session continues from is not attested", "error", err)
		case slug != "":
			v.log.Info("where the session continues from was attested")
		}
	}()
	v.attested = func() {
		defer cancel()
		select { // a session that was short began, too
		case <-done:
		case <-time.After(v.s.allow(Tidy)):
			cancel()
			<-done
		}
	}
}
