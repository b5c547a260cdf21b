package mem

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/nips/nipae"
)

// getOut is `mem get --json`.
type getOut struct {
	cliutil.AnswerOut
	cliutil.EntryOut
	State string `json:"state"` // one of the three below
}

// What is at a slug, in JSON.
const (
	statePresent = "present"
	stateRemoved = "removed" // it was there
	stateAbsent  = "absent"  // it never was
)

func memGetCommand(env *cliutil.Env) *cobra.Command {
	var asJSON bool
	var at string
	c := env.Command(&cobra.Command{
		Use:   "get SLUG [--at TIME|ID] [--json]",
		Short: "Print a memory",
		Long: `Print a memory: its text as it is, byte for byte, without a line end of its own
(on a terminal one is added, and control characters are not passed on).

--at prints the version that was current at a time, or the one with an id, out of
those that mem log shows. A time is like 2006-01-02T15:04:05Z, 2h (ago), yesterday, a
date (the end of that day; today: now) or Unix seconds; an id may be cut to 8 or more
digits.

Exit code 1 if it was never written or is removed, and every relay says so; JSON
tells which, by its state: "present", "removed" or "absent".`,
		Example: `  engramctl mem get notes
  engramctl mem get core --agent npub1…
  engramctl mem get notes --at 2026-01-31`,
		Args: cliutil.Arguments("SLUG"),
	}, func(ctx context.Context, args []string) error {
		slug, err := cliutil.SlugArgument(args[0])
		if err != nil {
			return err
		}
		var when memory.When
		if at != "" {
			if when, err = memory.ParseWhen(at, time.Now()); err != nil {
				return exit.Usagef("--at: %w", err)
			}
		}
		return cliutil.WithMemory(ctx, env, func(ctx context.Context, m *session.Memory) error {
			var entry client.Entry
			var status client.Status
			var err error
			if at == "" {
				entry, status, err = m.Get(ctx, slug)
			} else {
				entry, status, err = m.At(ctx, slug, when)
			}
			if err := env.Report(status, cliutil.About(slug, entry, err)); err != nil {
				return cliutil.FirstOf(printAbsent(env, asJSON, m, slug, entry, status, err), err)
			}
			if asJSON {
				out := getOut{cliutil.AnswerOf(m, status), cliutil.EntryFor(entry), statePresent}
				out.Text = &entry.Text
				return env.PrintJSON(out)
			}
			return env.PrintText(entry.Text)
		})
	})
	cliutil.JSONFlag(c, &asJSON)
	c.Flags().StringVar(&at, "at", "", "the version of `TIME` or ID")
	return c
}

// printAbsent prints, as JSON if that is wanted, that every relay says that
// there is nothing. Any other error prints nothing: what is there is not known.
func printAbsent(env *cliutil.Env, asJSON bool, m *session.Memory, slug nipae.Slug, entry client.Entry, status client.Status, err error) error {
	out := struct {
		cliutil.AnswerOut
		Slug  string `json:"slug"`
		State string `json:"state"`
		Time  string `json:"time,omitempty"` // of the removal
		ID    string `json:"id,omitempty"`
	}{AnswerOut: cliutil.AnswerOf(m, status), Slug: string(slug), ID: entry.ID}
	switch {
	case !asJSON:
		return nil
	case errors.Is(err, client.ErrTombstone):
		out.State, out.Time = stateRemoved, cliutil.Stamp(entry.CreatedAt)
	case errors.Is(err, client.ErrNotFound):
		out.State = stateAbsent
	default:
		return nil
	}
	return env.PrintJSON(out)
}
