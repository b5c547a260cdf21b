package relays

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/settings"
	"engramd/internal/client"
	"engramd/nips/nipae"
)

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
