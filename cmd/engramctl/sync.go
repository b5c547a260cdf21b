package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"engramd/internal/client"
	"engramd/internal/when"
	"engramd/nips/nipae"
)

// mostSynced is how many events one relay may show, which is also what a relay
// shows at most of one key.
const mostSynced = 1 << 20

// syncFlags are those of `sync`.
type syncFlags struct {
	to             []string
	direction      string
	agent, since   string
	dryRun, asJSON bool
}

// Directions of `sync`.
const (
	directionDown = "down"
	directionUp   = "up"
	directionBoth = "both"
)

var directions = []string{directionDown, directionUp, directionBoth}

func (a *app) syncCommand() *cobra.Command {
	var f syncFlags
	c := a.command(&cobra.Command{
		Use:   "sync FROM… TO [--to URL]… [--direction down|up|both] [--agent PUBKEY] [--since TIME] [--dry-run] [--json]",
		Short: "Bring a relay up to date with what my key may see of others",
		Long: `Bring a relay up to date with everything that my key may see of others: memory that I
wrote, or that was written for me as its owner; contracts; deletions, requests to
vanish, my list of relays. The last argument is the relay that gets it, those before it
are the relays that have it; with --to, which may be repeated, those get it and all
arguments have it. --direction up is the other way round, and both makes all of them
alike. The relays of the environment and of profiles are not asked.

Of each record the older versions go first and the current one last, where both relays
are engramd; a contract goes in the order of time. What is there in a newer version is
not sent. Older versions than the target's own cannot be published any more, and are
listed as not moved: an operator's engramd sync takes them. Relays that reconcile
(NIP-77) are told what differs for a few bytes; others are read in full.

Everything is verified before it is sent on. What another key signed about a contract is
sent only where strangers are refused contracts. Running it again sends only what is
still lacking. --timeout bounds each step. Exit code 4 if a relay failed, refused
something, or is not up to date in the end.`,
		Example: `  engramctl sync wss://old.example wss://new.example
  engramctl sync wss://a.example wss://b.example --direction both
  engramctl sync wss://old.example wss://new.example --agent npub1… --key-file owner.key --dry-run`,
		Args: cobra.MinimumNArgs(1),
	}, func(ctx context.Context, args []string) error { return a.sync(ctx, args, f) })
	fl := c.Flags()
	fl.StringArrayVar(&f.to, "to", nil, "`URL` of a relay that gets it, may be given several times")
	fl.StringVar(&f.direction, "direction", directionDown, "down: to the last relay; up: from it; both: all alike")
	fl.StringVar(&f.agent, "agent", "", "only the memory of this agent, `pubkey` (npub or hex), whose owner I am, and its list of relays")
	fl.StringVar(&f.since, "since", "", "only what was written since a `time`, a date, or a while ago (2d)")
	fl.BoolVar(&f.dryRun, "dry-run", false, "say what would be sent, and send nothing")
	jsonFlag(c, &f.asJSON)
	return c
}

func (a *app) sync(ctx context.Context, args []string, f syncFlags) error {
	s, err := a.settings()
	if err != nil {
		return err
	}
	if s.named {
		return usagef("--relay is not for sync: name the relays as arguments, the one that gets it last")
	}
	var since int64
	if f.since != "" {
		at, err := when.Parse(f.since, when.Since, time.Now())
		if err != nil {
			return usagef("--since: %w", err)
		}
		since = at.Unix()
	}
	agent, err := publicKey("--agent", "the command line", f.agent)
	if err != nil {
		return err
	}
	from, to, err := syncSides(args, f)
	if err != nil {
		return err
	}
	id, err := a.identity(ctx, s)
	if err != nil {
		return err
	}
	var last string // each filter begins anew with the same words
	tr := client.Transfer{DryRun: f.dryRun, Clock: time.Now, Filters: client.EverythingOf(id.PubKey(), since),
		Progress: func(text string) {
			if text != last {
				a.note("%s", text)
			}
			last = text
		}}
	if agent != "" {
		tr.Filters = client.MemoryOf(agent, id.PubKey(), since)
	}
	peers := map[string]*client.Peer{} // by URL
	defer func() {
		for _, p := range peers {
			p.Close()
		}
	}()
	for _, url := range slices.Concat(from, to) {
		o := client.Options{Timeout: a.flags.timeout, Trace: a.trace(), Limits: client.Limits{Events: mostSynced}}
		if peers[url] != nil {
			continue
		}
		if peers[url], err = client.NewPeer(id, url, o); err != nil {
			return usageError{err}
		}
	}
	for _, url := range from {
		tr.Sources = append(tr.Sources, peers[url])
	}
	for _, url := range to {
		tr.Targets = append(tr.Targets, peers[url])
	}
	report, err := tr.Run(ctx)
	if err != nil {
		return err
	}
	return a.synced(report, f)
}

// syncSides returns the relays that have it and those that get it.
func syncSides(args []string, f syncFlags) (from, to []string, err error) {
	from, to = args, f.to
	if len(to) == 0 {
		from, to = args[:len(args)-1], args[len(args)-1:]
	}
	if len(from) == 0 {
		return nil, nil, usagef("name the relay that has it and, behind it, the one that gets it")
	}
	seen := map[string]bool{}
	for _, url := range slices.Concat(from, to) {
		canonical, err := nipae.CanonicalRelayURL(url)
		if err != nil {
			return nil, nil, usagef("relay %q: %w", shownURL(url), err)
		}
		if seen[canonical] {
			return nil, nil, usagef("relay %s is named twice", url)
		}
		seen[canonical] = true
	}
	switch f.direction {
	case directionDown:
		return from, to, nil
	case directionUp:
		return to, from, nil
	case directionBoth:
		all := slices.Concat(from, to)
		return all, all, nil
	}
	return nil, nil, usagef("--direction %q is none of %s", f.direction, strings.Join(directions, ", "))
}
