package main

import (
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"engramd/internal/client"
)

// syncOut is one relay of `relays sync --json`.
type syncOut struct {
	URL     string `json:"url"`
	Had     int    `json:"had"`
	Sent    int    `json:"sent"`
	Refused int    `json:"refused"`
	Error   string `json:"error,omitempty"`
}

func (a *app) relaysSyncCommand() *cobra.Command {
	var asJSON bool
	c := a.command(&cobra.Command{
		Use:   "sync [--json]",
		Short: "Send the current memory to the relays that lack it",
		Long: `Send the current version of everything, core and removals too, as it was signed, to
the relays that lack it: after one was down, or when a new one is added. The
relays that the agent lists itself get it too; --no-discovery leaves them out, and
relays ignore one of them for good. Both the
agent and its owner may do it. Exit code 4 if some relay is not up to date in the
end. engramctl sync moves everything that a key may see, history too.`,
		Example: `  engramctl relays sync
  engramctl relays sync --timeout 5m --relay wss://old.example --relay wss://new.example`,
		Args: cobra.NoArgs,
	}, func(ctx context.Context, _ []string) error {
		a.patient = true
		return a.withMemory(ctx, func(ctx context.Context, m *client.Memory) error {
			report, err := m.Sync(ctx)
			if err != nil {
				return a.report(report.Status, err)
			}
			if report.Expired > 0 {
				a.note("%d records have expired and were not sent", report.Expired)
			}
			if asJSON {
				err = a.printJSON(syncReport(m, report))
			} else {
				err = a.printSync(report)
			}
			return firstOf(err, behind(report))
		})
	})
	jsonFlag(c, &asJSON)
	return c
}

func syncReport(m *client.Memory, r client.SyncReport) any {
	relays := []syncOut{}
	for _, s := range r.Relays {
		relays = append(relays, syncOut{s.URL, s.Had, s.Sent, s.Refused, errorText(s.Err)})
	}
	return struct {
		Agent   string    `json:"agent"`
		Owner   string    `json:"owner"`
		Partial bool      `json:"partial"`
		Records int       `json:"records"`
		Expired int       `json:"expired,omitempty"`
		Relays  []syncOut `json:"relays"`
	}{m.Agent(), m.Owner(), r.Status.Partial, r.Heads, r.Expired, relays}
}

func (a *app) printSync(r client.SyncReport) error {
	w := tabwriter.NewWriter(a.out(), 0, 0, 2, ' ', 0)
	for _, s := range r.Relays {
		state := fmt.Sprintf("had %d of %d, took %d", s.Had, r.Heads, s.Sent)
		if s.Refused > 0 {
			state += fmt.Sprintf(", refused %d", s.Refused)
		}
		if s.Err != nil {
			state += ": " + s.Err.Error()
		}
		fmt.Fprintf(w, "%s\t%s\n", s.URL, state)
	}
	return w.Flush()
}

// behind returns an error if some relay lacks something still, or if the
// reading did not show all that there is.
func behind(r client.SyncReport) error {
	n := 0
	for _, s := range r.Relays {
		if s.Err != nil || s.Refused > 0 {
			n++
		}
	}
	if n > 0 {
		return fmt.Errorf("%w in full: %d of %d are not up to date", client.ErrPartial, n, len(r.Relays))
	}
	if r.Status.Partial {
		return fmt.Errorf("%w in full: there may be more to send", client.ErrPartial)
	}
	return nil
}
