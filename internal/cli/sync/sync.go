// Package sync has the command that makes relays, or a folder and the memory, alike:
// engramctl sync.
package sync

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/spf13/cobra"

	"engramd/internal/agent/session"
	"engramd/internal/agent/view"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/files"
	"engramd/internal/cli/settings"
	"engramd/internal/client"
	"engramd/internal/client/transfer"
	"engramd/internal/memory/folder"
	"engramd/internal/platform/timeparse"
	"engramd/nips/nipae"
)

// mostSynced is how many events one relay may show, which is also what a relay
// shows at most of one key.
const mostSynced = 1 << 20

type options struct {
	to               []string
	direction, since string
	dryRun           bool
	folder           files.Options
	watch            bool
}

// Directions of `sync`.
const (
	directionDown = "down"
	directionUp   = "up"
	directionBoth = "both"
)

var directions = []string{directionDown, directionUp, directionBoth}

// New returns the command sync.
func New(env *cliutil.Env) *cobra.Command {
	var o options
	c := env.Command(&cobra.Command{
		Use:   "sync DIR|[FROM… TO] [--yes] [--delete] [--watch] [--allow-secret] [--to URL]… [--direction down|up|both] [--agent PUBKEY] [--since TIME] [--dry-run] [--json]",
		Short: "Make a folder and the memory alike, or bring a relay up to date",
		Long: `Make a folder and the memory alike, or bring a relay up to date. An argument that is no
ws:// or wss:// URL is a folder.

sync DIR does what export and import of that folder do: what was changed on one side is
written to the other, and what was changed on both is a conflict (exit code 5): the
memory's text is put beside the file as NAME.conflict.md. Nothing is deleted without
--delete. The first run only shows what it would do; --yes does it, and makes a snapshot
before the memory is first written. --watch goes on until it is interrupted.
docs/folders.md has more.

sync FROM… TO brings a relay up to date with everything that my key may see of others: memory that I
wrote, or that was written for me as its owner; contracts; deletions, requests to
vanish, my list of relays. The last argument is the relay that gets it, those before it
are the relays that have it; with --to, which may be repeated, those get it and all
arguments have it. --direction up is the other way round, and both makes all of them
alike. The relays of the environment and of profiles are not asked.

Without arguments, the relays that are configured, and those that the agent lists, are
made alike in the memory of one agent and its owner, and in the agent's list of relays:
after one was down, or when a new one is added. The listed ones get what is current and
nothing else, and are told as little as by any command: they are read in full, without
NIP-77, and not asked for history. --no-discovery leaves them out, and relays ignore one
of them for good.

Of each record the older versions go first and the current one last, where both relays
are engramd; a contract goes in the order of time. What is there in a newer version is
not sent. Older versions than the target's own cannot be published any more, and are
listed as not moved: an operator's engramd sync takes them. Relays that reconcile
(NIP-77) are told what differs for a few bytes; others are read in full.

Everything is verified before it is sent on. What another key signed about a contract is
sent only where strangers are refused contracts. Running it again sends only what is
still lacking. --timeout bounds each step. Exit code 4 if a relay failed, refused
something, or is not up to date in the end.`,
		Example: `  engramctl sync ~/memory
  engramctl sync
  engramctl sync --timeout 5m --relay wss://old.example --relay wss://new.example
  engramctl sync wss://old.example wss://new.example
  engramctl sync wss://a.example wss://b.example --direction both
  engramctl sync wss://old.example wss://new.example --agent npub1… --key-file owner.key --dry-run`,
		Args: cobra.ArbitraryArgs,
	}, func(ctx context.Context, args []string) error {
		if dir, ok := folderArgument(args); ok {
			if o.to != nil || o.direction != "" || o.since != "" {
				return exit.Usagef("--to, --direction and --since are for relays, and %q is a folder (a relay begins with ws:// or wss://)", dir)
			}
			o.folder.DryRun = o.dryRun
			return files.Sync(ctx, env, dir, o.folder, o.watch)
		}
		if o.folder.Delete || o.folder.Yes || o.folder.Allow || o.watch || env.Flags.NoMirror {
			return exit.Usagef("--delete, --yes, --allow-secret, --watch and --no-mirror are for a folder, and none is named")
		}
		return syncBetween(ctx, env, args, o)
	})
	fl := c.Flags()
	fl.StringArrayVar(&o.to, "to", nil, "`URL` of a relay that gets it, may be given several times")
	fl.StringVar(&o.direction, "direction", "", "down: to the last relay, as without it; up: from it; both: all alike")
	fl.StringVar(&env.Flags.Agent, "agent", "", "only the memory of this agent, `pubkey` (npub or hex), whose owner I am, and its list of relays")
	fl.StringVar(&env.Flags.Owner, "owner", "", "without relays: `pubkey` (npub or hex) of the owner: my key is the agent's (ENGRAM_OWNER)")
	c.MarkFlagsMutuallyExclusive("owner", "agent")
	fl.StringVar(&o.since, "since", "", "only what was written since a `time`, a date, or a while ago (2d)")
	fl.BoolVar(&o.dryRun, "dry-run", false, "say what would be sent, and send nothing")
	o.folder.Add(c, folder.Sync)
	fl.BoolVar(&o.watch, "watch", false, "with a folder: go on, and do it again whenever something changes")
	fl.BoolVar(&env.Flags.NoMirror, "no-mirror", false, "with a folder: keep no copy of the memory on this machine (no_mirror in a profile)")
	return c
}

// folderArgument returns the one argument that is no relay.
func folderArgument(args []string) (dir string, ok bool) {
	if len(args) != 1 || args[0] == "" {
		return "", false
	}
	return args[0], !strings.Contains(args[0], "://")
}

// syncPlan is which relays get what of which.
type syncPlan struct {
	from, to []*transfer.Peer
	filters  []nostr.Filter
	doubts   []client.RelayStatus // why there may be more relays
	close    func()               // ends the connections
}

func syncBetween(ctx context.Context, env *cliutil.Env, args []string, o options) error {
	var since int64
	if o.since != "" {
		at, err := timeparse.Parse(o.since, timeparse.Since, time.Now())
		if err != nil {
			return exit.Usagef("--since: %w", err)
		}
		since = at.Unix()
	}
	plan := syncNamed
	if len(args)+len(o.to) == 0 {
		plan = syncAlike
	}
	p, err := plan(ctx, env, args, o, since)
	if err != nil {
		return err
	}
	defer p.close()
	report, err := carry(ctx, env, p, o.dryRun)
	if err != nil {
		return err
	}
	return synced(env, report, o)
}

// syncNamed is a sync of the relays that the command line names.
func syncNamed(ctx context.Context, env *cliutil.Env, args []string, o options, since int64) (p syncPlan, err error) {
	s, err := env.Settings()
	if err != nil {
		return p, err
	}
	switch {
	case s.Named:
		return p, exit.Usagef("--relay is for a sync without arguments: name the relays as arguments, the one that gets it last")
	case env.Flags.Owner != "":
		return p, exit.Usagef("--owner is for a sync without arguments: between relays that are named, everything goes that my key may see")
	}
	agent, err := settings.PublicKey("--agent", "the command line", env.Flags.Agent)
	if err != nil {
		return p, err
	}
	from, to, err := syncSides(args, o)
	if err != nil {
		return p, err
	}
	id, err := env.Identity(ctx, s)
	if err != nil {
		return p, err
	}
	p.filters = transfer.EverythingOf(id.PubKey(), since)
	if agent != "" {
		p.filters = transfer.MemoryOf(agent, id.PubKey(), since)
	}
	peers := map[string]*transfer.Peer{} // by URL
	p.close = func() {
		for _, peer := range peers {
			peer.Close()
		}
	}
	for _, url := range slices.Concat(from, to) {
		if peers[url] != nil {
			continue
		}
		o := client.Options{Timeout: env.Flags.Timeout, Trace: env.Trace(), Limits: client.Limits{Events: mostSynced}}
		if peers[url], err = transfer.NewPeer(id, url, o); err != nil {
			delete(peers, url)
			p.close()
			return p, exit.BadUsage(err)
		}
	}
	for _, url := range from {
		p.from = append(p.from, peers[url])
	}
	for _, url := range to {
		p.to = append(p.to, peers[url])
	}
	return p, nil
}

// syncAlike makes the relays of one agent and its owner alike: those that are
// configured, and those that the agent lists, which are told as little as ever.
func syncAlike(ctx context.Context, env *cliutil.Env, _ []string, o options, since int64) (p syncPlan, err error) {
	if o.direction != "" && o.direction != directionBoth {
		return p, exit.Usagef("--direction %s needs relays as arguments: without, all are made alike", o.direction)
	}
	s, err := env.Session(ctx, cliutil.Patiently, func(o *session.Options) { o.Client.Limits.Events = mostSynced })
	if err != nil {
		return p, err
	}
	if p, err = alike(ctx, env, s, since); err != nil {
		s.Close()
	}
	return p, err
}

func alike(ctx context.Context, env *cliutil.Env, s *session.Session, since int64) (p syncPlan, err error) {
	if err := s.Discover(ctx); err != nil {
		return p, err
	}
	c, m := s.Client, s.Memory
	p.from, p.doubts, p.close = transfer.Peers(c), c.Doubts(), s.Close
	p.to, p.filters = p.from, transfer.MemoryOf(m.Agent(), m.Owner(), since)
	_, known, _ := m.ListAll(ctx) // what fails is told by the comparison
	if line := view.BehindLine(known); line != "" {
		env.Note("%s", line)
	}
	if len(p.from) > 1 {
		return p, nil
	}
	env.Note("there is one relay, and none that it could be made like")
	first := p.filters[0]
	first.Limit = 1
	_, err = c.Ask(ctx, first) // whether it answers is told nevertheless
	return p, err
}

// carry does what is planned.
func carry(ctx context.Context, env *cliutil.Env, p syncPlan, dryRun bool) (transfer.Report, error) {
	var last string // each filter begins anew with the same words
	tr := transfer.Transfer{Sources: p.from, Targets: p.to, DryRun: dryRun, Clock: time.Now, Filters: p.filters,
		Progress: func(text string) {
			if text != last {
				env.Note("%s", text)
			}
			last = text
		}}
	report, err := tr.Run(ctx)
	for _, d := range p.doubts {
		report.Doubt(d.URL, d.Err)
	}
	return report, err
}

// syncSides returns the relays that have it and those that get it.
func syncSides(args []string, o options) (from, to []string, err error) {
	from, to = args, o.to
	if len(to) == 0 {
		from, to = args[:len(args)-1], args[len(args)-1:]
	}
	if len(from) == 0 {
		return nil, nil, exit.Usagef("name the relay that has it and, behind it, the one that gets it")
	}
	seen := map[string]bool{}
	for _, url := range slices.Concat(from, to) {
		canonical, err := nipae.CanonicalRelayURL(url)
		if err != nil {
			return nil, nil, exit.Usagef("relay %q: %w", settings.ShownURL(url), err)
		}
		if seen[canonical] {
			return nil, nil, exit.Usagef("relay %s is named twice", url)
		}
		seen[canonical] = true
	}
	switch o.direction {
	case directionDown, "":
		return from, to, nil
	case directionUp:
		return to, from, nil
	case directionBoth:
		all := slices.Concat(from, to)
		return all, all, nil
	}
	return nil, nil, exit.Usagef("--direction %q is none of %s", o.direction, strings.Join(directions, ", "))
}
