package proposal

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/terminal"
	"engramd/internal/client"
	"engramd/internal/memory/proposals"
	"engramd/nips/nipae"
)

// propose makes a proposal about a slug and sends it.
func propose(ctx context.Context, env *cliutil.Env, o proposeOptions, slug nipae.Slug, make func(ctx context.Context, m *session.Memory) (proposals.Proposal, error)) error {
	if err := vouchedBy(ctx, env, o); err != nil {
		return err
	}
	opened, err := openProposing(ctx, env)
	if err != nil {
		return err
	}
	defer opened.Close()
	c, m := opened.Client, opened.Memory
	ctx, done := env.Bounded(ctx)
	defer done()
	if err := m.Session().Discover(ctx); err != nil {
		return err
	}
	p, err := make(ctx, m)
	if err != nil {
		return err
	}
	p.Slug = slug
	return sendProposal(ctx, env, c, m, o, p)
}

// vouchedBy says what --vouch means, and asks a person at a terminal.
func vouchedBy(ctx context.Context, env *cliutil.Env, o proposeOptions) error {
	const means = "once this is accepted, the agent treats the whole text as told by you"
	switch {
	case !o.vouch:
		return nil
	case !env.Terminal.Stdin || env.Terminal.Line == nil:
		env.Note("--vouch: %s", means)
		return nil
	}
	answer, err := env.Terminal.Line(ctx, "--vouch: "+means+". Go on? [y/N] ")
	switch {
	case errors.Is(err, terminal.ErrNoTerminal):
		env.Note("--vouch: %s", means)
		return nil
	case err != nil:
		return err
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return exit.Usagef("nothing was proposed")
}

// openProposing opens the memory of an agent that is another key than ours. What
// is proposed is in no log, and in no copy: it is no memory.
func openProposing(ctx context.Context, env *cliutil.Env) (*session.Session, error) {
	env.Flags.NoMirror = true
	s, err := env.Session(ctx)
	switch {
	case err != nil:
		return nil, err
	case s.Memory.Agent() == s.Memory.Owner():
		err = exit.BadUsage(proposals.ErrSelf)
	case s.Memory.Writable():
		err = exit.Usagef("whose memory? Name the agent (--agent): what is in your own, mem set and mem edit write")
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// proposedFor reads what a proposal is made for; nothing is an empty entry.
func proposedFor(ctx context.Context, env *cliutil.Env, m *session.Memory, slug nipae.Slug) (client.Entry, error) {
	head, status, err := m.Get(ctx, slug)
	if errors.Is(err, client.ErrNotFound) || errors.Is(err, client.ErrTombstone) {
		return client.Entry{}, env.Report(status, nil)
	}
	return head, env.Report(status, cliutil.About(slug, head, err))
}

// proposedAbout is proposedFor of what must be there.
func proposedAbout(ctx context.Context, env *cliutil.Env, m *session.Memory, slug nipae.Slug) (client.Entry, error) {
	head, status, err := m.Get(ctx, slug)
	return head, env.Report(status, cliutil.About(slug, head, err))
}

// sendProposal sends one and says how the agent names it.
func sendProposal(ctx context.Context, env *cliutil.Env, c *client.Client, m *session.Memory, o proposeOptions, p proposals.Proposal) error {
	p.Agent, p.Why = m.Agent(), o.why
	by := &proposals.Author{Client: c, AllowSecret: o.allow}
	p, status, err := by.Propose(ctx, p)
	if errors.Is(err, proposals.ErrRefused) {
		err = fmt.Errorf("%w: what is proposed is signed and cannot be redacted later; --allow-secret sends it all the same", err)
	}
	if err := env.ReportWith(status, err, "proposing it again sends another proposal"); err != nil {
		return err
	}
	return env.Show(struct {
		cliutil.AnswerOut
		proposalOut
	}{cliutil.AnswerOf(m, status), proposalFor(proposals.Item{Proposal: p}, "")}, "%s  %s proposed  id %s\n", p.Slug, p.Act, p.EventID[:cliutil.ShortID])
}
