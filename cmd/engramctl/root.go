package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"engramd/internal/cli/admin"
	"engramd/internal/cli/agents"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/contract"
	"engramd/internal/cli/core"
	"engramd/internal/cli/doctor"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/files"
	cliidentity "engramd/internal/cli/identity"
	"engramd/internal/cli/intention"
	"engramd/internal/cli/key"
	"engramd/internal/cli/log"
	"engramd/internal/cli/mem"
	"engramd/internal/cli/metabolism"
	"engramd/internal/cli/mind"
	"engramd/internal/cli/note"
	"engramd/internal/cli/project"
	"engramd/internal/cli/proposal"
	clitransplant "engramd/internal/cli/proposal/transplant"
	"engramd/internal/cli/recall"
	"engramd/internal/cli/relays"
	"engramd/internal/cli/session"
	"engramd/internal/cli/setup"
	clisnapshot "engramd/internal/cli/snapshot"
	clisync "engramd/internal/cli/sync"
	cliverify "engramd/internal/cli/verify"
	cliversion "engramd/internal/cli/version"
	"engramd/internal/cli/web"
)

// commands returns all that engramctl can do; a new one is a line here, a file
// of its own, a script in testdata/script, and a run of `go test
// ./cmd/engramctl -run Docs -update`.
func (a *app) commands() []*cobra.Command {
	return []*cobra.Command{
		setup.New(a.Env),
		doctor.New(a.Env),
		key.New(a.Env),
		mem.New(a.Env),
		core.New(a.Env),
		note.New(a.Env),
		mind.NewFeedback(a.Env),
		metabolism.New(a.Env),
		intention.NewIntend(a.Env),
		intention.New(a.Env),
		mind.New(a.Env),
		files.NewExport(a.Env),
		files.NewImport(a.Env),
		recall.New(a.Env),
		log.New(a.Env),
		cliverify.New(a.Env),
		cliverify.NewAttest(a.Env),
		agents.New(a.Env),
		proposal.NewPropose(a.Env),
		proposal.New(a.Env),
		clitransplant.New(a.Env),
		web.New(a.Env),
		relays.New(a.Env, clisync.NewFormer(a.Env)),
		clisync.New(a.Env),
		clisnapshot.New(a.Env),
		contract.New(a.Env),
		cliidentity.New(a.Env),
		admin.New(a.Env),
		session.NewMCP(a.Env),
		session.NewWake(a.Env),
		session.NewHook(a.Env),
		project.New(a.Env),
		cliversion.New(a.Env),
	}
}

// root assembles the program.
func (a *app) root() *cobra.Command {
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
	}, a.commands()...)
	root.SetUsageFunc(printUsage)
	root.SetFlagErrorFunc(dashHelp)
	root.SetIn(a.Stdin)
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	f := root.PersistentFlags()
	f.SortFlags = false
	f.StringVar(&a.Flags.Config, "config", "", "`file` with profiles (default $XDG_CONFIG_HOME/engramd/engramctl.toml)")
	f.StringVar(&a.Flags.Profile, "profile", "", "`name` of a profile in it; beats the environment (ENGRAM_PROFILE does not)")
	f.StringVar(&a.Flags.KeyFile, "key-file", "", "`file` with the secret key, readable by its user only (ENGRAM_KEY_FILE)")
	f.StringArrayVar(&a.Flags.Relays, "relay", nil, "relay `URL`, may be given several times (ENGRAM_RELAYS: separated by commas or spaces)")
	f.BoolVar(&a.Flags.NoDiscovery, "no-discovery", false, "ask the configured relays only, not those that the agent lists too (NIP-65); --relay implies it")
	f.DurationVar(&a.Flags.Timeout, "timeout", a.Allow(cliutil.DefaultTimeout), "time limit for everything on the network")
	f.BoolVarP(&a.Flags.Verbose, "verbose", "v", false, "show the wire on stderr")
	_ = root.RegisterFlagCompletionFunc("profile", func(p1 *cobra.Command, p2 []string, p3 string) ([]string, cobra.ShellCompDirective) {
		return cliutil.CompleteProfiles(a.Env, p1, p2, p3)
	}) // cannot fail: the flag exists
	root.PersistentPreRunE = func(*cobra.Command, []string) error {
		if a.Flags.Timeout <= 0 {
			return fmt.Errorf("--timeout must be more than 0")
		}
		return nil
	}
	return root
}
