package contract

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"engramd/internal/cli/bearer"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/settings"
	"engramd/internal/client/contract"
	"engramd/nips/nipae"
)

type discloseOptions struct{ with string }

func newDisclose(env *cliutil.Env) *cobra.Command {
	var o discloseOptions
	c := env.Command(&cobra.Command{
		Use:   "disclose ID ENTRY",
		Short: "Open one sealed entry to somebody else",
		Long: `Print what opens one sealed entry to somebody who is no party, such as an arbitrator:
{"event":…,"keys":"…"}, the signed event and the message keys of its payload (NIP-44).
They open this entry and no other. Whoever has that reads the entry and can check that
its author signed it (contract disclosed); hand it over accordingly.

ENTRY is an entry id, as contract read prints it, or an event id.`,
		Example: `  engramctl contract disclose ID mem_25becee1e170 > promise.json`,
		Args:    cliutil.Arguments("ID", "ENTRY"),
	}, func(ctx context.Context, args []string) error { return runDisclose(ctx, env, o, args) })
	whichFlags(env, c, &o.with)
	return c
}

func runDisclose(ctx context.Context, env *cliutil.Env, o discloseOptions, args []string) error {
	other, err := settings.PublicKey("--with", "the command line", o.with)
	if err != nil {
		return err
	}
	return bearer.WithContracts(ctx, env, func(ctx context.Context, cs *contract.Contracts) error {
		d, s, err := cs.Disclose(ctx, args[0], other, args[1])
		if err := env.ReportWith(s, err, cliutil.ContractRemedy); err != nil {
			return err
		}
		line, err := json.Marshal(d)
		if err != nil {
			return err
		}
		return env.Print("%s\n", line)
	})
}

type disclosedOptions struct{ asJSON bool }

func newDisclosed(env *cliutil.Env) *cobra.Command {
	var o disclosedOptions
	c := env.Command(&cobra.Command{
		Use:   "disclosed FILE|- [--json]",
		Short: "Check and read a sealed entry that a party has opened",
		Long: `Check what contract disclose printed, and show what the entry says: the signature of its
event, and that the message keys open its payload (the MAC, the padding and the text are
right). Asks no relay and needs no key. Exit code 6 if it proves nothing; nothing of it is
shown then.`,
		Example: `  engramctl contract disclosed promise.json`,
		Args:    cliutil.Arguments("FILE"),
	}, func(_ context.Context, args []string) error { return runDisclosed(env, o, args) })
	cliutil.JSONFlag(c, &o.asJSON)
	return c
}

func runDisclosed(env *cliutil.Env, o disclosedOptions, args []string) error {
	text, err := cliutil.ReadFile(env, args[0], 2*nipae.MaxBody)
	if err != nil {
		return exit.Usagef("FILE: %w", err)
	}
	d, err := contract.ReadDisclosure([]byte(strings.TrimSpace(text)))
	if err != nil {
		return err
	}
	if o.asJSON {
		return env.PrintJSON(struct {
			ContractID string `json:"contract_id"`
			entryOut
		}{d.Event.Tags.GetD(), entryFrom(d.Entry, "")})
	}
	return env.Print("contract %s\nby       %s\nsigned   %s, event %s\n%s", cliutil.OneLine(d.Event.Tags.GetD(), 128), settings.Npub(d.Event.PubKey),
		cliutil.Stamp(d.Entry.CreatedAt), d.Event.ID, cliutil.Indented(d.Entry.Content))
}
