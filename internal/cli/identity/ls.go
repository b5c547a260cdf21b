package identity

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"engramd/internal/cli/bearer"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/settings"
	"engramd/internal/client"
	"engramd/internal/client/contract"
)

// maxNames is how many identities an API lists at a time.
const maxNames = 500

func lsCommand(env *cliutil.Env) *cobra.Command {
	var o struct {
		limit, offset int
	}
	c := env.Command(&cobra.Command{
		Use:   "ls [--limit N] [--offset N] [--json]",
		Short: "List names, their keys, and which keys the relay keeps",
		Long: `List the names that the relay knows, by name, with their keys, whether the relay keeps the
key, and since when. For the operator.

Exit code 3 if the key is not the operator's.`,
		Example: `  engramctl identity ls --key-file op.key
  engramctl identity ls --json | jq -r '.identities[] | select(.provisioned | not) | .agent_id'`,
	}, func(ctx context.Context, _ []string) error {
		if o.limit < 1 || o.limit > maxNames || o.offset < 0 {
			return exit.Usagef("--limit must be 1 to %d, and --offset not negative", maxNames)
		}
		return bearer.WithNames(ctx, env, func(ctx context.Context, cs *contract.Contracts) error {
			all, s, err := cs.Identities(ctx, o.limit, o.offset)
			if err := env.ReportWith(s, err, cliutil.ContractRemedy); err != nil {
				return err
			}
			if end := o.offset + len(all.Page); end < all.Total && len(all.Page) > 0 {
				env.Note("%d of %d: go on with --offset %d", len(all.Page), all.Total, end)
			}
			if env.Flags.JSON {
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
	c.Flags().IntVar(&o.limit, "limit", maxNames, "how many at most")
	c.Flags().IntVar(&o.offset, "offset", 0, "how many to skip")
	return c
}

func showCommand(env *cliutil.Env) *cobra.Command {
	return env.Command(&cobra.Command{
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
		return bearer.WithNames(ctx, env, func(ctx context.Context, cs *contract.Contracts) error {
			var id contract.AgentIdentity
			var s client.Status
			var err error
			if len(args) == 0 {
				id, s, err = cs.Me(ctx)
			} else {
				id, s, err = cs.Identity(ctx, name)
			}
			if err := env.ReportWith(s, err, cliutil.ContractRemedy); err != nil {
				return err
			}
			return printIdentity(env, id)
		})
	})
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

func deleteCommand(env *cliutil.Env) *cobra.Command {
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
	}, func(ctx context.Context, args []string) error {
		return bearer.WithNames(ctx, env, func(ctx context.Context, cs *contract.Contracts) error {
			id, s, err := cs.DeleteIdentity(ctx, args[0], withKey)
			if err := env.ReportWith(s, err, cliutil.ContractRemedy); err != nil {
				return err
			}
			return env.Print("%s  %s  deleted\n", cliutil.Plain(id.AgentID), settings.Npub(id.PubKey))
		})
	})
	c.Flags().BoolVar(&withKey, "with-key", false, "also a key that the relay keeps: nobody has it then")
	return c
}

func tokenCommand(env *cliutil.Env) *cobra.Command {
	return cliutil.Group(&cobra.Command{
		Use:   "token",
		Short: "Renew or void the bearer token of an agent whose key the relay keeps",
		Long: `Renew or void the bearer token of an agent whose key the relay keeps. It is for the
operator, when a token was lost or has leaked, and for the agent itself, by the token that it
has (ENGRAM_TOKEN).

Exit code 3 for others, 5 if the agent has its key itself.`,
		Example: `  engramctl identity token renew agent-0000 agent.token --key-file op.key
  engramctl identity token void agent-0000 --key-file op.key`,
	}, tokenRenewCommand(env), tokenVoidCommand(env))
}

func tokenRenewCommand(env *cliutil.Env) *cobra.Command {
	return env.Command(&cobra.Command{
		Use:   "renew AGENT_ID FILE",
		Short: "Make a new token; the one before is void",
		Long: `Have the relay make a new bearer token for an agent whose key it keeps, and write it to
a new file (mode 0600). The token before is worth nothing from then on.`,
		Example: `  engramctl identity token renew agent-0000 agent.token --key-file op.key`,
	}, func(ctx context.Context, args []string) error {
		return renewToken(ctx, env, args[0], args[1])
	})
}

func tokenVoidCommand(env *cliutil.Env) *cobra.Command {
	return env.Command(&cobra.Command{
		Use:   "void AGENT_ID",
		Short: "Void all tokens of an agent",
		Long: `Void all bearer tokens of an agent at once. Its key stays with the relay;
token renew gives it a new token.`,
		Example: `  engramctl identity token void agent-0000 --key-file op.key`,
	}, func(ctx context.Context, args []string) error {
		return bearer.WithNames(ctx, env, func(ctx context.Context, cs *contract.Contracts) error {
			id, s, err := cs.VoidToken(ctx, args[0])
			if err := env.ReportWith(s, err, cliutil.ContractRemedy); err != nil {
				return err
			}
			return env.Print("%s  its tokens are void\n", cliutil.Plain(id.AgentID))
		})
	})
}

// renewToken has a token renewed into a new file.
func renewToken(ctx context.Context, env *cliutil.Env, agentID, file string) error {
	err := toPrivate(env, file, func(f *privateFile) error {
		return bearer.WithNames(ctx, env, func(ctx context.Context, cs *contract.Contracts) error {
			token, s, err := cs.RenewToken(ctx, agentID)
			if err := env.ReportWith(s, err, cliutil.ContractRemedy); err != nil {
				return err
			}
			return keepSecret(f, token, "the token was renewed and could not be written down, renew it again")
		})
	})
	if err != nil {
		return err
	}
	return env.Print("%s  %s\n", agentID, file)
}

// toPrivate runs do with a new file that only its user can read: made first,
// because what cannot be written down would be lost, with room for what comes,
// and removed if nothing came.
func toPrivate(env *cliutil.Env, file string, do func(f *privateFile) error) error {
	path := env.Path(file)
	opened, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return exit.BadUsage(err)
	}
	f := &privateFile{File: opened}
	if _, err = io.WriteString(f, strings.Repeat("\n", secretRoom)); err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = do(f)
	}
	if err = errors.Join(err, f.Close()); err != nil && !f.kept {
		_ = os.Remove(path)
	}
	return err
}

// privateFile is a file for one secret.
type privateFile struct {
	*os.File
	kept bool // the secret is in it: it may be the only copy
}

// secretRoom is more bytes than a token or a key has.
const secretRoom = 256

// keepSecret writes a secret into the room that toPrivate made.
func keepSecret(f *privateFile, secret, failed string) error {
	text := secret + "\n"
	_, err := f.WriteAt([]byte(text), 0)
	if f.kept = err == nil; f.kept {
		err = errors.Join(f.Truncate(int64(len(text))), f.Sync())
	}
	if err != nil {
		return fmt.Errorf("%s: %w", failed, err)
	}
	return nil
}
