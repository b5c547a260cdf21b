// Package log prints the kept writes of a memory: engramctl log.
package log

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/mem"
	"engramd/internal/client/memory"
)

// writeOut is one line of `log`.
type writeOut struct {
	cliutil.EntryOut
	Current bool   `json:"current"`
	Error   string `json:"error,omitempty"`
}

// New returns engramctl log.
func New(env *cliutil.Env) *cobra.Command {
	var texts bool
	c := cliutil.PairFlags(env, env.Command(&cobra.Command{
		Use:   "log [--text]",
		Short: "Print every kept write of a memory, oldest first",
		Long: `Print every write of a memory that the relays still have, oldest first, as one
JSON object a line: time, slug, size, hash and id, "removed" if it deleted the
memory, "current" if nothing replaced it. How many versions are kept is each
relay's decision; one whose history cannot be had makes the answer partial, which
stderr says. A version that cannot be read has an error, and no slug.

mem log shows the versions of one memory, and which relays have them.`,
		Example: `  engramctl log
  engramctl log | jq -r 'select(.removed) | .slug'
  engramctl log --text > everything.jsonl`,
		Args: cliutil.Arguments(),
	}, func(ctx context.Context, _ []string) error {
		return cliutil.WithMemory(ctx, env, func(ctx context.Context, m *session.Memory) error {
			versions, status, err := m.LogAll(ctx)
			if err := env.Report(status, err); err != nil && len(versions) == 0 {
				return err
			}
			if len(versions) == 0 {
				mem.NoteNone(ctx, env, m, memory.Listing{}, true)
			}
			return cliutil.FirstOf(printWrites(env, versions, texts), err)
		})
	}))
	c.Flags().BoolVar(&texts, "text", false, "print the texts too")
	return c
}

func printWrites(env *cliutil.Env, versions []memory.Version, texts bool) error {
	enc := json.NewEncoder(env.Out())
	enc.SetEscapeHTML(false)
	for _, v := range versions {
		out := writeOut{cliutil.EntryFor(v.Entry), v.Head, cliutil.ErrorText(v.Err)}
		if texts && v.Err == nil && !v.Tombstone {
			out.Text = &v.Text
		}
		if err := enc.Encode(out); err != nil {
			return err
		}
	}
	return nil
}
