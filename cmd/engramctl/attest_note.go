package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"engramd/internal/agent/briefing"
	"engramd/internal/agent/hook"
	"engramd/internal/agent/mcp"
	"engramd/internal/cli/exit"
	"engramd/internal/client"
	"engramd/internal/memory/recall/answer"
	memorystate "engramd/internal/memory/state"
	"engramd/internal/memory/write"
)

// attestFlag is --attest.
func (a *app) attestFlag(c *cobra.Command) {
	c.Flags().BoolFunc("attest", "sign where the session continues from, in an archived note (attest in a profile)", func(text string) error {
		on, err := strconv.ParseBool(text)
		a.Flags.Attest = &on
		return err
	})
}

// attests reports whether the start of a session is to be attested. Only the agent
// can: an owner's profile that says so means nothing, and the flag is a mistake.
func (a *app) attests(m *client.Memory) (bool, error) {
	if a.Flags.Attest != nil {
		if *a.Flags.Attest && !m.Writable() {
			return false, exit.Usagef("--attest: this key is the owner's, and only the agent signs what it has written")
		}
		return *a.Flags.Attest, nil
	}
	profile, err := a.Profile()
	return profile.Attest && m.Writable(), err
}

// warn tells of something that is no error: a server's log, or the person.
func (a *app) warn(format string, args ...any) {
	if a.log != nil {
		a.log.Warn(fmt.Sprintf(format, args...))
		return
	}
	a.Note(format, args...)
}

// continuing is what a session on this machine goes on from.
func continuing(ctx context.Context, state *memorystate.State) (hook.Continuing, error) {
	log, root, err := state.Links.Root(ctx)
	if err != nil || log.Next == 0 {
		return hook.Continuing{}, err
	}
	return hook.Continuing{Root: hex.EncodeToString(root[:]), N: log.Next, Log: log.W}, nil
}

// attesting names who attests, as far as that is known.
type attesting struct{ session, process string }

// attestTag marks the notes.
const attestTag = "attest"

// errNoState is a machine on which nothing is kept.
var errNoState = errors.New("nothing is kept on this machine, and so nothing can be attested")

// attestStart writes where a session continues from into its first chained note,
// and returns where that is; "" if the session has one, or there is nothing to
// continue from. The note is archived from the beginning: it is for who checks the
// log, and no memory.
func (a *app) attestStart(ctx context.Context, m *client.Memory, state *memorystate.State, from hook.Continuing, by attesting) (slug string, err error) {
	if state == nil {
		return "", exit.BadUsage(errNoState)
	}
	if from.N == 0 {
		return "", nil
	}
	first, err := state.Sessions.Attest(ctx, by.session, by.process)
	if err != nil || !first {
		return "", err
	}
	w := &write.Writer{Memory: m, Source: source, Session: by.session, Clock: time.Now}
	none := 0.0
	r, err := w.AddNote(ctx, m, rand.Reader, write.Note{Text: from.Note(), Tags: []string{attestTag}, Salience: &none, Archived: true}, nil)
	if a.log == nil {
		err = a.Report(r.Status, err)
	}
	if err != nil {
		undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.Allow(besideBudget))
		defer cancel()
		return "", errors.Join(err, state.Sessions.Unattest(undo, by.session, by.process))
	}
	return string(r.Slug), nil
}

// attest attests the start of a hook's session, once its agent was told.
func (w *waking) attest(from hook.Continuing) {
	ctx, cancel := context.WithTimeout(context.Background(), w.a.Allow(hookTidy))
	defer cancel()
	defer w.a.closeLogs()
	by := attesting{sessionName(w.in.Session), harnessAbove(w.a.ancestors())}
	if _, err := w.a.attestStart(ctx, w.m, w.state, from, by); err != nil {
		w.a.Note("where the session continues from is not attested: %v", err)
	}
}

// serveAttest has a server attest the start of its session, unless that was; it
// does not wait for that. Call what it returns before the state is closed.
func (a *app) serveAttest(ctx context.Context, m *client.Memory, state *memorystate.State, o *mcp.Options) (stop func()) {
	on, err := a.attests(m)
	if err != nil {
		o.Log.Warn("the session is not attested", "error", err)
	}
	if !on || o.Copy == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	settle, current, from, copied, log := o.Settle, o.Current, o.Wake, o.Copy, o.Log
	go func() {
		defer close(done)
		if settle != nil {
			settle(ctx) // until then relays may not be found
		}
		look := from(ctx)
		look.Now = time.Now()
		start := briefing.Start{From: look.From}
		if err := copied.Read(ctx, func(v answer.View) error { start = briefing.Of(ctx, v, look); return nil }); err != nil {
			start.From.Unread = true
		}
		slug, err := a.attestStart(ctx, m, state, start.From, attesting{current(ctx), harnessAbove(a.ancestors())})
		switch {
		case err != nil && ctx.Err() == nil:
			log.Warn("where the session continues from is not attested", "error", err)
		case slug != "":
			log.Info("where the session continues from was attested")
		}
	}()
	return func() {
		defer cancel()
		select { // a session that was short began, too
		case <-done:
		case <-time.After(a.Allow(hookTidy)):
			cancel()
			<-done
		}
	}
}
