package verify

import (
	"context"
	"fmt"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/spf13/cobra"

	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/client"
	"engramd/internal/memory/snapshots"
	memorystate "engramd/internal/memory/state"
	"engramd/internal/memory/verify/attestation"
	"engramd/internal/protocol/wire"
	"engramd/internal/protocol/writerlog"
)

// NewAttest returns the command attest.
func NewAttest(env *cliutil.Env) *cobra.Command {
	var publish bool
	c := cliutil.PairFlags(env, env.Command(&cobra.Command{
		Use:   "attest [--publish]",
		Short: "Sign what the agent's memory is now, so that it can be proved later",
		Long: `Sign what the agent's memory is now, and print the event: the name of this machine's
log, how many numbers it has and its root, the root over the heads of the whole memory
as a snapshot made now would have it, and the time. Nothing else is in it, and no
memory can be read from it. Whoever keeps the event can prove later that what was
written until now was neither changed nor left out: attest verify.

With --publish it is also sent to the relays (kind 30078), where it takes the place of
the last one. That tells the world that this agent lives, and how much it writes.

All relays must answer (exit code 4). Exit code 1 if nothing was written on this machine,
6 where relays show less than it has (engramctl repair).
docs/trust.md says what is proved, and what is not.`,
		Example: `  engramctl attest > attestation.json
  engramctl attest --publish
  engramctl attest verify attestation.json`,
	}, func(ctx context.Context, _ []string) error {
		opened, err := env.Session(ctx, cliutil.Patiently)
		if err != nil {
			return err
		}
		defer opened.Close()
		c, m := opened.Client, opened.Memory
		state, err := logState(ctx, env, m)
		if err != nil {
			return err
		}
		defer state.Close()
		if err := m.Session().Discover(ctx); err != nil {
			return err
		}
		made, status, err := attested(ctx, c, m, state)
		if err := env.Report(status, err); err != nil {
			return err
		}
		ev := made.Event()
		if err := c.Identity().Sign(ev); err != nil {
			return err
		}
		if err := env.Print("%s\n", wire.AppendEvent(nil, ev)); err != nil || !publish {
			return err
		}
		published, err := c.Publish(ctx, ev)
		return env.ReportWith(client.Status{Published: published}, err, "engramctl attest --publish makes another one for all")
	}))
	c.Flags().BoolVar(&publish, "publish", false, "send it to the relays too")
	c.AddCommand(newVerify(env))
	return c
}

// logState opens the state for a command that cannot do without its log.
func logState(ctx context.Context, env *cliutil.Env, m *session.Memory) (*memorystate.State, error) {
	s, err := env.Settings()
	switch {
	case err != nil:
		return nil, err
	case !m.Writable():
		return nil, exit.Usagef("this key is the owner's, and only the agent signs what it has written")
	case env.Flags.NoMirror || s.NoMirror:
		return nil, exit.Usagef("nothing is kept on this machine (--no-mirror, no_mirror), and so what is written is in no log")
	}
	soon, cancel := context.WithTimeout(ctx, env.Allow(session.OpenBudget))
	defer cancel()
	return m.Session().OpenState(soon, env.NoteLine)
}

// attestTries is how often the memory is looked at until nothing is written
// meanwhile.
const attestTries = 3

// attested is what may be signed now. Errors are client.ErrNotFound where nothing
// was written, snapshots.ErrMoving, client.ErrBehind, and those of snapshots.Take.
func attested(ctx context.Context, c *client.Client, m *session.Memory, state *memorystate.State) (made attestation.Attestation, status client.Status, err error) {
	log, root, err := state.Links.Root(ctx)
	for range attestTries {
		if err != nil {
			return made, status, err
		}
		if log.Next == 0 {
			return made, status, fmt.Errorf("a log of this machine: %w: nothing was written here since logs are kept", client.ErrNotFound)
		}
		captured, err := snapshots.Take(ctx, c, snapshots.Wanted{Agent: m.Agent(), Whole: true}, time.Now)
		if err != nil {
			return made, captured.Status, err
		}
		if n := m.Besides(ctx, captured.Heads(), captured.Status).Behind; n > 0 {
			return made, captured.Status, fmt.Errorf("%w of %s: nothing is attested", client.ErrBehind, cliutil.Counted(n, "memory", "memories"))
		}
		before := log
		if log, root, err = state.Links.Root(ctx); err != nil || log.W != before.W || log.Next != before.Next {
			continue
		}
		heads, ok := writerlog.ParseID(captured.Root())
		if !ok {
			return made, status, fmt.Errorf("the root over the heads: %q", captured.Root())
		}
		return attestation.Attestation{W: log.W, N: log.Next, Root: root, Heads: heads, At: int64(nostr.Now())}, captured.Status, nil
	}
	if err == nil {
		err = snapshots.ErrMoving
	}
	return made, status, err
}
