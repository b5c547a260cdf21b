package main

import (
	"context"

	"github.com/spf13/cobra"

	"engramd/internal/client"
)

func (a *app) agentsLsCommand() *cobra.Command {
	var asJSON bool
	c := a.command(&cobra.Command{
		Use:     "ls [--json]",
		Short:   "List approved agents",
		Example: `  engramctl agents ls --key-file owner.key --relay wss://relay.example`,
		Args:    cobra.NoArgs,
	}, func(ctx context.Context, _ []string) error {
		return a.withApprovals(ctx, func(ctx context.Context, owner string, list *client.Approvals) error {
			agents, status, err := list.List(ctx)
			if err := a.report(status, err); err != nil {
				return err
			}
			if asJSON {
				out := answerOf(nil, status)
				out.Owner = owner
				return a.printJSON(struct {
					answerOut
					Agents []keyOut `json:"agents"`
				}{out, keysOut(agents)})
			}
			for _, agent := range agents {
				if err := a.print("%s\n", npub(agent)); err != nil {
					return err
				}
			}
			return nil
		})
	})
	jsonFlag(c, &asJSON)
	return c
}

// keyOut is a public key in JSON.
type keyOut struct {
	Npub   string `json:"npub"`
	Pubkey string `json:"pubkey"` // hex
}

func keysOut(keys []string) []keyOut {
	out := []keyOut{}
	for _, k := range keys {
		out = append(out, keyOut{npub(k), k})
	}
	return out
}
