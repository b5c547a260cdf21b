package main

import (
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
	"engramd/internal/memory/proposals"
)

// wake tells what a session begins with: see hook.Wake.
func (r *hookRun) wake(ctx context.Context) (string, error) {
	s, err := r.env.Session(ctx)
	if err != nil {
		return "", err
	}
	r.later(s.Close)
	w, err := brief(ctx, r.env, s, r.h, r.in)
	r.later(w.Close)
	if err != nil {
		return "", err
	}
	if r.in.Source == hook.Compact {
		w.Parts.After = hook.Checkpoint()
	}
	told := briefing.Tell(w.Parts)
	w.Showed(ctx, told)
	if attest, err := attests(r.env, s.Memory); err != nil {
		r.env.Note("%v", err)
	} else if attest && r.in.Source != hook.Compact { // it goes on
		r.later(func() { w.Attest(w.Parts.Start.From) })
	}
	return told.Text, nil
}

// brief finds what a session begins with.
func brief(ctx context.Context, env *cliutil.Env, s *session.Session, h hook.Harness, in hook.Input) (*session.Brief, error) {
	w, err := s.Brief(ctx, session.Beginning{Harness: h, In: in, Hint: core.CoreHint, Partial: core.CorePartial,
		MayBegin:  func(ctx context.Context) error { return cliutil.MayBegin(ctx, s.Memory) },
		Unreached: func(err error) bool { code := exit.CodeOf(err); return code == exit.Relay || code == exit.Auth },
		Box:       func() (*proposals.Box, error) { return proposal.Inbox(env, s.Client, s.Memory) },
		Ways:      func() hook.Ways { return waysOf(env, h) }})
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
	return hook.WaysOf(slices.Contains(tools, "mind"), slices.Contains(tools, "memory"))
}
