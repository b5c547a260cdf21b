package main

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
	"engramd/nips/nipae"
)

func relaysIgnoreCommand(env *cliutil.Env) *cobra.Command {
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
		for _, url := range ignored {
			if err := env.Print("%s\n", url); err != nil {
				return err
			}
		}
		return nil
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
