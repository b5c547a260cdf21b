// Package relays shows and sets an agent's relays: engramctl relays.
package relays

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/nbd-wtf/go-nostr"
	"github.com/spf13/cobra"

	"engramd/internal/agent/session"
	"engramd/internal/agent/view"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/settings"
	"engramd/internal/client"
	"engramd/nips/nipae"
)

// New returns engramctl relays. Of what was a part of it once, the former name stays;
// repair is found by its own.
func New(env *cliutil.Env, former *cobra.Command) *cobra.Command {
	repair := NewRepair(env)
	former.Hidden, repair.Hidden = true, true
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
	}, former, repair, lsCommand(env), setCommand(env), ignoreCommand(env)))
}

// relayLine is one line of `relays ls`.
type relayLine struct {
	cliutil.RelayOut
	Source string `json:"source"`          // "configured", or "nip65": the agent's own list
	Lacks  int64  `json:"lacks,omitempty"` // of what others have
}

func lsCommand(env *cliutil.Env) *cobra.Command {
	return env.Command(&cobra.Command{
		Use:   "ls [--json]",
		Short: "Show which relays are asked and whether they answer",
		Long: `Show which relays are asked, where their names come from, and whether they answer
this key's question for the agent's memory. Where a copy of the memory lies on this
machine, it also says how many memories one of them lacks that others have. Exit code 4
if none answers, 3 if all refuse the key.`,
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
		lacks, behind := missing(ctx, opened)
		if env.Flags.JSON {
			err = cliutil.FirstOf(err, env.PrintJSON(relayLines(m, answers.Relays, configured, c.LeftOut(), lacks)))
		} else {
			err = cliutil.FirstOf(err, printRelays(env, answers.Relays, configured, c.LeftOut(), lacks))
		}
		if line := view.BehindLine(behind); line != "" {
			env.Note("%s", line)
		}
		return err
	})
}

// missing is what relays lack, by URL, where a copy lies on this machine; and what none of
// them shows.
func missing(ctx context.Context, s *session.Session) (lacks map[string]int64, behind client.Status) {
	kept, err := s.Copies.OnDisk(ctx)
	if err != nil || kept == nil {
		return nil, behind
	}
	_ = kept.Leave()
	_ = s.Repair(ctx, false, func(ctx context.Context, r *session.Repair) (err error) { // what failed is shown
		behind = r.Behind()
		lacks, err = r.Lacking(ctx)
		return err
	})
	return lacks, behind
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

func relayLines(m *session.Memory, relays []client.RelayStatus, configured, leftOut []string, lacks map[string]int64) any {
	lines := []relayLine{}
	for _, r := range cliutil.RelaysOut(relays) {
		lines = append(lines, relayLine{r, sourceOf(r.URL, configured), lacks[r.URL]})
	}
	return struct {
		Agent   string      `json:"agent"`
		Owner   string      `json:"owner"`
		Relays  []relayLine `json:"relays"`
		LeftOut []string    `json:"left_out"` // configured, but not on the agent's list
	}{m.Agent(), m.Owner(), lines, append([]string{}, leftOut...)}
}

func printRelays(env *cliutil.Env, relays []client.RelayStatus, configured, leftOut []string, lacks map[string]int64) error {
	w := tabwriter.NewWriter(env.Out(), 0, 0, 2, ' ', 0)
	for _, r := range relays {
		state := fmt.Sprintf("answers in %d ms", r.Took.Milliseconds())
		if r.Err != nil {
			state = r.Err.Error()
		}
		if slices.Contains(leftOut, r.URL) {
			state += "; not on the agent's own list"
		}
		if n := lacks[r.URL]; n > 0 {
			state += fmt.Sprintf("; lacks %d that others have (engramctl sync)", n)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", r.URL, sourceOf(r.URL, configured), state)
	}
	return w.Flush()
}

func setCommand(env *cliutil.Env) *cobra.Command {
	var o struct {
		read, write []string
		none        bool
	}
	c := env.Command(&cobra.Command{
		Use:   "set [URL…] [--read URL…] [--write URL…] [--none]",
		Short: "Write the agent's own list of relays",
		Long: `Write the agent's own list of relays (NIP-65, kind 10002) anew: these entries and no
others. Everybody may read the list, and other clients go by it: they look for the
agent's memory on its unmarked and write entries and on no other relay. It is sent
to the configured relays, to those of the old list and to those of the new one.
Nothing of the memory is sent anywhere: engramctl sync does that.`,
		Example: `  engramctl relays set wss://relay.example wss://other.example
  engramctl relays set wss://relay.example --read wss://news.example
  engramctl relays set --none`,
		Args: cobra.ArbitraryArgs,
	}, func(ctx context.Context, args []string) error {
		var entries []client.ListedRelay
		for marker, urls := range map[string][]string{"": args, "read": o.read, "write": o.write} {
			for _, url := range urls {
				if _, err := nipae.CanonicalRelayURL(url); err != nil {
					return exit.Usagef("relay %q: %w", settings.ShownURL(url), err)
				}
				entries = append(entries, client.ListedRelay{URL: url, Marker: marker})
			}
		}
		slices.SortStableFunc(entries, func(x, y client.ListedRelay) int { return strings.Compare(x.Marker, y.Marker) })
		if len(entries) == 0 != o.none {
			return exit.Usagef("name the relays of the list, or --none for an empty one")
		}
		return setRelays(ctx, env, entries)
	})
	f := c.Flags()
	f.StringArrayVar(&o.read, "read", nil, "`URL` of a relay that the agent reads from only")
	f.StringArrayVar(&o.write, "write", nil, "`URL` of a relay that the agent writes to only")
	f.BoolVar(&o.none, "none", false, "write an empty list")
	return c
}

func setRelays(ctx context.Context, env *cliutil.Env, entries []client.ListedRelay) error {
	s, err := env.Session(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	if !s.Memory.Writable() {
		return client.ErrReadOnly
	}
	ctx, done := env.Bounded(ctx)
	defer done()
	before, status, err := s.Client.SetRelayList(ctx, entries)
	if err := env.ReportWith(status, err, "engramctl relays set once more reaches the others"); err != nil {
		return err
	}
	for _, old := range before {
		if !slices.ContainsFunc(entries, func(e client.ListedRelay) bool { return sameRelay(e.URL, old.URL) }) {
			env.Note("no longer on the list: %s", old.URL)
		}
	}
	return cliutil.Each(env, entries, func(e client.ListedRelay) string { return strings.TrimSpace(e.URL + "  " + e.Marker) })
}

func ignoreCommand(env *cliutil.Env) *cobra.Command {
	var undo bool
	c := env.Command(&cobra.Command{
		Use:   "ignore [URL…] [--undo]",
		Short: "Stop asking a relay that only agents' lists name",
		Long: `Stop asking a relay that only an agent's own list names (NIP-65): one that is gone for
good would keep everything from being absent. It is asked all the same where it is
configured. Without a URL, the relays that are ignored are shown. They stand in a
file beside the configuration file, one on each line.`,
		Example: `  engramctl relays ignore wss://gone.example
  engramctl relays ignore --undo wss://gone.example
  engramctl relays ignore`,
		Args: cobra.ArbitraryArgs,
	}, func(_ context.Context, urls []string) error {
		ignored, err := cliutil.IgnoredRelays(env)
		if err != nil {
			return err
		}
		for _, url := range urls {
			if _, err := nipae.CanonicalRelayURL(url); err != nil {
				return exit.Usagef("relay %q: %w", settings.ShownURL(url), err)
			}
			ignored = slices.DeleteFunc(ignored, func(old string) bool { return sameRelay(old, url) })
			if !undo {
				ignored = append(ignored, url)
			}
		}
		if len(urls) > 0 {
			if err := writeIgnored(env, ignored); err != nil {
				return err
			}
		}
		return cliutil.Each(env, ignored, func(url string) string { return url })
	})
	c.Flags().BoolVar(&undo, "undo", false, "ask them again")
	return c
}

// writeIgnored replaces it as a whole.
func writeIgnored(env *cliutil.Env, urls []string) error {
	path := cliutil.IgnoredPath(env)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("ignored relays: %w", err)
	}
	text := strings.Join(append(urls, ""), "\n")
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		return fmt.Errorf("ignored relays: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("ignored relays: %w", err)
	}
	return nil
}
