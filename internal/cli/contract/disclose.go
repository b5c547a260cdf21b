package contract

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"engramd/internal/cli/bearer"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/settings"
	"engramd/internal/client/contract"
	"engramd/internal/client/evidence"
	paper "engramd/internal/client/transcript"
	"engramd/nips/nipae"
)

func newDisclose(env *cliutil.Env) *cobra.Command {
	return whichFlags(env, env.Command(&cobra.Command{
		Use:   "disclose ID ENTRY",
		Short: "Open one sealed entry to somebody else",
		Long: `Print what opens one sealed entry to somebody who is no party, such as an arbitrator:
{"event":…,"keys":"…"}, the signed event and the message keys of its payload (NIP-44).
They open this entry and no other. Whoever has that reads the entry and can check that
its author signed it (contract disclosed); hand it over accordingly.

ENTRY is an entry id, as contract read prints it, or an event id.`,
		Example: `  engramctl contract disclose ID mem_25becee1e170 > promise.json`,
	}, func(ctx context.Context, args []string) error {
		return bearer.WithContracts(ctx, env, func(ctx context.Context, cs *contract.Contracts, other string) error {
			d, s, err := cs.Disclose(ctx, args[0], other, args[1])
			if err := env.ReportWith(s, err, cliutil.ContractRemedy); err != nil {
				return err
			}
			line, err := json.Marshal(d)
			if err == nil {
				err = env.Print("%s\n", line)
			}
			if err == nil && !d.Entry.Committed {
				env.Note("%s", uncommitted)
			}
			return cliutil.FirstOf(err, strictly(env, d.Entry.Committed))
		})
	}))
}

func newDisclosed(env *cliutil.Env) *cobra.Command {
	return env.Command(&cobra.Command{
		Use:   "disclosed FILE|- [--json]",
		Short: "Check and read a sealed entry that a party has opened",
		Long: `Check what contract disclose printed, and show what the entry says: the signature of its
event, that the message keys open its payload (the MAC, the padding and the text are
right), and that its author committed to these keys by a signed tag: "opened, committed".
An entry of a version without that tag is "opened, not committed": nothing that was signed
rules out another text. Asks no relay and needs no key. Exit code 6 if it proves nothing;
nothing of it is shown then. With --strict also if it is not committed.`,
		Example: `  engramctl contract disclosed promise.json`,
	}, func(_ context.Context, args []string) error {
		text, err := cliutil.ReadFile(env, args[0], 2*nipae.MaxBody)
		if err != nil {
			return exit.Usagef("FILE: %w", err)
		}
		d, err := contract.ReadDisclosure([]byte(strings.TrimSpace(text)))
		if err != nil {
			return err
		}
		err = env.Show(struct {
			ContractID string `json:"contract_id"`
			entryOut
		}{d.Event.Tags.GetD(), entryFrom(d.Entry, "")}, "contract %s\nby       %s\nsigned   %s, event %s\nverdict  %s\n%s", cliutil.OneLine(d.Event.Tags.GetD(), 128), settings.Npub(d.Event.PubKey),
			cliutil.Stamp(d.Entry.CreatedAt), d.Event.ID, d.Entry.Verdict(), cliutil.Indented(d.Entry.Content))
		return cliutil.FirstOf(err, strictly(env, d.Entry.Committed))
	})
}

const uncommitted = "opened, not committed: nothing that its author signed rules out another text"

// strictly is exit code 6 under --strict where a proof is lacking.
func strictly(env *cliutil.Env, proved bool) error {
	if proved || !env.Flags.Strict {
		return nil
	}
	return fmt.Errorf("%w: not proved (--strict)", exit.ErrEvidence)
}

func newVerify(env *cliutil.Env) *cobra.Command {
	var key string
	c := env.Command(&cobra.Command{
		Use:   "verify DIR|FILE [--relay-key KEY] [--json]",
		Short: "Check an export of a contract, offline",
		Long: `Check what somebody exported of a contract, without a relay and without a key: a folder
that contract export wrote, or a file with one signed event a line. Each check is ok, has
failed, is not proved, or was not checked, and why:

  signatures       the id and the signature of every event
  one contract     all of it is of one contract
  shapes           every entry and state says what NIP-TEMP wants it to
  states follow    from open to the last one, by who may make each move; decisions are by
                   whom the two agreed on in their open and acceptance
  parties          entries are between poster and worker
  id               an event shows by its salt that the poster made the contract's id
  order            order.json: in which order all of it arrived, signed by the key that
                   the two agreed on for it, or else as decider or expirer. Without that
                   the order is not proved, and dates are their authors' word
  sealed entries   sealed.json: entries between the two that the exporter was told of and
                   not shown; they have their numbers in the order
  transcript       transcript.md is made again from the events, from what is disclosed, and
                   from transcript.json, which has what nobody signed, and is the same; how
                   much is the exporter's word or a relay's is counted, what sealed entries
                   say before they are disclosed too. Without transcript.json it is not proved
  withdrawals      requests to withdraw (kind 5) are by the authors of what they name
  disclosed texts  each disclosed/*.json is what contract disclose printed for an entry
                   that is here, its message keys open the signed payload, and its author
                   committed to them; without that it is "opened, not committed"

--relay-key is the public key of the relay whose word on the order counts, whatever the two
agreed on: engramd relay-key shows it, and so does the relay's NIP-11 document, as self.

Exit code 6 if a check failed, or if there is nothing that could be checked; with --strict
also if one is not proved.`,
		Example: `  engramctl contract verify dispute
  engramctl contract verify dispute/events.jsonl --json | jq -r '.checks[] | .check, .outcome'`,
	}, func(_ context.Context, args []string) error {
		relay, err := settings.PublicKey("--relay-key", "the command line", key)
		if err != nil {
			return err
		}
		files, err := evidence.Read(env.Path(args[0]))
		if pathError := (*fs.PathError)(nil); errors.As(err, &pathError) {
			return exit.BadUsage(err)
		}
		if err != nil {
			return err
		}
		r, err := evidence.Verify(files, evidence.Options{Relay: relay})
		if err != nil {
			return err
		}
		r.Checks = append(r.Checks, paper.Check(files, r))
		if env.Flags.JSON {
			err = env.PrintJSON(verifyOutOf(r))
		} else {
			err = printVerified(env, r)
		}
		if err == nil && !r.Holds() {
			err = exit.ErrEvidence
		}
		return cliutil.FirstOf(err, strictly(env, r.Proved()))
	})
	c.Flags().StringVar(&key, "relay-key", "", "public `KEY` (npub or hex) that must have signed the order")
	return c
}

// verifyOut is `contract verify --json`.
type verifyOut struct {
	evidence.Report
	Holds     bool       `json:"holds"` // no check failed
	Disclosed []entryOut `json:"disclosed"`
}

func verifyOutOf(r evidence.Report) verifyOut {
	out := verifyOut{Report: r, Holds: r.Holds(), Disclosed: []entryOut{}}
	for _, e := range r.Disclosed {
		out.Disclosed = append(out.Disclosed, entryFrom(e, roleIn(r, e)))
	}
	return out
}

// roleIn returns the role of an entry's author.
func roleIn(r evidence.Report, e contract.Entry) string {
	c := contract.Contract{Poster: contract.Party{PubKey: r.Poster}, Worker: contract.Party{PubKey: r.Worker}, Stateless: r.Status == ""}
	return c.Role(e.Author.PubKey)
}

func printVerified(env *cliutil.Env, r evidence.Report) error {
	w := tabwriter.NewWriter(env.Out(), 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) { fmt.Fprintf(w, "%s\t%s\n", name, fmt.Sprintf(format, args...)) }
	line("contract", "%s", cliutil.OneLine(r.Contract, 128))
	line("status", "%s", cliutil.OneLine(r.Status, 20))
	line("poster", "%s", partyText(contract.Party{PubKey: r.Poster}))
	line("worker", "%s", partyText(contract.Party{PubKey: r.Worker}))
	for _, c := range r.Checks {
		line(string(c.Outcome), "%s: %s", c.Name, cliutil.Plain(c.Detail))
		for _, p := range c.Problems {
			line("", "  %s", cliutil.OneLine(p, 400))
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, e := range r.Disclosed {
		if err := env.Print("\n%s: event %s, %s by %s\n%s", e.Verdict(), e.EventID, cliutil.OneLine(e.Type, 20), roleIn(r, e), cliutil.Indented(e.Content)); err != nil {
			return err
		}
	}
	return nil
}
