package contract

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"engramd/internal/agent/view"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/settings"
	"engramd/internal/client"
	"engramd/internal/client/contract"
	"engramd/nips/niptemp"
)

func newShow(env *cliutil.Env) *cobra.Command {
	return whichFlags(env, env.Command(&cobra.Command{
		Use:   "show ID [--json]",
		Short: "Show a contract: parties, status, and how it got there",
		Long: `Show a contract: its parties, status and terms, and the state moves that were seen, each
with its author, its date and its number in the order of arrival, if a relay tells it, and
what is gone for good. What the parties said is what contract read shows.`,
		Example: `  engramctl contract show 25becee1-e170-42e3-b8aa-51d3e864ce60`,
	}, func(ctx context.Context, args []string) error {
		return withThread(ctx, env, args[0], func(me string, t contract.Thread, s client.Status) error {
			if env.Flags.JSON {
				return env.PrintJSON(struct {
					answerOut
					Moves   []moveOut `json:"moves"`
					Entries int       `json:"entries"`
				}{answerOut{cliutil.AnswerOf(nil, s), contractFor(t.Contract, me)}, movesOut(t.Moves), len(t.Entries)})
			}
			return printContract(env, t, me)
		})
	}))
}

// moveOut is a state move in JSON.
type moveOut struct {
	From      string        `json:"from,omitempty"`
	To        string        `json:"to"`
	By        string        `json:"by"` // pubkey in hex
	CreatedAt string        `json:"created_at"`
	ArrivedAt string        `json:"arrived_at,omitempty"`
	N         int64         `json:"n,omitempty"` // its number in the order of arrival
	Note      string        `json:"note,omitempty"`
	Withdrawn *withdrawnOut `json:"withdrawn,omitempty"` // what it did stands
	EventID   string        `json:"nostr_event_id"`
	Doubt     string        `json:"doubt,omitempty"` // why it does not follow from the moves before it
}

func movesOut(moves []contract.Move) []moveOut {
	out := []moveOut{}
	for _, m := range moves {
		out = append(out, moveOut{From: m.From, To: m.To, By: m.By, CreatedAt: cliutil.Stamp(m.CreatedAt), N: m.N, Note: m.Note, EventID: m.Event.ID, Doubt: m.Why, Withdrawn: withdrawnFrom(m.Withdrawn), ArrivedAt: view.Known(m.ArrivedAt)})
	}
	return out
}

func printContract(env *cliutil.Env, t contract.Thread, me string) error {
	c := t.Contract
	w := tabwriter.NewWriter(env.Out(), 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) { fmt.Fprintf(w, "%s\t%s\n", name, fmt.Sprintf(format, args...)) }
	line("contract", "%s", c.ID)
	status := statusText(c)
	if c.Decided != "" {
		status += ", decided by the " + cliutil.OneLine(c.Decided, 20) + onlyThere(c)
	}
	line("status", "%s", status)
	if role := c.Role(me); role != "" {
		line("you are", "%s", role)
	}
	if c.Stateless {
		line("party", "%s", partyText(c.Poster))
		line("party", "%s", partyText(c.Worker))
	} else {
		line("poster", "%s", partyText(c.Poster))
		line("worker", "%s", partyText(c.Worker))
	}
	deciding(c, line)
	line("amount", "%d sats", c.AmountSats)
	if c.Deadline != 0 {
		line("deadline", "%s", cliutil.Stamp(c.Deadline))
	}
	if c.Home != "" {
		line("kept by", "%s", c.Home)
	}
	line("entries", "%d", len(t.Entries))
	for _, m := range t.Moves {
		text := fmt.Sprintf("%s%s by %s", number(m.N, 0), m.To, c.Role(m.By))
		if m.Note != "" {
			text += ": " + cliutil.OneLine(m.Note, 200)
		}
		if m.Withdrawn != nil {
			text += ", withdrawn " + cliutil.Stamp(m.Withdrawn.At)
		}
		if !m.Follows {
			text += " (does not follow from what was seen before it)"
		}
		line(cliutil.Stamp(m.CreatedAt), "%s", text)
	}
	if t.Order != nil {
		for _, gap := range t.Order.Gaps {
			line(cliutil.Stamp(gap.ReceivedAt), "%s%s gone for good: %s", number(gap.N, 0), cmp.Or(gap.Role, "somebody"), cliutil.OneLine(gap.Type, 20))
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return env.Print("%s", cliutil.Indented(c.Description))
}

// deciding says who decides besides the parties: what is agreed, and what is
// offered and not agreed.
func deciding(c contract.Contract, line func(name, format string, args ...any)) {
	for _, who := range []struct{ name, agreed, offered string }{
		{"arbitrator", cmp.Or(c.Agreed.Arbitrator, c.Arbitrator.PubKey), c.Offered.Arbitrator},
		{"decider", c.Agreed.Decider, c.Offered.Decider}, {"expirer", c.Agreed.Expirer, c.Offered.Expirer},
		{"order key", c.Agreed.Order, c.Offered.Order},
	} {
		switch {
		case who.agreed != "":
			line(who.name, "%s", settings.Npub(who.agreed))
		case who.offered != "" && c.Status == string(niptemp.Open):
			line(who.name, "%s, once it is accepted so", settings.Npub(who.offered))
		case who.offered != "":
			line(who.name, "%s was offered and not agreed", settings.Npub(who.offered))
		}
	}
}

func newSummary(env *cliutil.Env) *cobra.Command {
	return whichFlags(env, env.Command(&cobra.Command{
		Use:   "summary ID [--json]",
		Short: "Count a contract's entries by type, author and visibility",
		Long: `Count the entries of a contract that you may see, by type, author and visibility, and how
many of them are published as signed events; and its moves, with the notes that say why.`,
		Example: `  engramctl contract summary ID --json`,
	}, func(ctx context.Context, args []string) error {
		return withThread(ctx, env, args[0], func(_ string, t contract.Thread, s client.Status) error {
			sum := t.Summary()
			if env.Flags.JSON {
				return env.PrintJSON(struct {
					cliutil.AnswerOut
					contract.Summary
				}{cliutil.AnswerOf(nil, s), sum})
			}
			return printSummary(env, t, sum)
		})
	}))
}

func printSummary(env *cliutil.Env, t contract.Thread, sum contract.Summary) error {
	w := tabwriter.NewWriter(env.Out(), 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "status\t%s\nentries\t%d\npublished\t%d\n", statusText(t.Contract), sum.TotalEntries, sum.NostrPublished)
	for _, part := range []struct {
		name   string
		counts map[string]int
	}{{"type", sum.ByType}, {"visibility", sum.ByVisibility}, {"author", sum.ByAuthor}} {
		for _, key := range slices.Sorted(maps.Keys(part.counts)) {
			fmt.Fprintf(w, "%s %s\t%d\n", part.name, cliutil.OneLine(key, 64), part.counts[key])
		}
	}
	if r := sum.DateRange; r != nil {
		fmt.Fprintf(w, "first\t%s\nlast\t%s\n", r.Earliest, r.Latest)
	}
	fmt.Fprintf(w, "moves\t%d\n", sum.TotalTransitions)
	for _, n := range sum.Notes {
		fmt.Fprintf(w, "%s by %s\t%s\n", cliutil.OneLine(n.Status, 20), n.Role, cliutil.OneLine(n.Note, 200))
	}
	return w.Flush()
}
