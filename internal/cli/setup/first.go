package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/settings"
	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/nips/nipae"
)

// tried is where setup writes to see whether a memory is kept: among what programs keep.
const tried = nipae.Slug("mem/sys/setup")

// approve has the owner allow the agent, where the owner's key is at hand.
func (s *setup) approve(ctx context.Context) error {
	agent, err := settings.PublicKey("agent", "the key", s.agent)
	if s.owner == nil || s.agent == "" || err != nil {
		return nil
	}
	c := client.New(*s.owner, client.Options{Relays: s.want.Relays, Timeout: s.env.Flags.Timeout, Trace: s.env.Trace()})
	defer c.Close()
	ctx, done := s.env.Bounded(ctx)
	defer done()
	if _, err := memory.ApprovalsOf(c).Allow(ctx, agent); err != nil {
		return s.step("approval", "not taken: %v. Later: engramctl agents allow %s --key-file %s --relay %s", err, s.agent, s.ownerPath(), strings.Join(s.want.Relays, " --relay "))
	}
	return s.step("approval", "the owner has approved the agent")
}

// Try writes a memory and reads it again, and sends nothing that waits. status is what the
// relays said to it.
func Try(ctx context.Context, env *cliutil.Env) (status client.Status, err error) {
	text := "engramctl wrote this to see whether it is kept: " + time.Now().UTC().Format(time.RFC3339Nano)
	err = cliutil.WithMemory(ctx, env, func(ctx context.Context, m *session.Memory) (err error) {
		if _, status, err = m.Set(ctx, tried, text, memory.SetOptions{}); err != nil {
			return err
		}
		if err := env.Report(status, nil); err != nil {
			return err
		}
		entry, _, err := m.Get(ctx, tried)
		if err == nil && entry.Text != text {
			err = fmt.Errorf("%w: another text was read than was written", client.ErrUnverified)
		}
		return err
	})
	return status, err
}

// tryMemory says whether a memory is kept. What the settings say is done by then.
func (s *setup) tryMemory(ctx context.Context) error {
	s.env.Flags.Profile = s.name
	_, err := Try(ctx, s.env)
	switch {
	case err == nil:
		return s.step("memory", "a first text was written and read again")
	case errors.Is(err, client.ErrAuth), errors.Is(err, client.ErrRefused):
		who := fmt.Sprintf("give its operator the owner's public key, %s, to list; then the owner approves the agent: engramctl agents allow %s --key-file FILE --relay %s", s.want.Owner, cmp.Or(s.agent, "NPUB"), strings.Join(s.want.Relays, " --relay "))
		if s.owner != nil {
			who = fmt.Sprintf("give its operator the owner's public key, %s, to list, and run this once more", s.want.Owner)
		}
		return fmt.Errorf("nothing is remembered yet, all else is done: %w. Is the relay a private one? Then %s", err, who)
	}
	return fmt.Errorf("nothing is remembered yet, all else is done: %w. Run this once more when it is mended", err)
}
