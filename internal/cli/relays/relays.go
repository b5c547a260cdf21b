// Package relays shows and sets an agent's relays: engramctl relays.
package relays

import (
	"context"
	"fmt"
	"slices"
	"text/tabwriter"

	"github.com/nbd-wtf/go-nostr"
	"github.com/spf13/cobra"

	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/client"
	"engramd/nips/nipae"
)

// New returns engramctl relays. Of what was a part of it once, the former name stays.
func New(env *cliutil.Env, former *cobra.Command) *cobra.Command {
	former.Hidden = true
	return cliutil.PairFlags(env, cliutil.Group(&cobra.Command{
		Use:   "relays",
		Short: "The relays that keep an agent's memory",
		Long: `The relays that keep an agent's memory: the configured ones. Those of the agent's own
list (NIP-65, kind 10002: its write and unmarked entries), which is looked for on
the configured relays, are asked too, but are told neither owner nor address, and
are not written to: they are its public relays, and most have no gate. Memory is
absent only if all of them say so.`,
		Example: `  engramctl relays ls
  engramctl relays set wss://relay.example
  engramctl relays ignore wss://gone.example
  engramctl sync`,
	}, former, lsCommand(env), setCommand(env), ignoreCommand(env)))
}

// relayLine is one line of `relays ls`.
type relayLine struct {
	cliutil.RelayOut
	Source string `json:"source"` // "configured", or "nip65": the agent's own list
}

func lsCommand(env *cliutil.Env) *cobra.Command {
	return env.Command(&cobra.Command{
		Use:   "ls [--json]",
		Short: "Show which relays are asked and whether they answer",
		Long: `Show which relays are asked, where their names come from, and whether they answer
this key's question for the agent's memory. Exit code 4 if none does, 3 if all
refuse the key.`,
		Example: `  engramctl relays ls
  engramctl relays ls --agent npub1… --json`,
	}, func(ctx context.Context, _ []string) error {
		opened, err := env.Session(ctx, cliutil.Patiently)
		if err != nil {
			return err
		}
		defer opened.Close()
		c, m := opened.Client, opened.Memory
		ctx, done := env.Bounded(ctx)
		defer done()
		configured := c.Relays()
		if err := opened.Discover(ctx); err != nil {
			env.Note("looking for the agent's list of relays: %v", err)
		} else {
			for _, r := range c.Doubts() {
				cliutil.ReportRelay(env, r)
			}
		}
		answers, err := c.Ask(ctx, nostr.Filter{Kinds: []int{nipae.Kind}, Authors: []string{m.Agent()},
			Tags: nostr.TagMap{"p": {m.Owner()}}, Limit: 1})
		if env.Flags.JSON {
			return cliutil.FirstOf(err, env.PrintJSON(relayLines(m, answers.Relays, configured, c.LeftOut())))
		}
		return cliutil.FirstOf(err, printRelays(env, answers.Relays, configured, c.LeftOut()))
	})
}

// sourceOf reports where a relay's name comes from.
func sourceOf(url string, configured []string) string {
	if slices.ContainsFunc(configured, func(u string) bool { return sameRelay(u, url) }) {
		return "configured"
	}
	return "nip65"
}

func sameRelay(a, b string) bool {
	ca, errA := nipae.CanonicalRelayURL(a)
	cb, errB := nipae.CanonicalRelayURL(b)
	return errA == nil && errB == nil && ca == cb
}

func relayLines(m *session.Memory, relays []client.RelayStatus, configured, leftOut []string) any {
	lines := []relayLine{}
	for _, r := range cliutil.RelaysOut(relays) {
		lines = append(lines, relayLine{r, sourceOf(r.URL, configured)})
	}
	return struct {
		Agent   string      `json:"agent"`
		Owner   string      `json:"owner"`
		Relays  []relayLine `json:"relays"`
		LeftOut []string    `json:"left_out"` // configured, but not on the agent's list
	}{m.Agent(), m.Owner(), lines, append([]string{}, leftOut...)}
}

func printRelays(env *cliutil.Env, relays []client.RelayStatus, configured, leftOut []string) error {
	w := tabwriter.NewWriter(env.Out(), 0, 0, 2, ' ', 0)
	for _, r := range relays {
		state := fmt.Sprintf("answers in %d ms", r.Took.Milliseconds())
		if r.Err != nil {
			state = r.Err.Error()
		}
		if slices.Contains(leftOut, r.URL) {
			state += "; not on the agent's own list"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", r.URL, sourceOf(r.URL, configured), state)
	}
	return w.Flush()
}
