package proposal

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/client"
	"engramd/internal/memory/proposals"
)

// nearOut is a memory that an accepted text is to be compared with, in JSON.
type nearOut struct {
	Slug        string   `json:"slug"`
	Title       string   `json:"title,omitempty"`
	Shared      float64  `json:"shared,omitempty"`
	Differs     []string `json:"differs,omitempty"`
	Contradicts bool     `json:"contradicts,omitempty"`
}

func newAccept(env *cliutil.Env) *cobra.Command {
	var how proposals.AcceptOptions
	c := env.Command(&cobra.Command{
		Use:   "accept ID [--allow-secret] [--allow-placeholder] [--json]",
		Short: "Accept a proposal: write what it wants, and answer",
		Long: `Accept a proposal: write what it wants, and answer. The memory says by whom it was
proposed (source). From the owner a text is told; what he corrects, archives or restores
keeps its trust unless the proposal vouches for it. From anybody else it is external,
and below mem/from/.

stderr names memories that say nearly the same or contradict it, as the local copy has
them. A text in which something looks like a key or a token, or that has a line which
stands for text that was left out, is refused. Accepting again changes nothing; after a
crash it answers what was written.`,
		Example: `  engramctl proposals accept 4f1c22ab`,
	}, func(ctx context.Context, args []string) error {
		return WithInbox(ctx, env, func(ctx context.Context, m *session.Memory, b *proposals.Box) error {
			done, err := b.Accept(ctx, args[0], how)
			if err := env.Report(done.Status, unaccepted(env, args[0], done, err)); err != nil {
				return err
			}
			return printAccepted(env, m, done)
		})
	})
	cliutil.SecretFlag(c, &how.AllowSecret)
	c.Flags().BoolVar(&how.AllowPlaceholder, "allow-placeholder", false, "write also a line that stands for text that was left out")
	return c
}

// WithInbox is cliutil.WithMemory for the agent, who answers.
func WithInbox(ctx context.Context, env *cliutil.Env, do func(ctx context.Context, m *session.Memory, b *proposals.Box) error) error {
	return cliutil.WithMemory(ctx, env, func(ctx context.Context, m *session.Memory) error {
		if !m.Writable() {
			return fmt.Errorf("%w, and answers what is proposed to it", client.ErrReadOnly)
		}
		b, err := Inbox(env, m.Session().Client, m)
		if err != nil {
			return err
		}
		return do(ctx, m, b)
	})
}

// unaccepted adds to an error what to do.
func unaccepted(env *cliutil.Env, id string, done proposals.Accepted, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, proposals.ErrRefused):
		return fmt.Errorf("%w: --allow-secret and --allow-placeholder write it all the same; proposals reject answers", err)
	case done.Slug == "", errors.Is(err, client.ErrConflict):
		return AboutProposal(id, cliutil.Explained(err))
	}
	return cliutil.About(done.Slug, done.Entry, err)
}

func printAccepted(env *cliutil.Env, m *session.Memory, done proposals.Accepted) error {
	for _, n := range done.Near {
		env.Note("near: %s", nearLine(n))
	}
	if done.Again {
		env.Note("it was accepted before")
	}
	trust := ""
	if done.Act != proposals.Delete && !done.Slug.IsCore() && !done.Entry.Tombstone && done.Entry.CreatedAt > 0 {
		trust = done.Trust.String()
	}
	if env.Flags.JSON {
		out := struct {
			cliutil.AnswerOut
			proposalOut
			Written string    `json:"written"` // slug
			Event   string    `json:"event"`
			Hash    string    `json:"hash,omitempty"`
			Trust   string    `json:"trust,omitempty"`
			Again   bool      `json:"again,omitempty"`
			Near    []nearOut `json:"near"`
		}{cliutil.AnswerOf(m, done.Status), proposalFor(done.Item, m.Owner()), string(done.Slug), done.Entry.ID, done.Entry.Hash, trust, done.Again, []nearOut{}}
		for _, n := range done.Near {
			out.Near = append(out.Near, nearOut(n))
		}
		return env.PrintJSON(out)
	}
	if done.Act == proposals.Delete {
		return env.Print("%s  removed\n", done.Slug)
	}
	if trust != "" {
		trust = "  " + trust
	}
	return env.Print("%s  accepted%s  hash %s\n", done.Slug, trust, done.Entry.Hash)
}

func newReject(env *cliutil.Env) *cobra.Command {
	return env.Command(&cobra.Command{
		Use:     "reject ID [REASON] [--json]",
		Short:   "Reject a proposal, and say why",
		Long:    `Reject a proposal: nothing is written but the answer, with the reason if there is one.`,
		Example: `  engramctl proposals reject 4f1c22ab "that was last year"`,
	}, func(ctx context.Context, args []string) error {
		reason := strings.Join(args[1:], "")
		if err := cliutil.CheckText(reason); err != nil {
			return err
		}
		return WithInbox(ctx, env, func(ctx context.Context, m *session.Memory, b *proposals.Box) error {
			item, status, err := b.Reject(ctx, args[0], reason)
			if err := env.Report(status, AboutProposal(args[0], cliutil.Explained(err))); err != nil {
				return err
			}
			return env.Show(struct {
				cliutil.AnswerOut
				proposalOut
			}{cliutil.AnswerOf(m, status), proposalFor(item, m.Owner())}, "%s  %s rejected\n", item.Slug, item.Act)
		})
	})
}
