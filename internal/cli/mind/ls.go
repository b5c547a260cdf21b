package mind

import (
	"cmp"
	"context"
	"time"

	"github.com/spf13/cobra"

	"engramd/internal/cli/cliutil"
	"engramd/internal/memory/consolidation"
	"engramd/internal/memory/consolidation/plans"
)

// recordOut is what is known of a recorded plan, in JSON.
type recordOut struct {
	Plan    string             `json:"plan"`
	Of      string             `json:"of,omitempty"` // the plan that was shown
	Kind    consolidation.Kind `json:"kind,omitempty"`
	Status  plans.Status       `json:"status,omitempty"`
	Machine string             `json:"machine,omitempty"`
	Began   string             `json:"began,omitempty"`
	Closed  string             `json:"closed,omitempty"`
	Changes int                `json:"changes"`
	Left    []plans.Left       `json:"left,omitempty"`
	Error   string             `json:"error,omitempty"` // it cannot be read
}

func recordOutOf(r plans.Record) recordOut {
	out := recordOut{Plan: r.ID, Of: r.Plan, Kind: r.Kind, Status: r.Status, Machine: r.Machine, Changes: r.Changes, Left: r.Left, Error: cliutil.ErrorText(r.Err)}
	if !r.Began.IsZero() {
		out.Began = r.Began.UTC().Format(time.RFC3339)
	}
	if !r.Closed.IsZero() {
		out.Closed = r.Closed.UTC().Format(time.RFC3339)
	}
	return out
}

func lsCommand(env *cliutil.Env) *cobra.Command {
	var asJSON bool
	c := env.Command(&cobra.Command{
		Use:   "ls [--json]",
		Short: "List the plans that were carried out or proposed",
		Long: `List the plans that were carried out or proposed, the newest first: id, kind, status,
when it began, how many memories it changes, and the machine that it was begun on. The
status is proposed (it waits for mind review), open or undoing (not finished), done,
undone, rejected, or dropped (killed before anything was changed). Records go 90 days
after they were closed. The agent's owner can look as well.`,
		Example: `  engramctl mind ls
  engramctl mind ls --json | jq -r '.[] | select(.status == "proposed") | .plan'`,
		Args: cliutil.Arguments(),
	}, func(ctx context.Context, _ []string) error {
		return withRecords(ctx, env, func(ctx context.Context, p Thinking) error {
			all, err := p.List(ctx)
			if err != nil {
				return err
			}
			return printRecords(env, all, asJSON)
		})
	})
	cliutil.JSONFlag(c, &asJSON)
	return c
}

func printRecords(env *cliutil.Env, all []plans.Record, asJSON bool) error {
	out := make([]recordOut, 0, len(all))
	for _, r := range all {
		out = append(out, recordOutOf(r))
	}
	if asJSON {
		return env.PrintJSON(out)
	}
	if len(out) == 0 {
		env.Note("no plan was carried out or proposed")
	}
	for _, r := range out {
		if err := env.Print("%-21s  %-11s  %-8s  %-20s  %s  %s\n", r.Plan, r.Kind, cmp.Or(string(r.Status), "damaged"), r.Began,
			cliutil.Counted(r.Changes, "memory", "memories"), cliutil.Harmless(r.Machine)); err != nil {
			return err
		}
	}
	return nil
}
