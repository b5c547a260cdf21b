// Package setup makes key and profile and connects harnesses: engramctl setup.
package setup

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"engramd/internal/agent/harness"
	"engramd/internal/cli/ask"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/settings"
	"engramd/internal/cli/setup/wiring"
	"engramd/internal/client"
	"engramd/internal/snapshot"
)

// options are the answers that the command line gives.
type options struct {
	owner, passwordFile, keyStore string
	newOwner, local               bool
	name                          string
	allow, noAllow, noBuiltin     bool
	print                         bool
	yes, dryRun, remove, force    bool
}

// New returns engramctl setup.
func New(env *cliutil.Env) *cobra.Command {
	var f options
	c := env.Command(&cobra.Command{
		Use:   "setup [HARNESS…] [--owner NPUB | --new-owner] [--relay URL… | --local] [--allow | --no-allow] [--no-builtin-memory] [--yes] [--dry-run] [--remove | --print]",
		Short: "Give the agent of a harness its memory",
		Long: `Give the agent of a harness its memory: make the agent's key if there is none, write a
profile into the configuration file, and write the MCP server and the hooks into the
settings of each harness that is named, or of those that are found. There are
` + strings.Join(wiring.Names(), ", ") + `.

What is not answered by flags, by the profile that is there or by ENGRAM_OWNER,
ENGRAM_RELAYS and ENGRAM_KEY_FILE is asked on the terminal, before anything is written.
With --yes nothing is asked, what has no answer is an error, and nothing is allowed.

At the end setup writes a memory and reads it again (at mem/sys/setup, among what programs
keep), runs the hook of a session's start, and prints what the agent is told there. Where
the owner's key is at hand (--new-owner) the agent is approved with it (engramctl agents
allow), for relays that take memory only of certain owners.

The owner is the person whose agent it is. --owner takes their public key; --new-owner
makes a key and leaves it encrypted only (ncryptsec), beside the configuration, under a
password that is asked or read from --password-file. The agent's own key goes into a file
that only its user can read (--key-file says which), or with --key-store keychain into the
Keychain of macOS, the Credential Manager of Windows, or the Secret Service of a desktop.
No key is ever printed or written over.

--relay names the relays of the memory. --local has the user's service manager (systemd,
launchd) run engramd on this machine, on a port of its own, with its data in the user's
state folder; where there is no such manager, the command that starts it is printed. It
takes events of the owner and the agent only; a further setup adds to both.

--allow lets the agent use the tools for its own memory without asking, in the settings of
Claude Code, Codex, Gemini CLI, Qwen Code and Copilot CLI, by their exact names: none for contracts,
and not memory_proposal, which takes over what others propose. --no-allow takes that back.
--no-builtin-memory switches off what Claude Code and Codex remember by themselves;
without it both are kept.
--name is what the agent is called on this machine; nothing of it is published, and setup
never publishes a profile (kind 0).

--print prints what a program's own documentation says to put into its settings, with the
date of that, and writes nothing:
` + strings.Join(harness.Printed(), ", ") + `.

Setup can be run again at any time: what is there stays, what is missing is added. Lines
in settings that are not its own stay byte for byte, and --remove takes its own away; it
leaves keys, profile, data and the relay. --dry-run writes nothing, and prints what would
change in every file. --profile names the profile (default: that of the file, or
"default").`,
		Example: `  engramctl setup
  engramctl setup claude --owner npub1… --relay wss://relay.example --yes
  engramctl setup claude cursor --new-owner --password-file pw --local --yes
  engramctl setup --remove`,
		Args: cobra.ArbitraryArgs,
	}, func(ctx context.Context, args []string) error { return run(ctx, env, f, args) })
	flags := c.Flags()
	flags.StringVar(&f.owner, "owner", "", "`pubkey` (npub or hex) of the person whose agent it is (ENGRAM_OWNER)")
	flags.BoolVar(&f.newOwner, "new-owner", false, "make the owner's key, encrypted with a password")
	flags.StringVar(&f.passwordFile, "password-file", "", "`file` with the password of the owner's key, mode 0600")
	flags.StringVar(&f.keyStore, "key-store", "", "where the agent's key is kept: `file` or keychain (default file)")
	flags.BoolVar(&f.local, "local", false, "have the user's service manager run a relay on this machine")
	flags.BoolVar(&f.allow, "allow", false, "let the agent use its memory without asking")
	flags.BoolVar(&f.noAllow, "no-allow", false, "have the harness ask for each use")
	flags.BoolVar(&f.noBuiltin, "no-builtin-memory", false, "switch off the memory that the harness keeps by itself")
	flags.StringVar(&f.name, "name", "", "what the agent is called on this machine")
	flags.BoolVar(&f.print, "print", false, "print what to put into a program's settings by hand")
	flags.BoolVarP(&f.yes, "yes", "y", false, "ask nothing")
	flags.BoolVar(&f.dryRun, "dry-run", false, "print what would change, and write nothing")
	flags.BoolVar(&f.remove, "remove", false, "take what setup wrote out of the settings of harnesses")
	flags.BoolVar(&f.force, "force", false, "take over, or take out, entries of engramctl that somebody changed by hand")
	c.MarkFlagsMutuallyExclusive("owner", "new-owner")
	c.MarkFlagsMutuallyExclusive("allow", "no-allow")
	return c
}

// run gives the agent of a harness its memory.
func run(ctx context.Context, env *cliutil.Env, f options, args []string) error {
	s, err := newSetup(env, f, args)
	if err != nil {
		return err
	}
	switch {
	case f.print:
		return s.Print()
	case f.remove:
		wrong := s.Remove()
		err := env.Print("Keys, data, and the profile in %s stay; so does a relay that setup started (%s).\n", s.config, stopLocal(env))
		return cliutil.FirstOf(wrong, err)
	}
	return s.run(ctx)
}

// setup is one run of the command.
type setup struct {
	wiring.Wiring
	env *cliutil.Env
	f   options

	config  string // path of the configuration file
	file    settings.Profiles
	name    string               // of the profile
	old     settings.ProfileFile // as it is in the file
	want    settings.ProfileFile // as it is to be
	keyFile string               // absolute; "" where the key is in the key store
	agent   string               // npub; "" where only a password tells
	owner   *client.Identity     // the owner, where their key was opened or made here
	narrow  bool                 // the local relay is to take fewer writers than it does
	byHand  bool                 // the relay is for a person to start

	ownerText string // the owner's key as it is to be kept
}

// newSetup reads what is there, and checks what needs no answer.
func newSetup(env *cliutil.Env, f options, args []string) (*setup, error) {
	s := &setup{env: env, f: f, Wiring: wiring.Wiring{Person: ask.Person{Env: env, Quiet: f.yes || f.dryRun}, Names: args, Dry: f.dryRun, Force: f.force, NoBuiltin: f.noBuiltin}}
	if f.allow {
		s.Allow = harness.On
	} else if f.noAllow {
		s.Allow = harness.Off
	}
	if f.print {
		return s, nil
	}
	err := wiring.Known(s.Names)
	if err != nil {
		return nil, err
	}
	if f.local && len(env.Flags.Relays) > 0 {
		return nil, exit.Usagef("--local and --relay: is the relay to run here, or is it there?")
	}
	if s.config, _ = env.ConfigPath(); f.remove {
		return s, nil // whatever the configuration says
	}
	if _, err := os.Stat(s.config); !errors.Is(err, fs.ErrNotExist) {
		if _, s.file, err = env.Profiles(); err != nil {
			return nil, exit.BadUsage(err)
		}
	}
	s.name = cmp.Or(env.Flags.Profile, env.Vars["ENGRAM_PROFILE"], s.file.Profile, "default")
	if !profileName().MatchString(s.name) {
		return nil, exit.Usagef("profile %q: setup writes names of letters, digits, - and _ only", s.name)
	}
	s.old = s.file.Profiles[s.name]
	if s.old.Agent != "" {
		return nil, exit.Usagef("profile %q in %s is an owner's (agent): name another with --profile", s.name, s.config)
	}
	if f.keyStore != "" && f.keyStore != settings.StoreFile && f.keyStore != settings.StoreKeychain {
		return nil, exit.Usagef("--key-store: %q is none of %s, %s", f.keyStore, settings.StoreFile, settings.StoreKeychain)
	}
	if !s.isDefault() {
		s.Profile = s.name
	}
	s.want = settings.ProfileFile{Owner: s.old.Owner, Name: s.old.Name, Relays: s.old.Relays, KeyFile: s.old.KeyFile, KeyStore: s.old.KeyStore}
	return s, nil
}

// run does one step after the other. Each can be done again.
func (s *setup) run(ctx context.Context) error {
	if err := s.answers(ctx); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{s.agentKey, s.ownerKey, s.localRelay, s.writeProfile, s.Install} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if s.f.dryRun {
		return s.env.Print("nothing was written (--dry-run)\n")
	}
	if s.byHand {
		return s.env.Print("Start the relay, and run this once more: it looks whether the memory takes a text.\n")
	}
	for _, step := range []func(context.Context) error{s.approve, s.tryMemory, s.Copy, s.ShowStart} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	first := "Start a new session of your harness: it remembers."
	if left := s.Left(); len(left) > 0 {
		first = "Still to do: " + strings.Join(left, ". ") + ". After that a new session remembers."
	}
	return s.env.Print("%s engramctl doctor%s looks whether all is well.\n", first, s.profileFlag(" "))
}

// profileFlag is how the profile is named to other commands, "" for the default
// one.
func (s *setup) profileFlag(before string) string {
	if s.isDefault() {
		return ""
	}
	return before + "--profile " + s.name
}

// isDefault reports whether the profile counts if none is named: it does, or it
// becomes the first of the file.
func (s *setup) isDefault() bool {
	return s.file.Profile == s.name || s.file.Profile == "" && len(s.file.Profiles) == 0
}

// step says what a step did, in a line.
func (s *setup) step(what, format string, args ...any) error {
	return wiring.Step(s.env, what, format, args...)
}

// would is how a step begins to say what it does: nothing, in a dry run.
func (s *setup) would(did, would string) string {
	if s.f.dryRun {
		return "would " + would
	}
	return did
}

// write makes or replaces a text file that is no secret, in one step; in a dry
// run it prints how it would differ. The mode of one that is there stays.
func (s *setup) write(path, before, after string, mode os.FileMode) error {
	if s.f.dryRun {
		return s.env.Print("--- %s\n+++ %s\n%s", path, path, snapshot.Unified(before, after))
	}
	return replaceFile(path, after, mode)
}
