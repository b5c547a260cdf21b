package session

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"engramd/internal/agent/briefing"
	"engramd/internal/agent/harness"
	"engramd/internal/agent/hook"
	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/core"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/proposal"
	"engramd/internal/cli/settings"
	"engramd/internal/cli/view"
	"engramd/internal/client"
	"engramd/internal/memory/proposals"
	"engramd/internal/memory/recall/answer"
	memorystate "engramd/internal/memory/state"
)

// prompt tells what was intended and is due, and recalls what bears on a prompt,
// from the local copy alone.
func (r *hookRun) prompt(ctx context.Context) (string, error) {
	id := session.Name(r.in.Session)
	if id == "" {
		return "", nil // what was shown would not be known
	}
	return r.inState(ctx, func(s *session.Session, state *memorystate.State) (string, error) {
		return r.prompted(ctx, s, state, id)
	})
}

// prompted is prompt with what this machine knows of the pair.
func (r *hookRun) prompted(ctx context.Context, s *session.Session, state *memorystate.State, id string) (string, error) {
	where, unsure := session.StandingOf(ctx, state, r.in.Folder) // of no project: nothing is known of it
	question := hook.Question(r.in.Prompt)
	if !r.h.Injects(hook.Prompt) {
		question = ""
	}
	told := &session.Telling{State: state, Session: id, Harness: string(r.h), Question: question, Prompt: cmp.Or(question, r.in.Prompt)}
	r.noting(func(ctx context.Context) {
		_ = told.Note(ctx, where.Of(memorystate.Session{ID: id, Harness: string(r.h)}), r.said) // who was told is not told anew
	})
	if !r.h.Injects(hook.Prompt) {
		return "", nil
	}
	kept, err := s.Copies.OnDisk(ctx)
	if kept == nil || err != nil {
		told.Question = ""
		return "", err
	}
	r.later(func() { _ = kept.Leave() })
	told.Copy = s.OnDisk(ctx, kept, state)
	if told.Matrix, err = view.Matrix(r.env, ""); err != nil {
		return "", err
	}
	if where.Name != "" {
		if unsure != nil {
			return "", unsure
		}
		told.Place = where.Place()
	}
	if told.Scope, err = session.ToldScope(ctx, state, where, question); err != nil {
		return "", err
	}
	again, err := told.Again(ctx, kept, s.Client.Relays())
	if err != nil {
		return "", err
	}
	text, err := told.Tell(ctx)
	switch {
	case again != "" && text == "":
		return again, nil
	case again != "":
		return again + "\n" + text, nil
	}
	return text, err
}

// subagent tells titles of the project's memory.
func (r *hookRun) subagent(ctx context.Context) (string, error) {
	if !r.h.Injects(hook.SubagentStart) {
		return "", nil
	}
	return r.inState(ctx, func(s *session.Session, state *memorystate.State) (text string, err error) {
		where, err := session.StandingOf(ctx, state, r.in.Folder)
		if err != nil || !where.Linked {
			return "", err
		}
		kept, err := s.Copies.OnDisk(ctx)
		if err != nil || kept == nil {
			return "", err
		}
		r.later(func() { _ = kept.Leave() })
		err = s.OnDisk(ctx, kept, state).Read(ctx, func(v answer.View) error {
			text = hook.Titles(briefing.Project(v, where.Memory(false)))
			return nil
		})
		return text, err
	})
}

// stop asks a session once what it wants to remember.
func (r *hookRun) stop(ctx context.Context) (string, error) {
	id := session.Name(r.in.Session)
	if id == "" || r.in.Active {
		return "", nil
	}
	return r.inState(ctx, func(_ *session.Session, state *memorystate.State) (string, error) {
		yes, err := state.Sessions.Ask(ctx, id, hook.MinPrompts)
		if !yes || err != nil {
			return "", err
		}
		return hook.Ask, nil
	})
}

// keep asks for what a summary is to keep.
func (r *hookRun) keep(ctx context.Context) (string, error) {
	return r.inState(ctx, func(*session.Session, *memorystate.State) (string, error) { return hook.Keep, nil })
}

// end tells nothing: it notes that the session is over.
func (r *hookRun) end(ctx context.Context) (string, error) {
	id := session.Name(r.in.Session)
	if id == "" {
		return "", nil
	}
	return r.inState(ctx, func(_ *session.Session, state *memorystate.State) (string, error) {
		return "", state.Sessions.End(ctx, id)
	})
}

// inState runs do on the pair's state, if there is one.
func (r *hookRun) inState(ctx context.Context, do func(*session.Session, *memorystate.State) (string, error)) (string, error) {
	s, err := r.env.Session(ctx, cliutil.Configured)
	if err != nil {
		return "", err
	}
	r.later(s.Close)
	state := s.StateIfKept(ctx, r.env.NoteLine)
	switch {
	case state == nil && s.Keeps():
		return "", errNoState
	case state == nil:
		return "", nil
	}
	r.later(func() { _ = state.Close() })
	r.opened <- state
	return do(s, state)
}

// wake tells what a session begins with: see hook.Wake.
func (r *hookRun) wake(ctx context.Context) (string, error) {
	s, err := r.env.Session(ctx, cliutil.Configured)
	if err != nil {
		return "", err
	}
	r.later(s.Close)
	w, err := brief(ctx, r.env, s, r.h, r.in)
	r.later(w.Close)
	if err != nil {
		if id := session.Name(r.in.Session); w.State != nil && id != "" {
			r.noting(func(ctx context.Context) {
				_ = w.State.Turns.Start(ctx, memorystate.Turn{Session: memorystate.Session{ID: id, Harness: string(r.h)}, Note: memorystate.Failed})
			})
		}
		return "", &unreadError{err, w.Seen, w.State != nil && client.Silent(err)}
	}
	if !w.Core.Kept {
		r.later(func() {
			ctx, done := context.WithTimeout(context.Background(), r.env.Allow(session.Tidy))
			defer done()
			s.Outbox.Rest(ctx)
		})
	}
	if r.in.Source == hook.Compact {
		w.Parts.After = hook.Checkpoint()
	}
	if set, err := r.env.Settings(); err == nil && set.Proposals.Accept && s.Memory.Writable() && !tried(r.env) {
		r.later(func() {
			if box, err := proposal.Inbox(r.env, s.Client, s.Memory); err == nil {
				w.AcceptOwners(box)
			}
		})
	}
	attest, err := attests(r.env, s.Memory)
	if err != nil {
		r.env.Note("%v", err)
	}
	if attest && r.in.Source != hook.Compact { // it goes on
		r.later(func() { w.Attest(w.Parts.Start.From) })
	}
	if !attest {
		w.Parts.Who = hook.Identity{}
	}
	note := ""
	if rest, some := w.Parts.Start.Counts.Chores(); some && w.State != nil {
		due, err := w.State.Turns.Chores(ctx)
		if note = memorystate.Chores; !due && err == nil {
			note, w.Parts.Start.Counts = "", rest
		}
	}
	told := briefing.Tell(w.Parts)
	r.noting(func(ctx context.Context) {
		if r.said {
			w.Showed(ctx, told, note)
		}
	})
	return told.Text, nil
}

// unreadError is why the start of a session is told nothing, with what is known of the
// memory: that there was one, and that what is written waits.
type unreadError struct {
	error
	seen, kept bool
}

func (e *unreadError) Unwrap() error { return e.error }

// brief finds what a session begins with.
func brief(ctx context.Context, env *cliutil.Env, s *session.Session, h hook.Harness, in hook.Input) (*session.Brief, error) {
	w, err := s.Brief(ctx, session.Beginning{Harness: h, In: in, Hint: core.CoreHint, Partial: core.CorePartial,
		MayBegin:  func(ctx context.Context) error { return cliutil.MayBegin(ctx, s.Memory) },
		Unreached: func(err error) bool { code := exit.CodeOf(err); return code == exit.Relay || code == exit.Auth },
		Box:       func() (*proposals.Box, error) { return proposal.Inbox(env, s.Client, s.Memory) },
		Ways:      func() hook.Ways { return waysOf(env, h) }})
	if home := env.Home(); home != "" {
		servers, unread := harness.Brought(harness.Disk{}, cliutil.Roots(env), in.Folder)
		w.Parts.Beside = hook.Brought(len(servers), unread)
	}
	w.Parts.Who.Agent, w.Parts.Who.Owner = settings.Npub(s.Memory.Agent()), settings.Npub(s.Memory.Owner())
	return w, err
}

// waysOf is how an agent answers to what waits: by tools where the MCP server that
// setup wrote into the settings of its harness has them, else by commands, which
// are always there.
func waysOf(env *cliutil.Env, h hook.Harness) hook.Ways {
	known, err := harness.Named(string(h))
	if err != nil || env.Home() == "" {
		return hook.WaysOf(false, false)
	}
	tools := strings.Split(known.Tools(harness.Disk{}, cliutil.Roots(env)), ",")
	has := func(name string) bool { return slices.Contains(tools, name) || slices.Contains(tools, eachTool) }
	return hook.WaysOf(has(mindTools), has(memoryTools))
}
