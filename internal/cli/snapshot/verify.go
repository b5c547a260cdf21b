package snapshot

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/settings"
	"engramd/internal/snapshot"
	"engramd/internal/snapshot/bundle"
)

func newVerify(env *cliutil.Env, f *Options) *cobra.Command {
	var o struct {
		path, id string
	}
	c := env.Command(&cobra.Command{
		Use:   "verify ID | --bundle FILE [--decrypt-identity FILE] [--trust KEY] [--json]",
		Short: "Verify a snapshot, check by check",
		Long: `Verify a snapshot: the file, what it says of itself, every event's signature, that each
head is the head, and the root over them. Each check is ok, failed, or not checked,
with the reason. With the agent's or an owner's key also that every engram decrypts,
and as of which number of each writer's log nothing is left out (docs/trust.md).
Anybody can verify a file: --bundle needs no key, and no relay is asked.

A signature is ok if it is the agent's, or by a key of --trust: a relay's, which
engramd relay-key shows. Without one each event in the snapshot is genuine, but not
proved are that they are all of them, its time, its label and its tenant.

Exit code 6 unless all that was asked for is ok.`,
		Example: `  engramctl snapshot verify --bundle 20261120T235100Z-0123456789abcdef.tar.zst
  engramctl snapshot verify 20261120T235100Z-0123456789abcdef --decrypt-identity age.key`,
		Args: cobra.ArbitraryArgs,
	}, func(ctx context.Context, args []string) error {
		if args = idArgument(&o.id, args); o.id == "" && o.path == "" && len(args) > 0 {
			o.path, args = args[0], args[1:] // what is no id is a file
		}
		if err := noMore(args); err != nil {
			return err
		}
		if (o.path == "") == (o.id == "") {
			return exit.Usagef("which snapshot? Give its id, or --bundle FILE")
		}
		if o.id != "" {
			if err := needID(o.id); err != nil {
				return err
			}
		}
		logs := snapshot.NewLogs("the snapshot")
		report, err := verifyOne(ctx, env, f, o.path, o.id, logs)
		if err != nil {
			return err
		}
		report.Checks = append(report.Checks, logsOf(report, logs))
		if env.Flags.JSON {
			err = env.PrintJSON(report)
		} else {
			err = report.WriteText(env.Out())
		}
		return cliutil.FirstOf(err, report.Err())
	})
	c.Flags().StringVar(&o.path, "bundle", "", "`file` of the snapshot")
	idFlag(c, &o.id)
	IdentityFlag(c, f)
	trustFlag(c, f)
	return c
}

func verifyOne(ctx context.Context, env *cliutil.Env, f *Options, path, id string, logs *snapshot.Logs) (report *bundle.Report, err error) {
	if path != "" {
		return verifyFile(ctx, env, f, path, logs)
	}
	store, p, err := at(ctx, env, f, false)
	if err != nil {
		return nil, err
	}
	o, err := verifying(env, store, f, p)
	if err != nil {
		return nil, err
	}
	o.Engram = logs.Add
	err = withLock(ctx, env, f, p.agent, func(_ *snapshot.Store, lock *snapshot.Lock) error {
		report, err = lock.Verify(ctx, id, time.Now(), o)
		return err
	})
	if report == nil && snapshot.CannotWrite(err) {
		env.Note("the folder cannot be written to: that it was verified is not recorded")
		return store.Verify(ctx, f.Tenant, p.agent, id, o)
	}
	return report, err
}

// logsOf is what the engrams that were read tell of logs.
func logsOf(report *bundle.Report, logs *snapshot.Logs) bundle.Check {
	if c := report.Check(bundle.CheckDecrypts); c.State != bundle.OK {
		return bundle.Check{Name: snapshot.CheckLogs, State: bundle.NotChecked, Reason: "not every engram was read"}
	}
	return logs.Check()
}

// verifyFile verifies a file, whoever it belongs to.
func verifyFile(ctx context.Context, env *cliutil.Env, f *Options, path string, logs *snapshot.Logs) (*bundle.Report, error) {
	ids, err := Identities(env, f)
	if err != nil {
		return nil, err
	}
	s, err := env.Settings()
	if err != nil {
		return nil, err
	}
	trusted, err := f.trusted()
	if err != nil {
		return nil, err
	}
	o := bundle.VerifyOptions{Agent: s.Agent, Identities: ids, Trusted: trusted, Engram: logs.Add, Parent: snapshot.ParentBeside(env.Path(path), nil)}
	if s.Key != (settings.KeySource{}) {
		p, err := partyOf(ctx, env, true)
		if err != nil {
			return nil, err
		}
		o.Keys = p.keys
	}
	report, err := bundle.Verify(ctx, env.Path(path), o)
	if err != nil {
		return nil, exit.Usagef("%w", err)
	}
	return report, nil
}

func newDiff(env *cliutil.Env, f *Options) *cobra.Command {
	c := env.Command(&cobra.Command{
		Use:   "diff A B [--decrypt-identity FILE] [--json]",
		Short: "Show how two snapshots differ",
		Long: `Show which records differ from snapshot A to snapshot B (ids, or files): added,
changed, removed, tombstoned. With the agent's or an owner's key by slug and line by
line, without one by address.`,
		Example: `  engramctl snapshot diff 20261119T235100Z-0123456789abcdef 20261120T235100Z-fedcba9876543210`,
	}, func(ctx context.Context, args []string) error {
		store, p, err := at(ctx, env, f, false)
		if err != nil {
			return err
		}
		var sides [2]*bundle.Bundle
		var heads [2]snapshot.Heads
		for i, name := range args {
			if sides[i], err = openBundle(ctx, env, store, f, p, name); err != nil {
				return err
			}
			if heads[i], err = snapshot.ReadHeads(ctx, sides[i], p.agent, p.keys); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		changes := snapshot.Diff(heads[0], heads[1])
		if p.keys != nil {
			if err := snapshot.AddLines(ctx, changes, sides[0], sides[1], p.agent, p.keys); err != nil {
				return err
			}
		}
		if env.Flags.JSON {
			return env.PrintJSON(append([]snapshot.Change{}, changes...))
		}
		return snapshot.WriteChanges(env.Out(), changes)
	})
	IdentityFlag(c, f)
	return c
}
