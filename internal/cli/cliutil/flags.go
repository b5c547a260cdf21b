package cliutil

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"engramd/internal/cli/exit"
	"engramd/internal/client/memory"
	"engramd/internal/memory/write"
	"engramd/nips/nipae"
)

// Flags are those that commands share.
type Flags struct {
	Config, Profile, KeyFile string
	Relays                   []string
	Timeout                  time.Duration
	Verbose, NoDiscovery     bool
	Owner, Agent             string
	Strict, NoMirror, JSON   bool
	Poster, With             string // of a contract
	Attest                   *bool  // nil: as the profile has it
}

// SlugArgument reads a slug from a command line.
func SlugArgument(arg string) (nipae.Slug, error) {
	slug, err := nipae.NormalizeSlug(arg)
	if err != nil {
		return "", exit.Usagef("%q: %w", arg, err)
	}
	return slug, nil
}

// Arguments wants the named arguments.
func Arguments(names ...string) cobra.PositionalArgs { return arguments(len(names), names) }

// arguments wants some of the named arguments, and takes the others.
func arguments(least int, names []string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return fmt.Errorf("%s is missing", names[len(args)])
		case len(args) > len(names):
			return fmt.Errorf("unexpected argument %q", args[len(names)])
		}
		return nil
	}
}

// argumentsOf wants the arguments that a command's line names before its flags. Those
// in brackets may be left out.
func argumentsOf(line string) cobra.PositionalArgs {
	var names []string
	least := 0
	for _, word := range strings.Fields(line)[1:] {
		name := strings.Trim(word, "[]")
		if strings.HasPrefix(name, "--") {
			break
		}
		if names = append(names, strings.TrimSuffix(name, "|-")); !strings.HasPrefix(word, "[") {
			least++
		}
	}
	if len(names) == 0 {
		return cobra.NoArgs
	}
	return arguments(least, names)
}

// SecretFlag is --allow-secret.
func SecretFlag(c *cobra.Command, to *bool) {
	c.Flags().BoolVar(to, "allow-secret", false, "write also what looks like a key or a token")
}

// FormatFlag is --format with its words, of which the first is the default.
func FormatFlag(c *cobra.Command, to *string, words ...string) {
	usage := "one of `FORMAT`:"
	for _, w := range words {
		usage += " " + w
	}
	c.Flags().StringVar(to, "format", words[0], usage)
	_ = c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)) // cannot fail: the flag exists
}

// OwnSlug is SlugArgument for a memory that is to be written.
func OwnSlug(arg string) (nipae.Slug, error) {
	slug, err := SlugArgument(arg)
	if err == nil && write.Reserved(slug) {
		return "", exit.Usagef("%s: %w: programs keep what is theirs under mem/sys, mem/proposals and mem/proposals-answers", slug, write.ErrReserved)
	}
	return slug, err
}

// BaseFlag is --base.
func BaseFlag(c *cobra.Command, to *string) {
	c.Flags().StringVar(to, "base", "", "write only if the text now is the one with this `HASH` (\"none\": if there is none)")
}

// OnSlug is for a command of which the first argument is a slug.
func OnSlug(read func(string) (nipae.Slug, error), do func(ctx context.Context, slug nipae.Slug, args []string) error) func(context.Context, []string) error {
	return func(ctx context.Context, args []string) error {
		slug, err := read(args[0])
		if err != nil {
			return err
		}
		return do(ctx, slug, args)
	}
}

// CheckHash refuses what can be no hash, which would look like a conflict.
func CheckHash(base string) error {
	if base != "" && base != memory.BaseNone && (len(base) != 64 || strings.Trim(base, "0123456789abcdef") != "") {
		return exit.Usagef("--base: want a SHA-256 in 64 lower-case hex digits")
	}
	return nil
}

// PairFlags says whose memory a command is about.
func PairFlags(e *Env, c *cobra.Command) *cobra.Command {
	f := c.PersistentFlags()
	f.StringVar(&e.Flags.Owner, "owner", "", "`pubkey` (npub or hex) of the owner: my key is the agent's (ENGRAM_OWNER)")
	f.StringVar(&e.Flags.Agent, "agent", "", "`pubkey` (npub or hex) of the agent: my key is its owner's, to read only (ENGRAM_AGENT)")
	f.BoolVar(&e.Flags.NoMirror, "no-mirror", false, "keep no copy of the memory on this machine (no_mirror in a profile)")
	c.MarkFlagsMutuallyExclusive("owner", "agent")
	return c
}
