// Package outbox shows, sends and drops what was written while no relay answered:
// engramctl outbox.
package outbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/client"
)

// itemOut is a write that waits, or a text that is apart, in JSON.
type itemOut struct {
	ID     string `json:"id"`
	Slug   string `json:"slug"`
	How    string `json:"how"` // set, append, edit; apart: it met a newer text
	Size   int    `json:"size"`
	Time   string `json:"time"`             // it was written
	Reason string `json:"reason,omitempty"` // why it was not sent
}

// New returns engramctl outbox.
func New(env *cliutil.Env) *cobra.Command {
	return cliutil.PairFlags(env, cliutil.Group(&cobra.Command{
		Use:   "outbox",
		Short: "Show and send what was written while no relay answered",
		Long: `Show and send what was written while no relay answered. note, mem set, mem append,
mem edit, mem patch and the tools memory_note, memory_write and memory_edit
keep a write then on this machine, sealed and unsigned, and say "queued". mem
get, lists, recall and search find it, marked "not sent yet".

It is sent by the MCP server, by the next command that writes, at the start of a session,
and by outbox send: in order, once, and never over a newer text. What was appended, or
edited where the old words still stand once, is made on the newer text; anything else
that meets one is kept apart, at mem/sys/outbox/ID, and the next session is told.`,
		Example: `  engramctl outbox ls
  engramctl outbox send`,
	}, lsCommand(env), sendCommand(env), dropCommand(env), importCommand(env)))
}

// with runs do on the outbox of an agent.
func with(ctx context.Context, env *cliutil.Env, do func(context.Context, *session.Session) error) error {
	s, err := env.Session(ctx, cliutil.Configured)
	if err != nil {
		return err
	}
	defer s.Close()
	if !s.Memory.Writable() {
		return client.ErrReadOnly
	}
	ctx, done := env.Bounded(ctx)
	defer done()
	return do(ctx, s)
}

func lsCommand(env *cliutil.Env) *cobra.Command {
	return env.Command(&cobra.Command{
		Use:   "ls [--json]",
		Short: "List what waits, and what met a newer text",
		Long: `List what waits on this machine, in the order in which it is sent, and what met a newer
text when it was sent and is kept apart, as the local copy has it. No relay is asked.`,
		Example: `  engramctl outbox ls`,
	}, func(ctx context.Context, _ []string) error {
		return with(ctx, env, func(ctx context.Context, s *session.Session) error {
			waiting, err := s.Outbox.All(ctx)
			if err != nil {
				return err
			}
			out := struct {
				Items []itemOut `json:"items"`
			}{[]itemOut{}}
			for _, w := range waiting {
				out.Items = append(out.Items, itemOut{w.ID, w.Slug, w.How(), len(w.Text), cliutil.Stamp(w.At.Unix()), w.Reason})
			}
			for _, u := range s.Outbox.Apart(ctx) {
				out.Items = append(out.Items, itemOut{u.ID(), u.Of, "apart", len(u.Text), cliutil.Stamp(u.Written.Unix()), "it met a newer text: " + u.Slug})
			}
			for _, a := range s.Outbox.Aside(ctx) {
				env.Note("%s", a)
			}
			if env.Flags.JSON {
				return env.PrintJSON(out)
			}
			w := tabwriter.NewWriter(env.Out(), 0, 0, 2, ' ', 0)
			for _, i := range out.Items {
				fmt.Fprintf(w, "%s\t%s\t%s\t%d B\t%s\t%s\n", i.ID, i.How, i.Slug, i.Size, i.Time, i.Reason)
			}
			return w.Flush()
		})
	})
}

func sendCommand(env *cliutil.Env) *cobra.Command {
	return env.Command(&cobra.Command{
		Use:   "send [--json]",
		Short: "Send what waits",
		Long: `Send what waits on this machine. What a relay refuses waits still, with the reason
(outbox ls), and so does what was made on a memory that has expired: outbox drop gives
it up. Exit code 4 if no relay answers, or if something waits still.`,
		Example: `  engramctl outbox send`,
	}, func(ctx context.Context, _ []string) error {
		return with(ctx, env, func(ctx context.Context, s *session.Session) error {
			if err := s.Discover(ctx); err != nil {
				return err
			}
			sent, err := s.Outbox.Send(ctx, "")
			if err == nil && sent.Left > 0 {
				err = fmt.Errorf("%s not sent: %s (engramctl outbox ls)", cliutil.Counted(sent.Left, "write is", "writes are"), cmp.Or(sent.Reason, "a write came meanwhile"))
			}
			out := struct {
				Sent    int `json:"sent"`
				Rebased int `json:"rebased"` // of them: made on a newer text
				Apart   int `json:"apart"`   // met a newer text
				Left    int `json:"left"`
			}{sent.Written, sent.Rebased, sent.Apart, sent.Left}
			line := sent.String()
			if line == "" {
				line = "nothing was sent"
			}
			return errors.Join(env.Show(out, "%s\n", line), err)
		})
	})
}

func dropCommand(env *cliutil.Env) *cobra.Command {
	return env.Command(&cobra.Command{
		Use:   "drop ID…",
		Short: "Give up what waits, or is kept apart",
		Long: `Give up writes that wait, or texts that met a newer one and are kept apart, by the ids of
outbox ls. What waits is gone then; of what is kept apart a relay's history has the text
for a while.`,
		Example: `  engramctl outbox drop 5f1b8e0c9a3d`,
		Args:    cobra.MinimumNArgs(1),
	}, func(ctx context.Context, args []string) error {
		return with(ctx, env, func(ctx context.Context, s *session.Session) error {
			for _, id := range args {
				if err := s.Outbox.Drop(ctx, id); err != nil {
					return fmt.Errorf("%s: %w", id, err)
				}
			}
			return nil
		})
	})
}

func importCommand(env *cliutil.Env) *cobra.Command {
	return env.Command(&cobra.Command{
		Use:   "import FILE",
		Short: "Take over what waits in a state that was set aside",
		Long: `Take over the writes that wait in a state that was set aside: one that was damaged, or
came from another machine or folder ("set aside as FILE"). What is here already is left.
Since whoever has that state may have sent them, they are written only where the text is
the one that they were made from; else they are kept apart. FILE gets another name.`,
		Example: `  engramctl outbox import ~/.local/state/engramd/….state.aside-20261122T060244.000000000`,
	}, func(ctx context.Context, args []string) error {
		return with(ctx, env, func(ctx context.Context, s *session.Session) error {
			n, err := s.Outbox.Import(ctx, env.Path(args[0]))
			if err != nil {
				return exit.Usagef("%s: %w", args[0], err)
			}
			return env.Print("%s taken over\n", cliutil.Counted(n, "write", "writes"))
		})
	})
}
