// Package root assembles engramctl and runs its command lines.
package root

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"engramd/internal/cli/admin"
	"engramd/internal/cli/agents"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/contract"
	"engramd/internal/cli/core"
	"engramd/internal/cli/doctor"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/files"
	"engramd/internal/cli/folder"
	"engramd/internal/cli/identity"
	"engramd/internal/cli/intention"
	"engramd/internal/cli/key"
	"engramd/internal/cli/mem"
	"engramd/internal/cli/metabolism"
	"engramd/internal/cli/mind"
	"engramd/internal/cli/note"
	"engramd/internal/cli/outbox"
	"engramd/internal/cli/project"
	"engramd/internal/cli/proposal"
	"engramd/internal/cli/proposal/transplant"
	"engramd/internal/cli/recall"
	"engramd/internal/cli/relays"
	"engramd/internal/cli/session"
	"engramd/internal/cli/setup"
	"engramd/internal/cli/snapshot"
	"engramd/internal/cli/sync"
	"engramd/internal/cli/verify"
	"engramd/internal/cli/web"
)

// commands returns all that engramctl can do; a new one is a line here, a package
// of its own, a script in testdata/script, and a run of `make generate`.
func commands(env *cliutil.Env) []*cobra.Command {
	return []*cobra.Command{
		setup.New(env),
		doctor.New(env),
		key.New(env),
		mem.New(env),
		core.New(env),
		note.New(env),
		outbox.New(env),
		mind.NewFeedback(env),
		metabolism.New(env),
		intention.NewIntend(env),
		intention.New(env),
		mind.New(env),
		files.NewExport(env),
		files.NewImport(env),
		recall.New(env),
		mem.NewLog(env),
		verify.New(env),
		verify.NewAttest(env),
		agents.New(env),
		proposal.NewPropose(env),
		proposal.New(env),
		transplant.New(env),
		web.New(env),
		relays.New(env, sync.New(env)),
		sync.New(env),
		folder.New(env),
		relays.NewRepair(env),
		snapshot.New(env),
		contract.New(env),
		identity.New(env),
		admin.New(env),
		session.NewMCP(env),
		session.NewWake(env),
		session.NewWhy(env),
		session.NewHook(env),
		project.New(env),
		env.Command(&cobra.Command{Use: "version", Short: "Print version and platform", Example: "  engramctl version"}, func(context.Context, []string) error {
			return env.Print("engramctl %s (%s, %s/%s)\n", env.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
		}),
	}
}

// New returns engramctl.
func New(env *cliutil.Env) *cobra.Command {
	root := cliutil.Group(&cobra.Command{
		Use:   "engramctl",
		Short: "The memory of AI agents on Nostr relays",
		Long: `engramctl reads and writes the memory of AI agents (NIP-AE engrams) on Nostr relays.

An agent keeps records under slugs: "core", which says who it is, and "mem/…"
for everything else ("notes" is short for "mem/notes"). Records are encrypted
between the agent and its owner: the agent reads and writes, its owner reads,
nobody else learns that they exist.

Who asks is a key: --key-file, ENGRAM_KEY_FILE or ENGRAM_KEY (nsec, hex, or
ncryptsec, for which the password is asked or read from the file that
ENGRAM_KEY_PASSWORD_FILE names). Whom it is about is --owner (I am the agent) or
--agent (I am its owner). Where is --relay, ENGRAM_RELAYS, or a profile; except
with --relay, the relays that the agent itself lists (NIP-65) are asked too.

` + exit.Table(),
		Example: `  engramctl key new agent.key
  export ENGRAM_KEY_FILE=agent.key ENGRAM_OWNER=npub1… ENGRAM_RELAYS=wss://relay.example
  engramctl mem set core "I am Sami. I answer briefly."
  engramctl mem ls`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}, commands(env)...)
	root.SetUsageFunc(printUsage)
	root.SetFlagErrorFunc(dashHelp)
	root.SetIn(env.Stdin)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	f := root.PersistentFlags()
	f.SortFlags = false
	f.StringVar(&env.Flags.Config, "config", "", "`file` with profiles (default $XDG_CONFIG_HOME/engramd/engramctl.toml)")
	f.StringVar(&env.Flags.Profile, "profile", "", "`name` of a profile in it; beats the environment (ENGRAM_PROFILE does not)")
	f.StringVar(&env.Flags.KeyFile, "key-file", "", "`file` with the secret key, readable by its user only (ENGRAM_KEY_FILE)")
	f.StringArrayVar(&env.Flags.Relays, "relay", nil, "relay `URL`, may be given several times (ENGRAM_RELAYS: separated by commas or spaces)")
	f.BoolVar(&env.Flags.NoDiscovery, "no-discovery", false, "ask the configured relays only, not those that the agent lists too (NIP-65); --relay implies it")
	f.DurationVar(&env.Flags.Timeout, "timeout", env.Allow(cliutil.DefaultTimeout), "time limit for everything on the network")
	f.BoolVarP(&env.Flags.Verbose, "verbose", "v", false, "show the wire on stderr")
	_ = root.RegisterFlagCompletionFunc("profile", cliutil.CompleteProfiles(env)) // cannot fail: the flag exists
	root.PersistentPreRunE = func(*cobra.Command, []string) error {
		if env.Flags.Timeout <= 0 {
			return fmt.Errorf("--timeout must be more than 0")
		}
		return nil
	}
	return root
}

// printUsage is cobra's own usage, but for groups: they run, to say what is
// missing, but are no commands. It is code and no template, because a program
// that can execute templates keeps every method of everything that it links.
func printUsage(c *cobra.Command) error {
	w := c.OutOrStderr()
	group := c.HasAvailableSubCommands()
	fmt.Fprint(w, "Usage:")
	if group {
		fmt.Fprintf(w, "\n  %s [command]", c.CommandPath())
	} else {
		fmt.Fprintf(w, "\n  %s", c.UseLine())
	}
	if len(c.Aliases) > 0 {
		fmt.Fprintf(w, "\n\nAliases:\n  %s", c.NameAndAliases())
	}
	if c.HasExample() {
		fmt.Fprintf(w, "\n\nExamples:\n%s", c.Example)
	}
	if group {
		fmt.Fprint(w, "\n\nAvailable Commands:")
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() || sub.Name() == "help" {
				fmt.Fprintf(w, "\n  %-*s %s", sub.NamePadding(), sub.Name(), sub.Short)
			}
		}
	}
	if c.HasAvailableLocalFlags() {
		fmt.Fprintf(w, "\n\nFlags:\n%s", strings.TrimRight(c.LocalFlags().FlagUsages(), " \n"))
	}
	if c.HasAvailableInheritedFlags() {
		fmt.Fprintf(w, "\n\nGlobal Flags:\n%s", strings.TrimRight(c.InheritedFlags().FlagUsages(), " \n"))
	}
	if group {
		fmt.Fprintf(w, "\n\nUse \"%s [command] --help\" for more information about a command.", c.CommandPath())
	}
	_, err := fmt.Fprintln(w)
	return err
}

// Main is one run of the program.
type Main cliutil.System

// Run runs the command that Args name and returns the exit code.
func (m *Main) Run(ctx context.Context) int {
	env := cliutil.New((*cliutil.System)(m))
	root := New(env)
	root.SetArgs(withTexts(root, m.Args))
	execute := func() (*cobra.Command, error) {
		cmd, err := root.ExecuteContextC(ctx)
		if err != nil && !env.Started {
			err = exit.BadUsage(err) // cobra did not get as far as the command
		}
		return cmd, err
	}
	other := func(word string) bool {
		return slices.ContainsFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == word })
	}
	if session.IsHook(m.Args, other) {
		return session.RunHook(env, execute)
	}
	cmd, err := execute()
	if err == nil {
		return exit.OK
	}
	code := exit.CodeOf(err)
	if ctx.Err() != nil {
		code = exit.Interrupted
	}
	cliutil.Complain(env, cmd, err)
	return code
}
