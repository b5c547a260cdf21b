package contract

import (
	"cmp"
	"context"
	"errors"

	"github.com/spf13/cobra"

	"engramd/internal/cli/bearer"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/settings"
	"engramd/internal/client"
	"engramd/internal/client/contract"
	"engramd/nips/niptemp"
)

type sayOptions struct {
	threadOptions
	saying contract.Saying
	allow  bool
	event  string
}

func newSay(env *cliutil.Env) *cobra.Command {
	var o sayOptions
	c := env.Command(&cobra.Command{
		Use:   "say ID TEXT|- [--type TYPE] [--visibility WHO] [--attach URL]… [--seal] [--json]",
		Short: "Write an entry into a contract's memory",
		Long: `Write an entry into a contract's memory. With "-" the text comes from stdin.

TYPE is message, revision (a change is asked for), deliverable, note or attachment. WHO
may read it: shared is signed and on relays, for both parties and whoever knows the
contract's id; private (poster_only, worker_only) is for your own side, is never signed
or sent to relays, and needs a relay with the contract API. --seal encrypts a shared
entry between the two parties: relays keep it and cannot read it.

What looks like a key or a token is refused unless --allow-secret: an entry is signed and
cannot be taken back. Exit code 5 if the contract takes no entries from this key now.

With --event the entry is taken from a signed event (kind 30090), and there is no TEXT.

Prints the entry's id and its event's.`,
		Example: `  engramctl contract say ID "Focus on government filings"
  engramctl contract say ID - --type deliverable --attach https://example.com/r.pdf < summary.md
  engramctl contract say ID "check this against our archive" --type note --visibility private`,
		Args: func(_ *cobra.Command, args []string) error {
			if o.event != "" {
				return cliutil.Arguments("ID")(nil, args)
			}
			if len(args) == 1 {
				return errors.New(`TEXT is missing: give it, or "-" to read it from stdin`)
			}
			return cliutil.Arguments("ID", "TEXT")(nil, args)
		},
	}, func(ctx context.Context, args []string) error { return runSay(ctx, env, o, args) })
	o.flags(env, c)
	cliutil.SecretFlag(c, &o.allow)
	eventFlag(c, &o.event)
	c.Flags().StringVar(&o.saying.Type, "type", "message", "`TYPE` of the entry")
	c.Flags().StringVar(&o.saying.Visibility, "visibility", contract.VisibilityShared, "`WHO` may read it: shared or private")
	c.Flags().StringArrayVar(&o.saying.Attachments, "attach", nil, "`URL` of an attachment; may be given several times")
	c.Flags().BoolVar(&o.saying.Sealed, "seal", false, "encrypt it between the two parties")
	c.MarkFlagsMutuallyExclusive("event", "attach")
	_ = c.RegisterFlagCompletionFunc("type", cobra.FixedCompletions(niptemp.EntryTypes(), cobra.ShellCompDirectiveNoFileComp)) // cannot fail: the flag exists
	return c
}

func runSay(ctx context.Context, env *cliutil.Env, o sayOptions, args []string) error {
	other, err := settings.PublicKey("--with", "the command line", o.with)
	if err != nil {
		return err
	}
	if o.saying.Event, err = eventFile(env, o.event); err != nil {
		return err
	}
	if o.saying.Event == nil {
		if o.saying.Content, err = textArgument(env, args[1]); err != nil {
			return err
		}
		if o.saying.Content == "" {
			return exit.Usagef("%w", client.ErrEmpty)
		}
	}
	texts := append([]string{o.saying.Content}, o.saying.Attachments...)
	if o.saying.Event != nil {
		texts = []string{o.saying.Event.Content}
	}
	if err := guard(o.allow, texts...); err != nil {
		return err
	}
	return bearer.WithContracts(ctx, env, func(ctx context.Context, cs *contract.Contracts) error {
		e, status, err := cs.Say(ctx, args[0], other, o.saying)
		if err := env.ReportWith(status, err, cliutil.ContractRemedy); err != nil {
			return err
		}
		if o.asJSON {
			return env.PrintJSON(struct {
				cliutil.AnswerOut
				Entry entryOut `json:"entry"`
			}{cliutil.AnswerOf(nil, status), entryFrom(e, "")})
		}
		return env.Print("%s  %s\n", cliutil.Plain(e.EntryID), cmp.Or(e.EventID, e.Visibility))
	})
}
