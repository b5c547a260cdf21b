package main

import (
	"context"
	"time"

	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
)

// app is one run: what the commands share.
type app struct{ *cliutil.Env }

func newApp(s *cliutil.System) *app { return appOf(cliutil.New(s)) }

func appOf(e *cliutil.Env) *app { return &app{e} }

// open is cliutil.Env.Session.
func (a *app) open(ctx context.Context, with ...func(*session.Options)) (*session.Session, error) {
	return a.Session(ctx, with...)
}

// withMemory is cliutil.WithMemory.
func (a *app) withMemory(ctx context.Context, do func(ctx context.Context, m *session.Memory) error, with ...func(*session.Options)) error {
	return cliutil.WithMemory(ctx, a.Env, do, with...)
}

// withOwnMemory is cliutil.WithOwnMemory.
func (a *app) withOwnMemory(ctx context.Context, do func(ctx context.Context, m *session.Memory) error) error {
	return cliutil.WithOwnMemory(ctx, a.Env, do)
}

// withCopy is cliutil.WithCopy.
func (a *app) withCopy(ctx context.Context, budget time.Duration, do func(ctx context.Context, s *session.Session, l *session.Copy) error) error {
	return cliutil.WithCopy(ctx, a.Env, budget, do)
}
