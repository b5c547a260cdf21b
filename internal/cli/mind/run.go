package mind

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/settings"
	"engramd/internal/memory/consolidation"
	"engramd/internal/memory/consolidation/plans"
	consolidationthinker "engramd/internal/memory/consolidation/thinker"
)

// soonest is the least time between two runs.
const soonest = time.Minute

// runFlags are what `mind run` is told, beside who thinks.
type runFlags struct {
	thinkFlags
	every                  time.Duration
	propose, commit, dream bool
}

func runCommand(env *cliutil.Env) *cobra.Command {
	var f runFlags
	c := env.Command(&cobra.Command{
		Use:   "run [--exec COMMAND | --llm-url URL --llm-model NAME] [--propose | --commit] [--dream] [--every DURATION] [--json]",
		Short: "Have a program or a model server think about what waits",
		Long: `Have a program (--exec) or a model server (--llm-url) think about the episodes that
wait, instead of the agent itself: once, or every so often until a signal ends it. The
operations that come back are checked as those of mind commit are, and then wait for
mind review (--propose, the default), or are carried out (--commit). Nobody is asked if
nothing waits, or if a proposal of before still waits to be looked at.

The program gets the plan on stdin and writes {"operations": [...]} to stdout, words
and a fence around it do no harm. It has an empty folder, nothing of ENGRAM_*, a time
limit, and ends with all that it started. Switch the tools of a harness off:
docs/mind.md has the lines. A model server on another machine takes https and
--send-plaintext: it reads memories as plain text.

If the thinker fails nothing is changed, and the plan stays as it was (exit code 4; 6 if
its answer cannot be used, 5 if another thinker is at work on this machine).`,
		Example: `  engramctl mind run --exec 'claude -p --tools "" --strict-mcp-config --setting-sources ""'
  engramctl mind run --llm-url http://127.0.0.1:8080 --llm-model qwen3-4b --dream
  engramctl mind run --every 4h`,
		Args: cliutil.Arguments(),
	}, func(ctx context.Context, _ []string) error {
		if f.every == 0 {
			return thinkOnce(ctx, env, f)
		}
		return thinkEvery(ctx, env, f)
	})
	f.add(c)
	c.Flags().BoolVar(&f.propose, "propose", false, "leave the operations to be looked at with mind review (the default)")
	c.Flags().BoolVar(&f.commit, "commit", false, "carry the operations out")
	c.Flags().BoolVar(&f.dream, "dream", false, "dream after that")
	c.Flags().DurationVar(&f.every, "every", 0, "again each time that a `DURATION` has passed, 4h for example; without it once")
	c.MarkFlagsMutuallyExclusive("propose", "commit")
	return c
}

// thinkEvery thinks until the context ends. What fails is said, and tried again
// later; what cannot work is an error at once.
func thinkEvery(ctx context.Context, env *cliutil.Env, f runFlags) error {
	if f.every < soonest {
		return exit.Usagef("--every: at least %v", soonest)
	}
	if _, err := openThinker(env, f.thinkFlags); err != nil {
		return err
	}
	if err := mayPlan(env); err != nil {
		return err
	}
	consolidationthinker.Repeat(ctx, f.every, time.After, func(ctx context.Context) error {
		err := thinkOnce(ctx, env, f)
		if err != nil && ctx.Err() == nil {
			env.Note("%s", settings.Redact(err.Error()))
		}
		return err
	})
	return nil
}

// thinkOnce has one plan of each kind thought about. The turn is taken before
// anything is read: a thinker that was started by one is told so.
func thinkOnce(ctx context.Context, env *cliutil.Env, f runFlags) (err error) {
	turn, err := consolidationthinker.Take(ThinkLock(env))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, turn.Close()) }()
	thinker, err := openThinker(env, f.thinkFlags)
	if err != nil {
		return err
	}
	kinds := []consolidation.Kind{consolidation.Consolidate}
	if f.dream {
		kinds = append(kinds, consolidation.Dream)
	}
	for _, kind := range kinds {
		if err := thinkOf(ctx, env, kind, f, thinker, turn); err != nil {
			return err
		}
	}
	return nil
}

// errWaits means that a proposal waits to be looked at.
var errWaits = errors.New("a proposal waits")

// thinkOf has one plan of a kind thought about.
func thinkOf(ctx context.Context, env *cliutil.Env, kind consolidation.Kind, f runFlags, thinker consolidationthinker.Thinker, turn *consolidationthinker.Turn) error {
	var waiting string
	var result plans.Result
	round := consolidationthinker.Round{
		Prepare: func(ctx context.Context, kind consolidation.Kind) (plan consolidation.Plan, text string, err error) {
			err = WithPlans(ctx, env, func(ctx context.Context, p Thinking) error {
				if waiting, err = proposed(ctx, p, kind); err != nil || waiting != "" && !f.commit {
					return errors.Join(err, errWaits)
				}
				plan, text, err = p.Prepare(ctx, kind, plans.PrepareOptions{})
				return err
			})
			return plan, text, err
		},
		Apply: func(ctx context.Context, plan string, ops []consolidation.Op) error {
			return WithPlans(ctx, env, func(ctx context.Context, p Thinking) (err error) {
				carry := p.Propose
				if f.commit {
					carry = p.Commit
				}
				result, err = carry(ctx, plan, ops)
				return err
			})
		},
		Thinker: thinker, Turn: turn, PerDay: f.runs, Now: time.Now,
	}
	done, err := round.Run(ctx, kind)
	var op *consolidation.OpError
	switch {
	case errors.Is(err, errWaits) && waiting != "":
		env.Note("%s: nobody was asked, since %s waits to be looked at: engramctl mind review %s", kind, waiting, waiting)
		return printRun(env, plans.Result{})
	case errors.Is(err, consolidation.ErrDreamless), err == nil && !done.Asked:
		env.Note("%s: nothing waits, nobody was asked", kind)
		return printRun(env, plans.Result{})
	case errors.As(err, &op) && !errors.Is(err, consolidation.ErrChanged):
		return fmt.Errorf("plan %s is as it was: %w: %w", done.Plan.ID, consolidationthinker.ErrAnswer, op)
	case err != nil:
		return err
	}
	env.Note("%s: %s, %s shown; %s asked for", kind, cliutil.Counted(done.Plan.Waiting, "episode waits", "episodes wait"),
		cliutil.Counted(len(done.Plan.Units), "memory was", "memories were"), cliutil.Counted(done.Ops, "operation was", "operations were"))
	return printRun(env, result)
}

// printRun prints what came of a plan.
func printRun(env *cliutil.Env, r plans.Result) error {
	if r.ID == "" && !env.Flags.JSON {
		return nil
	}
	return PrintCommitted(env, r)
}

// proposed returns a record of a kind that waits to be looked at, "" if there is
// none.
func proposed(ctx context.Context, p Thinking, kind consolidation.Kind) (string, error) {
	all, err := p.List(ctx)
	for _, r := range all {
		if r.Kind == kind && r.Status == plans.Proposed {
			return r.ID, err
		}
	}
	return "", err
}
