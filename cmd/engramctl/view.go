package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/client"
	recallanswer "engramd/internal/memory/recall/answer"
)

// viewOut stands in every JSON answer about the memory as a whole.
type viewOut struct {
	cliutil.AnswerOut
	AsOf  string `json:"as_of,omitempty"` // when relays were last asked
	Stale bool   `json:"stale"`           // not every relay has confirmed lately what is here
}

// seen is what a command makes of a view: how much it found, and how to print
// it.
type seen struct {
	found int
	print func(out viewOut) error
}

// withView has a command look at the whole memory, as the local copy has it, and
// prints what it found. It waits that long for the relays; 0 is what suits a
// person.
func withView(ctx context.Context, env *cliutil.Env, wait time.Duration, look func(recallanswer.View) (seen, error)) error {
	return withPrepared(ctx, env, wait, func(context.Context, *session.Session) {}, look)
}

// withPrepared is withView with something to do before, which may wait: a look
// may not.
func withPrepared(ctx context.Context, env *cliutil.Env, wait time.Duration, prepare func(context.Context, *session.Session), look func(recallanswer.View) (seen, error)) error {
	return withWhole(ctx, env, wait, func(ctx context.Context, s *session.Session, l *session.Copy) (found seen, state recallanswer.State, err error) {
		prepare(ctx, s)
		state, err = l.Look(ctx, func(v recallanswer.View) (err error) {
			found, err = look(v)
			return err
		})
		return found, state, err
	})
}

// withWhole is withView for a command that looks by itself.
func withWhole(ctx context.Context, env *cliutil.Env, wait time.Duration, look func(context.Context, *session.Session, *session.Copy) (seen, recallanswer.State, error)) error {
	if wait < 0 {
		return exit.Usagef("--wait cannot be less than 0")
	}
	return cliutil.WithCopy(ctx, env, wait, func(ctx context.Context, s *session.Session, l *session.Copy) error {
		status, err := reportCopy(ctx, env, l)
		if err != nil {
			return err
		}
		found, state, err := look(ctx, s, l)
		if err != nil {
			return mistaken(err)
		}
		return showSeen(env, found, state, cliutil.AnswerOf(s.Memory, status))
	})
}

// reportCopy says which relays were not reached.
func reportCopy(ctx context.Context, env *cliutil.Env, l *session.Copy) (client.Status, error) {
	fresh, err := l.Follower.Freshness(ctx)
	if err != nil {
		return client.Status{}, err
	}
	status := l.Status(fresh)
	return status, env.Report(status, nil)
}

// mistaken makes a usage error of a query that makes no sense.
func mistaken(err error) error {
	if m := new(*recallanswer.Mistake); errors.As(err, m) {
		return exit.BadUsage(err)
	}
	return err
}

// showSeen prints what a command found. Nothing is "nothing there" if the copy
// may lack something.
func showSeen(env *cliutil.Env, s seen, state recallanswer.State, answer cliutil.AnswerOut) error {
	if s.found == 0 && state.Partial(0) {
		return fmt.Errorf("%w, and what is here has nothing that fits", client.ErrPartial)
	}
	if state.Unreadable > 0 {
		env.Note("%s cannot be read; the slugs are unknown", cliutil.Counted(state.Unreadable, "memory", "memories"))
	}
	out := viewOut{AnswerOut: answer, Stale: state.Stale || state.Unfinished}
	out.Partial = out.Partial || state.Partial(s.found)
	if !state.AsOf.IsZero() {
		out.AsOf = state.AsOf.UTC().Format(time.RFC3339)
	}
	return s.print(out)
}

// waitFlag is --wait.
func waitFlag(c *cobra.Command, to *time.Duration) {
	c.Flags().DurationVar(to, "wait", 0, "how `long` to wait for relays before the local copy is believed; 0: 2s, and for a first copy all of --timeout")
}

// filterFlags are the flags that say which memories may be found.
func filterFlags(c *cobra.Command, q *recallanswer.Query) {
	f := c.Flags()
	f.StringSliceVar(&q.Types, "type", nil, "only memories of a `TYPE`: episodic, semantic, procedural, insight, prospective, narrative")
	f.StringSliceVar(&q.Tags, "tag", nil, "only those with the `TAG`, with all if given again")
	f.StringSliceVar(&q.States, "state", nil, "those in a `STATE`: active (default), archived, superseded, done, all")
	f.StringVar(&q.Since, "since", "", "only those of a `time` or later: 2026-11-20, last week, 3 days ago")
	f.StringVar(&q.Until, "until", "", "only those until the end of a `time`")
	f.StringVar(&q.MinTrust, "min-trust", "", "only those of at least that `TRUST`: external, derived, observed, told")
	f.StringVar(&q.Prefix, "prefix", "", "only slugs that begin with `PREFIX`")
}

// emotions reads --emotion.
func emotions(given map[string]string) (map[string]float64, error) {
	all := map[string]float64{}
	for name, text := range given {
		share, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, exit.Usagef("--emotion: %q is no number", text)
		}
		all[name] = share
	}
	return all, nil
}

// question reads a query from a command line.
func question(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("QUERY is missing")
	}
	return nil
}

func queryOf(args []string) string { return strings.Join(args, " ") }
