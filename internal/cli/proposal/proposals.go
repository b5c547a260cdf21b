// Package proposal has the commands by which others propose what an agent remembers,
// and it answers: engramctl propose and proposals.
package proposal

import (
	"cmp"
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"engramd/internal/agent/session"
	"engramd/internal/agent/view"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/settings"
	"engramd/internal/client"
	"engramd/internal/memory/proposals"
	"engramd/nips/frontmatter"
)

// New returns the command proposals.
func New(env *cliutil.Env) *cobra.Command {
	return cliutil.PairFlags(env, cliutil.Group(&cobra.Command{
		Use:   "proposals",
		Short: "What others propose to an agent, and its answers",
		Long: `What others propose to an agent's memory (propose), and its answers. The agent reads
the proposals of its owner, and of the keys that its profile lists (proposals.from);
what other keys address to it is counted and never decrypted.

ID is the id of a proposal as ls shows it, or 8 digits of it and more. Nothing else is
accepted than what was shown under it: a proposal that was replaced or withdrawn, or
was made for another text than is there by now, is a conflict (exit code 5).`,
		Example: `  engramctl proposals ls
  engramctl proposals accept 4f1c22ab
  engramctl proposals ls --agent npub1…   # as owner: what I proposed, and the answers`,
	}, newLs(env), newShow(env), newAccept(env), newReject(env)))
}

// proposalOut is one proposal in JSON.
type proposalOut struct {
	ID         string         `json:"id"` // of its event
	Act        string         `json:"act"`
	Slug       string         `json:"slug"`
	Base       string         `json:"base"`
	Version    string         `json:"version,omitempty"`
	Why        string         `json:"why,omitempty"`
	Vouch      bool           `json:"vouch,omitempty"`
	ProposedBy cliutil.KeyOut `json:"proposed_by"`
	Name       string         `json:"name,omitempty"` // what the agent calls a proposer that is not the owner
	FromOwner  bool           `json:"from_owner"`
	CreatedAt  int64          `json:"created_at"`
	Time       string         `json:"time"`
	Size       int            `json:"size"` // of the text, bytes
	Text       *string        `json:"text,omitempty"`
	Answer     *proposalReply `json:"answer,omitempty"`
}

// proposalReply is what an agent answered, in JSON.
type proposalReply struct {
	Accepted bool   `json:"accepted"`
	Event    string `json:"event,omitempty"` // of what was written
	Hash     string `json:"hash,omitempty"`  // of its text
	Reason   string `json:"reason,omitempty"`
	Time     string `json:"time,omitempty"`
}

// proposalFor is a proposal without its text. owner is the agent's, where that is
// not known from the item.
func proposalFor(i proposals.Item, owner string) proposalOut {
	out := proposalOut{ID: i.EventID, Act: string(i.Act), Slug: string(i.Slug), Base: i.Base, Version: i.Version, Why: i.Why, Vouch: i.Vouch,
		ProposedBy: cliutil.KeyOut{Npub: settings.Npub(i.Proposer), Pubkey: i.Proposer}, Name: i.Name, FromOwner: i.FromOwner || i.Proposer == owner, CreatedAt: i.CreatedAt, Time: cliutil.Stamp(i.CreatedAt), Size: len(i.Text)}
	if x := i.Answer; x != nil {
		out.Answer = &proposalReply{Accepted: x.Accepted, Event: x.Event, Hash: x.Hash, Reason: x.Reason, Time: view.Known(x.At)}
	}
	return out
}

func newLs(env *cliutil.Env) *cobra.Command {
	return env.Command(&cobra.Command{
		Use:   "ls [--json]",
		Short: "List proposals: as agent those that are open, as owner one's own with the answers",
		Long: `List proposals, the newest first. The agent sees those that are open, of its owner and
of the keys that its profile lists, and how many records of other keys there are. The
owner, or another agent that proposes (--agent), sees its own with the answers; the hash
in the answer of an accepted one is the base for the next.`,
		Example: `  engramctl proposals ls
  engramctl proposals ls --agent npub1… --json | jq '.proposals[] | select(.answer == null)'`,
	}, func(ctx context.Context, _ []string) error {
		return cliutil.WithMemory(ctx, env, func(ctx context.Context, m *session.Memory) error {
			if m.Writable() {
				return listInbox(ctx, env, m)
			}
			return listMine(ctx, env, m)
		})
	})
}

// Inbox is what is proposed to the agent of a memory.
func Inbox(env *cliutil.Env, c *client.Client, m *session.Memory) (*proposals.Box, error) {
	s, err := env.Settings()
	if err != nil {
		return nil, err
	}
	return proposals.NewBox(proposals.Options{Client: c, Memory: m, Listed: s.Proposals.Listed, Near: m.Session().Copies.Near, Open: opening})
}

func listInbox(ctx context.Context, env *cliutil.Env, m *session.Memory) error {
	b, err := Inbox(env, m.Session().Client, m)
	if err != nil {
		return err
	}
	in, status, err := b.List(ctx)
	if err := env.Report(status, err); err != nil {
		return err
	}
	if in.More {
		env.Note("there are more proposals than the newest %d of the owner and of the others, which are looked at", proposals.MaxShown)
	}
	if in.Malformed > 0 {
		env.Note("%s no proposal, or cannot be read", cliutil.Counted(in.Malformed, "record is", "records are"))
	}
	if in.Strangers > 0 {
		env.Note("%s of keys that are not listed (proposals.from), which are not read", cliutil.Counted(int(in.Strangers), "record", "records"))
	}
	if env.Flags.JSON {
		out := struct {
			cliutil.AnswerOut
			Proposals []proposalOut `json:"proposals"`
			Malformed int           `json:"malformed"`
			Strangers *int64        `json:"strangers"` // null: no relay counts
			More      bool          `json:"more"`
		}{cliutil.AnswerOf(m, status), proposalsFor(in.Items, m.Owner()), in.Malformed, nil, in.More}
		if in.Strangers >= 0 {
			out.Strangers = &in.Strangers
		}
		return env.PrintJSON(out)
	}
	if len(in.Items) == 0 {
		env.Note("nothing is proposed that is open")
	}
	return printProposals(env, in.Items)
}

func listMine(ctx context.Context, env *cliutil.Env, m *session.Memory) error {
	items, malformed, status, err := (&proposals.Author{Client: m.Session().Client}).Mine(ctx, m.Agent())
	if err := env.Report(status, err); err != nil {
		return err
	}
	if malformed > 0 {
		env.Note("%s no proposal, or cannot be read", cliutil.Counted(malformed, "record is", "records are"))
	}
	if env.Flags.JSON {
		return env.PrintJSON(struct {
			cliutil.AnswerOut
			Proposals []proposalOut `json:"proposals"`
			Malformed int           `json:"malformed"`
		}{cliutil.AnswerOf(m, status), proposalsFor(items, ""), malformed})
	}
	if len(items) == 0 {
		env.Note("this key (%s) has proposed nothing to %s", settings.Npub(m.Owner()), settings.Npub(m.Agent()))
	}
	return printProposals(env, items)
}

func proposalsFor(items []proposals.Item, owner string) []proposalOut {
	out := []proposalOut{}
	for _, i := range items {
		out = append(out, proposalFor(i, owner))
	}
	return out
}

func printProposals(env *cliutil.Env, items []proposals.Item) error {
	w := tabwriter.NewWriter(env.Out(), 0, 0, 2, ' ', 0)
	for _, i := range items {
		state := "open"
		if i.Answer != nil {
			if state = "rejected"; i.Answer.Accepted {
				state = "accepted"
			}
		}
		who := "owner"
		if !i.FromOwner {
			who = cmp.Or(i.Name, "me")
		}
		line := cmp.Or(i.Why, frontmatter.Parse(i.Text).Heading(60))
		if i.Answer != nil && i.Answer.Reason != "" {
			line = frontmatter.OneLine(i.Answer.Reason)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", i.EventID[:cliutil.ShortID], cliutil.Stamp(i.CreatedAt), who, i.Act, i.Slug, state, line)
	}
	return w.Flush()
}
