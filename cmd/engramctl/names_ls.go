package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/settings"
	"engramd/internal/client"
)

// maxNames is how many identities an API lists at a time.
const maxNames = 500

func identityLsCommand(env *cliutil.Env) *cobra.Command {
	var asJSON bool
	var limit, offset int
	c := env.Command(&cobra.Command{
		Use:   "ls [--limit N] [--offset N] [--json]",
		Short: "List names, their keys, and which keys the relay keeps",
		Long: `List the names that the relay knows, by name, with their keys, whether the relay keeps the
key, and since when. For the operator.

Exit code 3 if the key is not the operator's.`,
		Example: `  engramctl identity ls --key-file op.key
  engramctl identity ls --json | jq -r '.identities[] | select(.provisioned | not) | .agent_id'`,
		Args: cobra.NoArgs,
	}, func(ctx context.Context, _ []string) error {
		if limit < 1 || limit > maxNames || offset < 0 {
			return exit.Usagef("--limit must be 1 to %d, and --offset not negative", maxNames)
		}
		return cliutil.WithNames(ctx, env, func(ctx context.Context, cs *client.Contracts) error {
			all, s, err := cs.Identities(ctx, limit, offset)
			if err := env.ReportWith(s, err, contractRemedy); err != nil {
				return err
			}
			if end := offset + len(all.Page); end < all.Total && len(all.Page) > 0 {
				env.Note("%d of %d: go on with --offset %d", len(all.Page), all.Total, end)
			}
			if asJSON {
				out := struct {
					Identities []identityOut `json:"identities"`
					Total      int           `json:"total"`
				}{[]identityOut{}, all.Total}
				for _, id := range all.Page {
					out.Identities = append(out.Identities, identityFor(id))
				}
				return env.PrintJSON(out)
			}
			w := tabwriter.NewWriter(env.Out(), 0, 0, 2, ' ', 0)
			for _, id := range all.Page {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", cliutil.Plain(id.AgentID), settings.Npub(id.PubKey), keptText(id), cliutil.Stamp(id.CreatedAt))
			}
			return w.Flush()
		})
	})
	cliutil.JSONFlag(c, &asJSON)
	c.Flags().IntVar(&limit, "limit", maxNames, "how many at most")
	c.Flags().IntVar(&offset, "offset", 0, "how many to skip")
	return c
}

func identityShowCommand(env *cliutil.Env) *cobra.Command {
	var asJSON bool
	c := env.Command(&cobra.Command{
		Use:   "show [AGENT_ID] [--json]",
		Short: "Show the key behind an agent's name, or the name of a key",
		Long: `Show the key behind an agent's name, or the name of a key (npub, nprofile or hex), and
whether the relay keeps the key. Without AGENT_ID, of whoever asks.

Exit code 1 if there is no such name.`,
		Example: `  engramctl identity show agent-0000`,
		Args:    cobra.MaximumNArgs(1),
	}, func(ctx context.Context, args []string) error {
		name := ""
		if len(args) == 1 {
			var err error
			if name, err = nameOrKey(args[0]); err != nil {
				return err
			}
		}
		return cliutil.WithNames(ctx, env, func(ctx context.Context, cs *client.Contracts) error {
			var id client.AgentIdentity
			var s client.Status
			var err error
			if len(args) == 0 {
				id, s, err = cs.Me(ctx)
			} else {
				id, s, err = cs.Identity(ctx, name)
			}
			if err := env.ReportWith(s, err, contractRemedy); err != nil {
				return err
			}
			return printIdentity(env, id, asJSON)
		})
	})
	cliutil.JSONFlag(c, &asJSON)
	return c
}

// nameOrKey returns an agent id, or a key in hex.
func nameOrKey(text string) (string, error) {
	for _, prefix := range []string{"npub1", "nprofile1", "nsec1", "nostr:"} {
		if strings.HasPrefix(strings.ToLower(text), prefix) {
			return settings.PublicKey("AGENT_ID", "the command line", text)
		}
	}
	return text, nil
}

func identityDeleteCommand(env *cliutil.Env) *cobra.Command {
	var withKey bool
	c := env.Command(&cobra.Command{
		Use:   "delete AGENT_ID [--with-key]",
		Short: "Have the relay forget a name",
		Long: `Have the relay forget a name, and its tokens; whoever comes first can have it again. A key
that the relay keeps for the agent is in no other place: --with-key says that it is to be
deleted too, for good. What the agent wrote stays. For the operator.

Exit code 3 if the key is not the operator's, 5 if the relay keeps a key and --with-key is
not given.`,
		Example: `  engramctl identity delete squatter --key-file op.key`,
		Args:    cliutil.Arguments("AGENT_ID"),
	}, func(ctx context.Context, args []string) error {
		return cliutil.WithNames(ctx, env, func(ctx context.Context, cs *client.Contracts) error {
			id, s, err := cs.DeleteIdentity(ctx, args[0], withKey)
			if err := env.ReportWith(s, err, contractRemedy); err != nil {
				return err
			}
			return env.Print("%s  %s  deleted\n", cliutil.Plain(id.AgentID), settings.Npub(id.PubKey))
		})
	})
	c.Flags().BoolVar(&withKey, "with-key", false, "also a key that the relay keeps: nobody has it then")
	return c
}
