package mem

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/mem/edit"
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

func getCommand(env *cliutil.Env) *cobra.Command {
	var at string
	var lost bool
	c := env.Command(&cobra.Command{
		Use:   "get SLUG [--at TIME|ID] [--lost] [--json]",
		Short: "Print a memory",
		Long: `Print a memory: its text as it is, byte for byte, without a line end of its own
(on a terminal one is added, and control characters are not passed on).

--at prints the version that was current at a time, or the one with an id, out of
those that mem log shows. A time is like 2006-01-02T15:04:05Z, 2h (ago), yesterday, a
date (the end of that day; today: now) or Unix seconds; an id may be cut to 8 or more
digits.

Where relays show an older version than this machine knows, or none, the newest that
it has is printed, and stderr says so (JSON: behind); exit code 6 where it has no text.
Where no relay answers, this machine's is printed (JSON: stale); exit code 4 where it
has none. With --relay, what those relays show is printed.

An owner is not given what no relay shows any more, since the agent may have deleted
it; --lost prints what his machine has.

Exit code 1 if it was never written or is removed, and every relay says so; JSON
tells which, by its state: "present", "removed" or "absent".`,
		Example: `  engramctl mem get notes
  engramctl mem get core --agent npub1…
  engramctl mem get notes --at 2026-01-31`,
	}, cliutil.OnSlug(cliutil.SlugArgument, func(ctx context.Context, slug nipae.Slug, args []string) error {
		var when memory.When
		if at != "" {
			var err error
			if when, err = memory.ParseWhen(at, time.Now()); err != nil {
				return exit.Usagef("--at: %w", err)
			}
		}
		return cliutil.WithMemory(ctx, env, func(ctx context.Context, m *session.Memory) error {
			var entry client.Entry
			var status client.Status
			var err error
			if at == "" {
				get := m.Read
				if lost {
					get = m.Lost().Get
				}
				entry, status, err = get(ctx, slug)
			} else {
				entry, status, err = m.At(ctx, slug, when)
			}
			if err := env.Report(status, cliutil.About(slug, entry, err)); err != nil {
				return cliutil.FirstOf(printAbsent(env, m, slug, entry, status, err), err)
			}
			if status.Queued {
				env.Note("not sent yet: it waits on this machine until a relay answers")
			}
			if env.Flags.JSON {
				out := getOut{cliutil.AnswerOf(m, status), cliutil.EntryFor(entry), statePresent}
				out.Text = &entry.Text
				return env.PrintJSON(out)
			}
			return env.PrintText(entry.Text)
		})
	}))
	c.Flags().BoolVar(&lost, "lost", false, "an owner: also what no relay shows any more")
	c.Flags().StringVar(&at, "at", "", "the version of `TIME` or ID")
	return c
}

// printAbsent prints, as JSON if that is wanted, that every relay says that
// there is nothing. Any other error prints nothing: what is there is not known.
func printAbsent(env *cliutil.Env, m *session.Memory, slug nipae.Slug, entry client.Entry, status client.Status, err error) error {
	out := struct {
		cliutil.AnswerOut
		Slug  string `json:"slug"`
		State string `json:"state"`
		Time  string `json:"time,omitempty"` // of the removal
		ID    string `json:"id,omitempty"`
	}{AnswerOut: cliutil.AnswerOf(m, status), Slug: string(slug), ID: entry.ID}
	switch {
	case !env.Flags.JSON:
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

func hashCommand(env *cliutil.Env) *cobra.Command {
	return env.Command(&cobra.Command{
		Use:   "hash SLUG",
		Short: "Print the hash of a memory, for --base",
		Long: `Print the SHA-256 of a memory's text in hex: what --base of mem set and mem patch
takes, and what sha256sum says of the output of mem get.`,
		Example: `  base=$(engramctl mem hash notes)
  engramctl mem get notes | sha256sum`,
	}, cliutil.OnSlug(cliutil.SlugArgument, func(ctx context.Context, slug nipae.Slug, args []string) error {
		return cliutil.WithMemory(ctx, env, func(ctx context.Context, m *session.Memory) error {
			entry, status, err := m.Read(ctx, slug)
			if err := env.Report(status, cliutil.About(slug, entry, err)); err != nil {
				return err
			}
			return env.Print("%s\n", entry.Hash)
		})
	}))
}

func rmCommand(env *cliutil.Env) *cobra.Command {
	var over bool
	c := env.Command(&cobra.Command{
		Use:   "rm SLUG [--over-unreadable] [--json]",
		Short: "Remove a memory",
		Long: `Remove a memory: a tombstone is written over it. Its old text stays in the relays'
history for a while (mem log, mem restore). The core cannot be removed, only
written anew. Exit code 1 if there is nothing to remove.`,
		Example: `  engramctl mem rm notes`,
	}, cliutil.OnSlug(cliutil.SlugArgument, func(ctx context.Context, slug nipae.Slug, args []string) error {
		if slug.IsCore() {
			return exit.BadUsage(client.ErrCore)
		}
		return cliutil.WithOwnMemory(ctx, env, func(ctx context.Context, m *session.Memory) error {
			entry, status, err := m.Remove(ctx, slug, over)
			if err := env.Report(status, nothingToRemove(slug, entry, cliutil.Explained(err))); err != nil {
				return cliutil.FirstOf(printAbsent(env, m, slug, entry, status, err), err)
			}
			return env.Show(struct {
				cliutil.AnswerOut
				Slug    string `json:"slug"`
				Removed bool   `json:"removed"`
			}{cliutil.AnswerOf(m, status), string(slug), true}, "%s  removed\n", slug)
		})
	}))
	edit.OverFlag(c, &over)
	return c
}

// nothingToRemove is about for who wants a record gone.
func nothingToRemove(slug nipae.Slug, entry client.Entry, err error) error {
	if errors.Is(err, client.ErrTombstone) && entry.CreatedAt > 0 {
		return fmt.Errorf("nothing to remove: %s was %w before, at %s", slug, err, cliutil.Stamp(entry.CreatedAt))
	}
	if errors.Is(err, client.ErrNotFound) {
		return fmt.Errorf("nothing to remove: %s: %w", slug, err)
	}
	return cliutil.About(slug, entry, err)
}
