package contract

import (
	"cmp"
	"context"
	"errors"

	"github.com/nbd-wtf/go-nostr"
	"github.com/spf13/cobra"

	"engramd/internal/cli/bearer"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/client"
	"engramd/internal/client/contract"
	"engramd/nips/niptemp"
)

func newMove(env *cliutil.Env) *cobra.Command {
	var o moveOptions
	c := env.Command(&cobra.Command{
		Use:   "move ID STATUS [--note TEXT] [--json]",
		Short: "Accept, submit, complete, dispute or cancel a contract",
		Long: `Move a contract to another status, by an event that the key signs:

  accepted   the worker takes an open contract, and agrees with that to who decides
             (contract show says who); the poster asks for a revision
  submitted  the worker has delivered
  completed  the poster is content; a dispute ends (contract decide)
  disputed   either, once it is accepted
  cancelled  the poster while it is open; the worker gives it back; a dispute ends

A contract expires by itself at the deadline, if it has one.

--note says why; it is public like all that is shared. Exit code 5 if the contract is in a
status from which that does not lead, or somebody else was faster; 3 if it is not this
key's move.`,
		Example: `  engramctl contract move ID accepted
  engramctl contract move ID accepted --note "The sources are missing"   # as poster: a revision`,
	}, func(ctx context.Context, args []string) error {
		if err := checkStatus("STATUS", args[1], false); err != nil {
			return err
		}
		return moveContract(ctx, env, o, args, (*contract.Contracts).Move)
	})
	o.flags(env, c)
	return c
}

// moveOptions are what moves and decisions take beside the contract and its status.
type moveOptions struct {
	allow       bool
	note, event string
}

func (o *moveOptions) flags(env *cliutil.Env, c *cobra.Command) {
	whichFlags(env, c)
	cliutil.SecretFlag(c, &o.allow)
	eventFlag(c, &o.event)
	c.Flags().StringVar(&o.note, "note", "", "`TEXT` that says why")
}

// moveContract moves the contract args[0] to the status args[1] and prints where
// it stands then.
func moveContract(ctx context.Context, env *cliutil.Env, o moveOptions, args []string,
	move func(*contract.Contracts, context.Context, string, string, string, string, *nostr.Event) (contract.Contract, client.Status, error)) error {
	if err := cliutil.CheckText(o.note); err != nil {
		return err
	}
	if err := guard(o.allow, o.note); err != nil {
		return err
	}
	ev, err := eventFile(env, o.event)
	if err != nil {
		return err
	}
	return bearer.WithContracts(ctx, env, func(ctx context.Context, cs *contract.Contracts, other string) error {
		c, s, err := move(cs, ctx, args[0], other, args[1], o.note, ev)
		if err := env.ReportWith(s, err, cliutil.ContractRemedy); err != nil {
			return err
		}
		return env.Show(answerOut{cliutil.AnswerOf(nil, s), contractFor(c, cs.PubKey())}, "%s  %s%s\n", c.ID, c.Status, onlyThere(c))
	})
}

func newDecide(env *cliutil.Env) *cobra.Command {
	var o moveOptions
	c := env.Command(&cobra.Command{
		Use:   "decide ID completed|cancelled [--note TEXT] [--json]",
		Short: "End a dispute, as its arbitrator or decider",
		Long: `End a dispute of others. The arbitrator and the decider whom both parties have agreed on
sign the decision with their own key, and every relay and everybody who has the thread
can check it. The operator of the relay that is the decider asks it to sign. A decision
that nobody agreed on is the operator's alone: it holds on that relay only, and no event
says it.

Exit code 5 if the contract is not in dispute, or somebody else was faster; 3 if it is not
this key's to decide.`,
		Example: `  engramctl contract decide ID completed --note "Delivered as agreed"`,
		Args:    cliutil.Arguments("ID", "STATUS"),
	}, func(ctx context.Context, args []string) error {
		if status := niptemp.Status(args[1]); status != niptemp.Completed && status != niptemp.Cancelled {
			return exit.Usagef("STATUS: a dispute ends completed or cancelled, not %q", args[1])
		}
		return moveContract(ctx, env, o, args, (*contract.Contracts).Decide)
	})
	o.flags(env, c)
	return c
}

// onlyThere says of a contract that no event says how it ended.
func onlyThere(c contract.Contract) string {
	if c.Decided == "" || c.DecidedEvent != "" {
		return ""
	}
	return ", on that relay only: no event says it"
}

type sayOptions struct {
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
	whichFlags(env, c)
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
	var err error
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
	return bearer.WithContracts(ctx, env, func(ctx context.Context, cs *contract.Contracts, other string) error {
		e, status, err := cs.Say(ctx, args[0], other, o.saying)
		if err := env.ReportWith(status, err, cliutil.ContractRemedy); err != nil {
			return err
		}
		return env.Show(struct {
			cliutil.AnswerOut
			Entry entryOut `json:"entry"`
		}{cliutil.AnswerOf(nil, status), entryFrom(e, "")}, "%s  %s\n", cliutil.Plain(e.EntryID), cmp.Or(e.EventID, e.Visibility))
	})
}
