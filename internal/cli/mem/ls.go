// Package mem reads the memories of a pair: engramctl mem.
package mem

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/mem/edit"
	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/memory/recall"
	"engramd/internal/memory/write"
	"engramd/internal/platform/timeparse"
	"engramd/nips/frontmatter"
)

// listOut is `mem ls --json`.
type listOut struct {
	cliutil.AnswerOut
	Memories   []cliutil.EntryOut `json:"memories"`
	Core       *cliutil.EntryOut  `json:"core,omitempty"`       // with --all
	Removed    []cliutil.EntryOut `json:"removed,omitempty"`    // with --all
	Unreadable int                `json:"unreadable,omitempty"` // places at which nothing can be read
	At         string             `json:"at,omitempty"`         // the instant that was asked for, by created_at
	Unknown    int                `json:"unknown,omitempty"`    // memories of now of which no version of then is kept
}

// lsOptions are the flags of mem ls.
type lsOptions struct {
	all, archived bool
	at            string
}

func lsCommand(env *cliutil.Env) *cobra.Command {
	var o lsOptions
	c := env.Command(&cobra.Command{
		Use:   "ls [--all | --archived] [--at TIME] [--json]",
		Short: "List memories with sizes and times",
		Long: `List memories with sizes and times, by slug. Core, removed memories and those that
programs keep (mem/sys/, mem/proposals/, mem/proposals-answers/) are shown with --all
only; --archived lists those that are archived and no others. JSON has ids and hashes
too; texts are what mem get shows. Where there is no memory at all, stderr says so, and
with whom this key has memory.

Where relays show older versions than this machine knows, or none, its own are listed, and
stderr says of how many (JSON: behind_n).

--at lists what was there at a time in the past, by the times that versions bear, as far
as the relays keep superseded ones: 2026-01-31T12:00:00Z, 2h (ago), yesterday, or a date
(the end of that day; today: now). What was deleted since is not shown.

Exit code 6 if there is memory and none of it can be read, or its texts are not here and
no relay shows them.`,
		Example: `  engramctl mem ls
  engramctl mem ls --json | jq -r '.memories[].slug'
  engramctl mem ls --agent npub1… --all`,
	}, func(ctx context.Context, _ []string) error { return runLs(ctx, env, o) })
	c.Flags().StringVar(&o.at, "at", "", "the memory at a `time` in the past")
	c.Flags().BoolVar(&o.archived, "archived", false, "those that are archived, and no others")
	c.Flags().BoolVar(&o.all, "all", false, "core, removed memories and those of programs too")
	c.MarkFlagsMutuallyExclusive("all", "archived")
	return c
}

// runLs lists memories with sizes and times.
func runLs(ctx context.Context, env *cliutil.Env, o lsOptions) error {
	var past time.Time
	if o.at != "" {
		var err error
		if past, err = timeparse.Parse(o.at, timeparse.At, time.Now()); err != nil {
			return exit.Usagef("--at: %w", err)
		}
	}
	return cliutil.WithMemory(ctx, env, func(ctx context.Context, m *session.Memory) error {
		l, unknown, status, err := listAt(ctx, m, past, o.archived)
		kept := l.Memories
		if !o.all {
			l.Memories = slices.DeleteFunc(slices.Clone(kept), func(e client.Entry) bool {
				return write.Reserved(e.Slug) || o.archived && frontmatter.Parse(e.Text).Fields().State != frontmatter.Archived
			})
		}
		if err == nil && len(kept) == 0 && !(o.all && l.Core != nil) {
			err = emptiness(l, status)
		}
		if err := env.Report(status, err); err != nil {
			return err
		}
		if l.Unreadable > 0 {
			env.Note("%s cannot be read; the slugs are unknown", cliutil.Counted(l.Unreadable, "memory", "memories"))
		}
		switch {
		case o.archived && len(l.Memories) == 0:
			env.Note("nothing is archived")
		case len(l.Memories) == 0 && len(kept) > 0:
			env.Note("no memories but %d that programs keep (--all shows them)", len(kept))
		case len(l.Memories) == 0 && unknown == 0:
			noteNone(ctx, env, m, l, status, o.all)
		}
		if env.Flags.JSON {
			out := listingOut(m, l, status, o.all)
			if out.Unknown = unknown; o.at != "" {
				out.At = past.UTC().Format(time.RFC3339)
			}
			return env.PrintJSON(out)
		}
		if o.at != "" {
			env.Note("%s", cliutil.AsOf(past, unknown))
		}
		return printListing(env, l, o.all)
	})
}

// listAt lists what is there or, with a time, was.
func listAt(ctx context.Context, m *session.Memory, past time.Time, texts bool) (memory.Listing, int, client.Status, error) {
	if past.IsZero() {
		l, status, err := m.Listed(ctx, texts)
		return l, 0, status, err
	}
	return m.ListAllAt(ctx, past.Unix())
}

// emptiness returns why a listing without any memory is not simply an empty
// one.
func emptiness(l memory.Listing, s client.Status) error {
	switch {
	case l.Unreadable > 0:
		return fmt.Errorf("%w: none of %d memories", client.ErrUnreadable, l.Unreadable)
	case s.Partial:
		return fmt.Errorf("%w, and those that did have no memory", client.ErrPartial)
	}
	return nil
}

func listingOut(m *session.Memory, l memory.Listing, s client.Status, all bool) listOut {
	out := listOut{AnswerOut: cliutil.AnswerOf(m, s), Memories: []cliutil.EntryOut{}, Unreadable: l.Unreadable}
	for _, e := range l.Memories {
		out.Memories = append(out.Memories, cliutil.EntryFor(e))
	}
	if !all {
		return out
	}
	if l.Core != nil {
		core := cliutil.EntryFor(*l.Core)
		out.Core = &core
	}
	for _, e := range l.Tombstones {
		out.Removed = append(out.Removed, cliutil.EntryFor(e))
	}
	return out
}

func printListing(env *cliutil.Env, l memory.Listing, all bool) error {
	entries := l.Memories
	if all {
		entries = append(l.Texts(), l.Tombstones...)
	}
	var table strings.Builder // whole: what goes to a terminal must not end within a character
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	for _, e := range entries {
		size := fmt.Sprintf("%d B", e.Size)
		if e.Tombstone {
			size = "removed"
		}
		fmt.Fprintf(w, "%s\t%s\t%s%s%s\n", e.Slug, size, cliutil.Stamp(e.CreatedAt), cliutil.Expires(e), unsent(e.ID == ""))
	}
	return errors.Join(w.Flush(), env.Print("%s", table.String()))
}

// unsent marks a text that waits on this machine.
func unsent(yes bool) string {
	if yes {
		return " (" + recall.NotSent + ")"
	}
	return ""
}

// noteNone says that nothing was listed, and what there is instead.
func noteNone(ctx context.Context, env *cliutil.Env, m *session.Memory, l memory.Listing, s client.Status, all bool) {
	var hidden []string
	if l.Core != nil && !all {
		hidden = append(hidden, "a core")
	}
	if n := len(l.Tombstones); n > 0 && !all {
		hidden = append(hidden, fmt.Sprintf("%d removed", n))
	}
	switch {
	case s.Behind > 0: // its line says so
	case len(hidden) > 0:
		env.Note("no memories, but %s (--all shows them)", strings.Join(hidden, " and "))
	case l.Core == nil && len(l.Tombstones) == 0:
		others, _, err := m.CoreAbsent(ctx)
		switch {
		case errors.Is(err, client.ErrBehind):
			env.Note("%v", err)
			return
		case err != nil:
			env.Note("no memory; whether this key has some with others is not known: %v", err)
			return
		}
		env.Note("no memory: %s", cliutil.WithWhom(m, others))
	}
}

// New returns engramctl mem.
func New(env *cliutil.Env) *cobra.Command {
	mem := cliutil.PairFlags(env, cliutil.Group(&cobra.Command{
		Use:   "mem",
		Short: "Read and write an agent's memory",
		Long: `Read and write an agent's memory.

With --owner the key is the agent's, which reads and writes. With --agent the key
is its owner's, which reads. SLUG is "core", "mem/…", or short "notes" for
"mem/notes".

All relays are asked at the same time and their answers united. What failed at
which relay is on stderr. An answer that not all relays gave in full is partial:
it is printed, stderr and JSON say so, and the exit code is 0 (4 with --strict).
"Not found" is said only if every relay says so, and this machine knows of nothing there
(docs/memory.md).`,
		Example: `  engramctl mem ls
  engramctl mem get notes
  engramctl mem ls --agent npub1…   # as owner`,
	}, append(edit.Commands(env),
		lsCommand(env), getCommand(env), rmCommand(env), hashCommand(env), logCommand(env), diffCommand(env), graphCommand(env),
		searchCommand(env), statsCommand(env), timelineCommand(env))...))
	mem.PersistentFlags().BoolVar(&env.Flags.Strict, "strict", false, "a partial answer is a failure (exit code 4, nothing on stdout)")
	return mem
}
