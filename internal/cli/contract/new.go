package contract

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"engramd/internal/cli/bearer"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/settings"
	"engramd/internal/client"
	"engramd/internal/client/contract"
	"engramd/internal/platform/timeparse"
	"engramd/nips/niptemp"
)

type newOptions struct {
	offer    contract.Offer
	deadline string
	allow    bool
}

func newNew(env *cliutil.Env) *cobra.Command {
	var o newOptions
	c := env.Command(&cobra.Command{
		Use:   "new DESCRIPTION|- [--worker WHO] [--sats N] [--deadline TIME] [--arbitrator WHO] [--decider WHO|relay] [--expirer WHO|relay] [--json]",
		Short: "Offer a contract",
		Long: `Offer a contract, of which the key is the poster. It is open until its worker accepts
it; without --worker whoever accepts first. WHO is a public key (npub or hex), or an
agent id that the relay's API knows.

--deadline is when it expires, RFC 3339 or a duration from now such as 72h. Who decides
besides the two is part of the signed offer, and is agreed when the worker accepts:
--arbitrator settles disputes and reads the case, --decider settles disputes too (the
operator of a relay), --expirer signs that the deadline is over (a relay). "relay" is the
key of the first relay that has the contract API. Without a decider what an operator
decides, and without an expirer that the deadline is over, holds on that relay only.

Prints the id of the contract: who knows it may read what is shared in it. It is made of the
key and a random salt, which the key's events carry, so that it means nobody else's contract
on any relay.`,
		Example: `  engramctl contract new "Summarise the filings of the last 7 days" --worker npub1… --sats 5000
  engramctl contract new - --deadline 72h < scope.txt`,
	}, func(ctx context.Context, args []string) error { return runNew(ctx, env, o, args) })
	cliutil.SecretFlag(c, &o.allow)
	c.Flags().StringVar(&o.offer.Worker, "worker", "", "`WHO` does the work")
	c.Flags().StringVar(&o.offer.Arbitrator, "arbitrator", "", "`WHO` may settle a dispute, and reads the case")
	c.Flags().StringVar(&o.offer.Decider, "decider", "", "`WHO` may settle a dispute too: the operator of a relay")
	c.Flags().StringVar(&o.offer.Expirer, "expirer", "", "`WHO` signs that the deadline is over: a relay")
	c.Flags().Int64Var(&o.offer.AmountSats, "sats", 0, "what is paid, in satoshis")
	c.Flags().StringVar(&o.deadline, "deadline", "", "`TIME` at which it expires")
	return c
}

func runNew(ctx context.Context, env *cliutil.Env, o newOptions, args []string) error {
	var err error
	if o.offer.Description, err = textArgument(env, args[0]); err != nil {
		return err
	}
	if strings.TrimSpace(o.offer.Description) == "" {
		return exit.Usagef("the description is empty")
	}
	if err := guard(o.allow, o.offer.Description); err != nil {
		return err
	}
	for _, who := range []struct {
		flag string
		name *string
	}{{"--worker", &o.offer.Worker}, {"--arbitrator", &o.offer.Arbitrator}, {"--decider", &o.offer.Decider}, {"--expirer", &o.offer.Expirer}} {
		if *who.name, err = agentName(who.flag, *who.name); err != nil {
			return err
		}
	}
	if o.offer.Deadline, err = deadlineAt(o.deadline, time.Now()); err != nil {
		return err
	}
	if o.offer.AmountSats < 0 {
		return exit.Usagef("--sats must not be negative")
	}
	return bearer.WithContracts(ctx, env, func(ctx context.Context, cs *contract.Contracts, _ string) error {
		c, s, err := cs.New(ctx, o.offer)
		if err := env.ReportWith(s, err, cliutil.ContractRemedy); err != nil {
			return err
		}
		return env.Show(answerOut{cliutil.AnswerOf(nil, s), contractFor(c, cs.PubKey())}, "%s  %s\n", c.ID, c.Status)
	})
}

// agentName reads a public key, or an agent id.
func agentName(flag, text string) (string, error) {
	key, err := settings.PublicKey(flag, "the command line", text)
	if err == nil {
		return key, nil
	}
	lower := strings.ToLower(text)
	if strings.HasPrefix(lower, "npub1") || strings.HasPrefix(lower, "nsec1") || strings.HasPrefix(lower, "ncryptsec1") {
		return "", err
	}
	if len(text) > 64 || strings.Trim(lower, "abcdefghijklmnopqrstuvwxyz0123456789._-") != "" {
		return "", exit.Usagef("%s: want npub1…, 64 hex digits, or an agent id of letters, digits, '.', '_' and '-'", flag)
	}
	return text, nil
}

// deadlineAt returns a time in Unix seconds, 0 for "".
func deadlineAt(text string, now time.Time) (int64, error) {
	if text == "" {
		return 0, nil
	}
	at, err := timeparse.Parse(text, timeparse.Until, now)
	if err != nil {
		return 0, exit.Usagef("--deadline: %w", err)
	}
	if !at.After(now) {
		return 0, exit.Usagef("--deadline: %s is over", at.UTC().Format(time.RFC3339))
	}
	return at.Unix(), nil
}

func newLs(env *cliutil.Env) *cobra.Command {
	var status string
	c := env.Command(&cobra.Command{
		Use:   "ls [--status STATUS] [--json]",
		Short: "List the key's contracts",
		Long: `List the contracts that the key is a party of, the one changed last first: status, role,
time of the last change, id, and the beginning of the description. One of which only
entries are known, and no state, is "unknown", and your role in it is that of a party.

Anybody can name anybody in an offer. Relays are asked for the 500 contracts that changed
last, in STATUS if it is given, and, unless a token says who asks, for all in which the key
did something; a note says where they have more.`,
		Example: `  engramctl contract ls --status open
  engramctl contract ls --json | jq -r '.contracts[].contract_id'`,
	}, func(ctx context.Context, _ []string) error {
		if err := checkStatus("--status", status, true); err != nil {
			return err
		}
		return bearer.WithContracts(ctx, env, func(ctx context.Context, cs *contract.Contracts, _ string) error {
			list, s, err := cs.List(ctx, status)
			all := list.Contracts
			if err == nil && len(all) == 0 && s.Partial {
				err = fmt.Errorf("%w, and those that did know no contract", client.ErrPartial)
			}
			if err := env.ReportWith(s, err, cliutil.ContractRemedy); err != nil {
				return err
			}
			if list.More {
				env.Note("relays have more contracts that name this key: those are listed that changed last, and those in which it did something")
			}
			if env.Flags.JSON {
				out := struct {
					cliutil.AnswerOut
					Contracts []contractOut `json:"contracts"`
					More      bool          `json:"more,omitempty"`
				}{cliutil.AnswerOf(nil, s), []contractOut{}, list.More}
				for _, c := range all {
					out.Contracts = append(out.Contracts, contractFor(c, cs.PubKey()))
				}
				return env.PrintJSON(out)
			}
			w := tabwriter.NewWriter(env.Out(), 0, 0, 2, ' ', 0)
			for _, c := range all {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", statusText(c), c.Role(cs.PubKey()), cliutil.Stamp(c.UpdatedAt), c.ID, cliutil.OneLine(c.Description, 60))
			}
			return w.Flush()
		})
	})
	c.Flags().StringVar(&status, "status", "", "only those in this `STATUS`")
	_ = c.RegisterFlagCompletionFunc("status", cobra.FixedCompletions(statusNames(), cobra.ShellCompDirectiveNoFileComp)) // cannot fail: the flag exists
	return c
}

func statusNames() []string {
	var names []string
	for _, s := range niptemp.Statuses() {
		names = append(names, string(s))
	}
	return names
}

// checkStatus wants one of the seven statuses.
func checkStatus(what, status string, optional bool) error {
	if optional && status == "" || slices.Contains(statusNames(), status) {
		return nil
	}
	return exit.Usagef("%s: %q is none of %v", what, status, statusNames())
}
