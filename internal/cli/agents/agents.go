// Package agents lists the agents of an owner and keeps the list of those it allows: engramctl agents.
package agents

import (
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/nbd-wtf/go-nostr"
	"github.com/spf13/cobra"

	"engramd/internal/agent/view"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/settings"
	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/client/transfer"
	"engramd/nips/nipae"
)

// New returns engramctl agents.
func New(env *cliutil.Env) *cobra.Command {
	return cliutil.Group(&cobra.Command{
		Use:   "agents",
		Short: "An owner's agents, and their approval",
		Long: `An owner's agents, and their approval. Relays that take memory only for certain owners
(write.owners) take it from the agents that such an owner approves. The key is the
owner's. The approval goes to the configured relays: name those that the agent
writes to.`,
		Example: `  engramctl agents allow npub1… --key-file owner.key --relay wss://relay.example`,
	}, allowCommand(env), lsCommand(env), revokeCommand(env))
}

// approvalCommand makes a command that changes the list by the one agent it
// names, and prints what that is then.
func approvalCommand(env *cliutil.Env, c *cobra.Command, then string, change func(list *memory.Approvals, ctx context.Context, agent string) (client.Status, error)) *cobra.Command {
	return env.Command(c, func(ctx context.Context, args []string) error {
		agent, err := settings.PublicKey("agent", "the command line", args[0])
		if err == nil && agent == "" {
			err = exit.Usagef("the agent's public key is empty")
		}
		if err != nil {
			return err
		}
		c, s, err := env.Client(ctx) // the configured relays: where an agent is to be let in, its own list says nothing
		if err != nil {
			return err
		}
		defer c.Close()
		if me := c.Identity().PubKey(); s.Own.Owner != "" && s.Own.Owner != me {
			env.Note("the key is %s, and the owner of the profile is %s: it is the owner's key that approves an agent (--key-file)", settings.Npub(me), settings.Npub(s.Own.Owner))
		}
		ctx, done := env.Bounded(ctx)
		defer done()
		status, err := change(memory.ApprovalsOf(c), ctx, agent)
		if err := env.ReportWith(status, cliutil.Explained(err), "the same command brings the others up to date once they answer"); err != nil {
			return err
		}
		return env.Print("%s  %s\n", settings.Npub(agent), then)
	})
}

// agentOut is one agent of `agents ls --json`.
type agentOut struct {
	cliutil.KeyOut
	Approved   bool   `json:"approved"`
	Core       bool   `json:"core"` // it has one
	Memories   int    `json:"memories"`
	Bytes      int64  `json:"bytes"` // of all texts, core included
	Unreadable int    `json:"unreadable,omitempty"`
	LastAt     int64  `json:"last_at,omitempty"` // when it last wrote or removed something
	Last       string `json:"last,omitempty"`
}

// othersOut is what keys that are not approved address to the owner, where that is
// more than is looked at.
type othersOut struct {
	Engrams int64 `json:"engrams"` // as the relay that has most counts them; -1: none counts
	Looked  int   `json:"looked_at"`
}

// claims counts the engrams of keys that are not approved.
func claims(ctx context.Context, c *client.Client, agents []memory.AgentMemory) int64 {
	all := nostr.Filter{Kinds: []int{nipae.Kind}, Tags: nostr.TagMap{"p": {c.Identity().PubKey()}}}
	known := all
	for _, m := range agents {
		if m.Approved {
			known.Authors = append(known.Authors, m.Agent)
		}
	}
	return transfer.CountBeyond(ctx, c, all, known)
}

func lsCommand(env *cliutil.Env) *cobra.Command {
	return env.Command(&cobra.Command{
		Use:   "ls [--json]",
		Short: "List an owner's agents, with the size of their memory",
		Long: `List the agents of the key's owner: those that it has approved, and those that
remember something for it, with how much that is (core and texts, decrypted) and
when they last wrote or removed something. Anybody can address memory to anybody:
an agent that is not approved is only somebody's claim to be one, and is looked for among
the newest 500 engrams that name the owner; a note says how many more there are. Proposals,
answers to them and the units of a writer's log are no memory and not counted. Who is named
as the key's owner where the key is configured proposes things to it, and is none of its
agents.

The configured relays are asked, and what they say is united. What only other relays
have is not counted: name the relays that the agents write to.`,
		Example: `  engramctl agents ls --key-file owner.key --relay wss://relay.example
  engramctl agents ls --json | jq -r '.agents[] | select(.approved) | .npub'`,
	}, func(ctx context.Context, _ []string) error {
		c, _, err := env.Client(ctx)
		if err != nil {
			return err
		}
		defer c.Close()
		ctx, done := env.Bounded(ctx)
		defer done()
		list, status, err := memory.Agents(ctx, c)
		if err := env.Report(status, err); err != nil {
			return err
		}
		agents, others := list.Agents, int64(list.Looked)
		if list.Beyond {
			others = claims(ctx, c, agents)
		}
		if env.Flags.JSON {
			out := struct {
				cliutil.AnswerOut
				Agents []agentOut `json:"agents"`
				Others *othersOut `json:"others,omitempty"`
			}{cliutil.AnswerOf(nil, status), []agentOut{}, nil}
			out.Owner = c.Identity().PubKey()
			for _, m := range agents {
				out.Agents = append(out.Agents, agentOut{cliutil.KeyOut{Npub: settings.Npub(m.Agent), Pubkey: m.Agent}, m.Approved, m.Core, m.Memories, m.Bytes, m.Unreadable, m.Last, view.Known(m.Last)})
			}
			if list.Beyond {
				out.Others = &othersOut{others, list.Looked}
			}
			return env.PrintJSON(out)
		}
		if list.Beyond && others != int64(list.Looked) {
			many := "more engrams of keys that are not approved name this key than were looked at"
			if others >= 0 {
				many = fmt.Sprintf("%d engrams of keys that are not approved name this key", others)
			}
			env.Note("%s: of them, the %d that are among the newest were looked at", many, list.Looked)
		}
		if len(agents) == 0 {
			env.Note("no agent is approved by this key (%s) or remembers anything for it", settings.Npub(c.Identity().PubKey()))
		}
		return printAgents(env, agents)
	})
}

func printAgents(env *cliutil.Env, agents []memory.AgentMemory) error {
	w := tabwriter.NewWriter(env.Out(), 0, 0, 2, ' ', 0)
	for _, m := range agents {
		state, core, last := "not approved", "no core", "never wrote"
		if m.Approved {
			state = "approved"
		}
		if m.Core {
			core = "core"
		}
		if m.Last > 0 {
			last = cliutil.Stamp(m.Last)
		}
		much := fmt.Sprintf("%s, %s", core, cliutil.Counted(m.Memories, "memory", "memories"))
		if m.Unreadable > 0 {
			much += fmt.Sprintf(", %d unreadable", m.Unreadable)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d B\t%s\n", settings.Npub(m.Agent), state, much, m.Bytes, last)
	}
	return w.Flush()
}

func allowCommand(env *cliutil.Env) *cobra.Command {
	return approvalCommand(env, &cobra.Command{
		Use:   "allow PUBKEY",
		Short: "Approve an agent",
		Long: `Approve an agent, given by npub or hex. Approving it again changes nothing. Every
relay must answer: one that does not may have a newer list, in which another
agent is revoked.`,
		Example: `  engramctl agents allow npub1… --key-file owner.key --relay wss://relay.example`,
	}, "allowed", (*memory.Approvals).Allow)
}

func revokeCommand(env *cliutil.Env) *cobra.Command {
	return approvalCommand(env, &cobra.Command{
		Use:   "revoke PUBKEY",
		Short: "Take an approval back",
		Long: `Take an approval back. The agent's memory stays, and stays readable. A relay that
cannot be reached keeps the approval: stderr names it; revoke again once it is
back. Exit code 1 if the agent is not approved.`,
		Example: `  engramctl agents revoke npub1… --key-file owner.key --relay wss://relay.example`,
	}, "revoked", (*memory.Approvals).Revoke)
}
