package proposal

import (
	"cmp"
	"context"
	"time"

	"github.com/spf13/cobra"

	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/mem/edit"
	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/memory/proposals"
	"engramd/nips/nipae"
)

// NewPropose returns the command propose.
func NewPropose(env *cliutil.Env) *cobra.Command {
	return cliutil.PairFlags(env, cliutil.Group(&cobra.Command{
		Use:   "propose",
		Short: "Propose a change of an agent's memory",
		Long: `Propose a change of an agent's memory, which only the agent signs: the agent accepts
or rejects it (proposals). The key is the owner's, or another agent's whose proposals
the agent reads (proposals.from in its profile); --agent is whose memory it is. Relays
see who proposes something to whom and when, and neither slug nor text.

A proposal is made for the text that is there now: if that is another one when the
agent looks, it is a conflict, and nothing changes. What the owner writes is told, the
highest trust. What he corrects, archives or restores keeps its trust, unless --vouch
says that the agent shall treat the whole text as told by him: at a terminal that is
asked again.

Another agent can only set, below mem/from/ and the first 16 hex digits of its own key,
or what the agent calls it: mem/from/4f1c22ab4f1c22ab/tea. That is external, and its
base is what the answer to the proposal before names (proposals ls).

Prints slug, act and the id by which the agent names the proposal.`,
		Example: `  engramctl propose set people/ana "Ana prefers Portuguese" --agent npub1…
  engramctl propose rm projects/old --agent npub1… --why "it was given up"
  engramctl proposals ls --agent npub1…`,
	}, newSet(env), newEdit(env),
		newAct(env, proposals.Archive, true, &cobra.Command{
			Use:     "archive SLUG [--vouch] [--why REASON] [--json]",
			Short:   "Propose to have a memory recalled no more",
			Long:    `Propose to have a memory recalled no more, and kept (mem archive).`,
			Example: `  engramctl propose archive journal/2024/05/minutes --agent npub1…`,
		}),
		newAct(env, proposals.Delete, false, &cobra.Command{
			Use:     "rm SLUG [--why REASON] [--json]",
			Short:   "Propose to remove a memory",
			Long:    `Propose to remove a memory (mem rm). Its versions stay in the relays' history for a while.`,
			Example: `  engramctl propose rm projects/old --agent npub1… --why "it was given up"`,
		}),
		newRestore(env)))
}

// proposeOptions are what commands that propose are told.
type proposeOptions struct {
	why          string
	vouch, allow bool
}

func (o *proposeOptions) flags(c *cobra.Command, vouch, text bool) {
	c.Flags().StringVar(&o.why, "why", "", "the `reason`, one line, for the agent")
	if vouch {
		c.Flags().BoolVar(&o.vouch, "vouch", false, "the agent shall treat the whole text as told by you")
	}
	if text {
		cliutil.SecretFlag(c, &o.allow)
	}
}

func newSet(env *cliutil.Env) *cobra.Command {
	var o struct {
		proposeOptions
		base string
	}
	c := env.Command(&cobra.Command{
		Use:   "set SLUG VALUE|- [--base HASH] [--why REASON] [--allow-secret] [--json]",
		Short: "Propose a text of your own",
		Long: `Propose a text of your own, new or in the place of what is there: the whole text, with
front matter if it has any (docs/memory.md). With "-" it comes from stdin. From the
owner it is told, unless its front matter says less. To correct a few words of what the
agent wrote, use propose edit: that keeps the text's trust.

--base is the hash of the text that it is made for, or "none"; else it is made for
what is there now.`,
		Example: `  engramctl propose set people/ana "Ana prefers Portuguese" --agent npub1… --why "she said so"`,
	}, cliutil.OnSlug(cliutil.OwnSlug, func(ctx context.Context, slug nipae.Slug, args []string) error {
		if err := cliutil.CheckHash(o.base); err != nil {
			return err
		}
		text, err := edit.Value(env, args[1], false)
		if err != nil {
			return err
		}
		return propose(ctx, env, o.proposeOptions, slug, func(ctx context.Context, m *session.Memory) (p proposals.Proposal, err error) {
			if o.base == "" {
				var head client.Entry
				head, err = proposedFor(ctx, env, m, slug)
				o.base = cmp.Or(head.Hash, memory.BaseNone)
			}
			return proposals.Proposal{Act: proposals.Write, Base: o.base, Text: text}, err
		})
	}))
	o.flags(c, false, true)
	cliutil.BaseFlag(c, &o.base)
	return c
}

func newEdit(env *cliutil.Env) *cobra.Command {
	var o proposeOptions
	c := env.Command(&cobra.Command{
		Use:   "edit SLUG [-] [--vouch] [--why REASON] [--allow-secret] [--json]",
		Short: "Propose a correction of a text",
		Long: `Propose a correction of a text that is there, in an editor ($VISUAL, $EDITOR, else vi)
with its front matter; with "-" the whole new text comes from stdin. It keeps its
trust: what the agent only observed is not told because a word of it was corrected.
--vouch has the agent treat the whole text as told by you.`,
		Example: `  engramctl propose edit projects/atlas --agent npub1…
  sed s/MySQL/SQLite/ atlas.txt | engramctl propose edit projects/atlas - --agent npub1…`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 2 && args[1] == "-" {
				return nil
			}
			return cliutil.Arguments("SLUG")(nil, args)
		},
	}, cliutil.OnSlug(cliutil.OwnSlug, func(ctx context.Context, slug nipae.Slug, args []string) error {
		if len(args) == 1 {
			return proposeEdited(ctx, env, o, slug)
		}
		text, err := edit.Value(env, "-", false)
		if err != nil {
			return err
		}
		return propose(ctx, env, o, slug, func(ctx context.Context, m *session.Memory) (proposals.Proposal, error) {
			head, err := proposedAbout(ctx, env, m, slug)
			return proposals.Proposal{Act: proposals.Edit, Base: head.Hash, Text: text, Vouch: o.vouch}, err
		})
	}))
	o.flags(c, true, true)
	return c
}

// proposeEdited is propose edit in an editor.
func proposeEdited(ctx context.Context, env *cliutil.Env, o proposeOptions, slug nipae.Slug) error {
	if err := vouchedBy(ctx, env, o); err != nil {
		return err
	}
	opened, err := openProposing(ctx, env)
	if err != nil {
		return err
	}
	defer opened.Close()
	m := opened.Memory
	reading, done := env.Bounded(ctx)
	head, err := proposedAbout(reading, env, m, slug)
	done()
	if err != nil {
		return err
	}
	return edit.InEditor(ctx, env, slug, head.Text, "nothing changed, and nothing is proposed", func(text string) error {
		sending, done := env.Bounded(ctx)
		defer done()
		return sendProposal(sending, env, opened.Client, m, o, proposals.Proposal{Act: proposals.Edit, Slug: slug, Base: head.Hash, Text: text, Vouch: o.vouch})
	})
}

// newAct proposes what has no text.
func newAct(env *cliutil.Env, act proposals.Act, vouch bool, c *cobra.Command) *cobra.Command {
	var o proposeOptions
	env.Command(c, func(ctx context.Context, args []string) error { return runAct(ctx, env, o, act, args[0]) })
	o.flags(c, vouch, false)
	return c
}

func runAct(ctx context.Context, env *cliutil.Env, o proposeOptions, act proposals.Act, arg string) error {
	slug, err := cliutil.OwnSlug(arg)
	if err != nil {
		return err
	}
	return propose(ctx, env, o, slug, func(ctx context.Context, m *session.Memory) (proposals.Proposal, error) {
		head, err := proposedAbout(ctx, env, m, slug)
		return proposals.Proposal{Act: act, Base: head.Hash, Vouch: o.vouch}, err
	})
}

func newRestore(env *cliutil.Env) *cobra.Command {
	var o struct {
		proposeOptions
		at string
	}
	c := env.Command(&cobra.Command{
		Use:   "restore SLUG --at TIME|ID [--vouch] [--why REASON] [--json]",
		Short: "Propose to go back to an old version of a memory",
		Long: `Propose to write an old version of a memory (mem log --agent) as a new one (mem
restore). It comes back byte for byte, with the trust that it had.`,
		Example: `  engramctl propose restore notes --at yesterday --agent npub1…`,
	}, cliutil.OnSlug(cliutil.OwnSlug, func(ctx context.Context, slug nipae.Slug, args []string) error {
		when, err := memory.ParseWhen(o.at, time.Now())
		if err != nil {
			return exit.Usagef("--at: %w", err)
		}
		return propose(ctx, env, o.proposeOptions, slug, func(ctx context.Context, m *session.Memory) (p proposals.Proposal, err error) {
			head, err := proposedFor(ctx, env, m, slug)
			if err != nil {
				return p, err
			}
			old, status, err := m.At(ctx, slug, when)
			if err := env.Report(status, cliutil.About(slug, old, err)); err != nil {
				return p, err
			}
			return proposals.Proposal{Act: proposals.Restore, Base: cmp.Or(head.Hash, memory.BaseNone), Version: old.ID, Vouch: o.vouch}, nil
		})
	}))
	o.flags(c, true, false)
	c.Flags().StringVar(&o.at, "at", "", "the version of `TIME` or ID")
	return c
}
