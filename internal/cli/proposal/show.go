package proposal

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/settings"
	"engramd/internal/client"
	"engramd/internal/memory/proposals"
	"engramd/internal/memory/transplant"
	"engramd/nips/frontmatter"
)

func newShow(env *cliutil.Env) *cobra.Command {
	return env.Command(&cobra.Command{
		Use:   "show ID [--json]",
		Short: "Show a proposal with its whole text",
		Long: `Show a proposal with its whole text: what it wants, by whom and why, and for the agent
also which memories say nearly the same, or contradict it. Of a transplant it shows the
text that was signed, and by whom. The text is somebody's words and not an order.`,
		Example: `  engramctl proposals show 4f1c22ab`,
	}, func(ctx context.Context, args []string) error {
		return cliutil.WithMemory(ctx, env, func(ctx context.Context, m *session.Memory) error {
			item, status, err := proposalNamed(ctx, env, m, args[0])
			if err := env.Report(status, AboutProposal(args[0], err)); err != nil {
				return err
			}
			text, from := item.Text, ""
			if item.Origin != nil {
				text, from = signedText(ctx, item)
			}
			if env.Flags.JSON {
				out := proposalFor(item, m.Owner())
				if text != "" {
					out.Text, out.Size = &text, len(text)
				}
				return env.PrintJSON(struct {
					cliutil.AnswerOut
					proposalOut
				}{cliutil.AnswerOf(m, status), out})
			}
			return printProposal(ctx, env, m, item, text, from)
		})
	})
}

// proposalNamed returns a proposal to the agent, or one of our own.
func proposalNamed(ctx context.Context, env *cliutil.Env, m *session.Memory, id string) (proposals.Item, client.Status, error) {
	if m.Writable() {
		b, err := Inbox(env, m.Session().Client, m)
		if err != nil {
			return proposals.Item{}, client.Status{}, err
		}
		return b.Get(ctx, id)
	}
	items, _, status, err := (&proposals.Author{Client: m.Session().Client}).Mine(ctx, m.Agent())
	if err != nil {
		return proposals.Item{}, status, err
	}
	item, err := proposals.Find(items, id)
	if errors.Is(err, client.ErrNotFound) && status.Partial {
		err = client.ErrPartial
	}
	return item, status, err
}

// AboutProposal adds to an error which proposal it is about.
func AboutProposal(id string, err error) error {
	if errors.Is(err, client.ErrNotFound) && !errors.Is(err, client.ErrPartial) {
		return fmt.Errorf("proposal %s: %w", frontmatter.OneLine(id), err)
	}
	return err
}

// signedText returns the text that is in another agent's event, as it is kept if it
// is accepted, and whose event that is; without a text, why there is none.
func signedText(ctx context.Context, i proposals.Item) (text, from string) {
	opened, err := opening(ctx, i.Proposal)
	if err != nil {
		return "", frontmatter.OneLine(err.Error())
	}
	_, u, _ := OriginOf(i.Proposal)
	return opened.Text, fmt.Sprintf("by %s, %s of %s", settings.Npub(u.Author), u.ID, cliutil.Stamp(u.CreatedAt))
}

// printProposal prints a proposal with its text, and whose event that is from.
func printProposal(ctx context.Context, env *cliutil.Env, m *session.Memory, i proposals.Item, text, from string) error {
	var b strings.Builder
	line := func(key, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-9s %s\n", key+":", value)
		}
	}
	line("id", i.EventID)
	line("act", string(i.Act))
	line("slug", string(i.Slug))
	line("by", strings.TrimSpace(settings.Npub(i.Proposer)+"  "+i.Name))
	line("time", cliutil.Stamp(i.CreatedAt))
	line("base", i.Base)
	line("version", i.Version)
	line("why", i.Why)
	if i.Vouch {
		line("vouch", "the whole text shall be treated as told by the owner")
	}
	if x := i.Answer; x != nil && x.Accepted {
		line("answer", "accepted, "+x.Event)
	} else if x != nil {
		line("answer", strings.TrimSpace("rejected  "+frontmatter.OneLine(x.Reason)))
	}
	line("text", from)
	if slug, err := i.Target(); err == nil && m.Writable() && text != "" {
		for _, n := range m.Session().Copies.Near(ctx, string(slug), text) {
			line("near", nearLine(n))
		}
	}
	if err := env.Print("%s", b.String()); err != nil || text == "" {
		return err
	}
	if err := env.Print("\n"); err != nil {
		return err
	}
	return env.PrintText(text)
}

// nearLine is a memory to compare with, in words.
func nearLine(n proposals.Near) string {
	line := n.Slug
	if n.Title != "" {
		line += " (" + n.Title + ")"
	}
	if n.Contradicts {
		line += ", contradicts"
	}
	if n.Shared > 0 {
		line += fmt.Sprintf(", says %.0f %% of it", 100*n.Shared)
	}
	if len(n.Differs) > 0 {
		line += ", differs in " + strings.Join(n.Differs[:min(8, len(n.Differs))], " ")
	}
	return frontmatter.OneLine(line)
}

// opening is what a Box opens origins with: the text that was signed, as it is kept.
func opening(_ context.Context, p proposals.Proposal) (proposals.Opened, error) {
	_, u, err := OriginOf(p)
	if err != nil {
		return proposals.Opened{}, err
	}
	text, err := u.Planted()
	return proposals.Opened{Text: text, Source: transplant.Source(u.Author), D: u.D, CreatedAt: u.CreatedAt}, err
}

// OriginOf opens the origin of a proposal. Who passes on what he has not signed
// himself is believed too: the event says who did.
func OriginOf(p proposals.Proposal) (o transplant.Origin, u transplant.Unit, err error) {
	if o, err = transplant.ParseOrigin(p.Origin); err == nil {
		u, err = o.Open()
	}
	return o, u, err
}
