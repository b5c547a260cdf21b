package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"engramd/internal/client"
)

// getOut is `mem get --json`.
type getOut struct {
	answerOut
	entryOut
}

func (a *app) memGetCommand() *cobra.Command {
	var asJSON bool
	var at string
	c := a.command(&cobra.Command{
		Use:   "get SLUG [--at TIME|ID] [--json]",
		Short: "Print a memory",
		Long: `Print a memory: its text as it is, byte for byte, without a line end of its own
(on a terminal one is added, and control characters are not passed on).

--at prints the version that was current at a time, or the one with an id, out of
those that mem log shows. A time is like 2006-01-02T15:04:05Z, 2h (ago), yesterday, a
date (the end of that day; today: now) or Unix seconds; an id may be cut to 8 or more
digits.

Exit code 1 if it was never written or is removed, and every relay says so.`,
		Example: `  engramctl mem get notes
  engramctl mem get core --agent npub1…
  engramctl mem get notes --at 2026-01-31`,
		Args: arguments("SLUG"),
	}, func(ctx context.Context, args []string) error {
		slug, err := slugArgument(args[0])
		if err != nil {
			return err
		}
		var when client.When
		if at != "" {
			if when, err = client.ParseWhen(at, time.Now()); err != nil {
				return usagef("--at: %w", err)
			}
		}
		return a.withMemory(ctx, func(ctx context.Context, m *client.Memory) error {
			var entry client.Entry
			var status client.Status
			var err error
			if at == "" {
				entry, status, err = m.Get(ctx, slug)
			} else {
				entry, status, err = m.At(ctx, slug, when)
			}
			if err := a.report(status, about(entry, err)); err != nil {
				return err
			}
			if asJSON {
				out := getOut{answerOf(m, status), entryFor(entry)}
				out.Text = &entry.Text
				return a.printJSON(out)
			}
			return a.printText(entry.Text)
		})
	})
	jsonFlag(c, &asJSON)
	c.Flags().StringVar(&at, "at", "", "the version of `TIME` or ID")
	return c
}

// about adds to "removed" when that was.
func about(entry client.Entry, err error) error {
	if errors.Is(err, client.ErrTombstone) && entry.CreatedAt > 0 {
		return fmt.Errorf("%w at %s (engramctl mem log shows what was before)", err, stamp(entry.CreatedAt))
	}
	return err
}
