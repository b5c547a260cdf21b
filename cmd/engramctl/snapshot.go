package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/settings"
	"engramd/internal/client"
	"engramd/internal/client/contract"
	"engramd/internal/platform/files"
	"engramd/internal/snapshot"
	"engramd/internal/snapshot/bundle"
)

// snapshotFlags are those that the snapshot commands share.
type snapshotFlags struct {
	root, tenant string
	lockTimeout  time.Duration
	identity     string
	trust        []string
}

func (a *app) snapshotCommand() *cobra.Command {
	f := &snapshotFlags{}
	c := cliutil.Group(&cobra.Command{
		Use:   "snapshot",
		Short: "Keep an agent's whole memory as of one instant, and go back to it",
		Long: `Keep an agent's whole memory as of one instant in a file that anybody can verify, and
go back to it.

With the agent's key a snapshot holds everything that the agent may read: memory for
all its owners, superseded versions, deletion requests, its list of relays and
contract memory. With --agent the key is an owner's, and the snapshot holds what the
agent remembers for that owner. docs/snapshots.md describes the format.

Snapshots lie below --snapshot-root, by tenant and agent. Whoever makes, restores or deletes
one holds the agent's lock there; others wait for --lock-timeout.`,
		Example: `  engramctl snapshot create --label "before the big clean-up"
  engramctl snapshot restore --id 20261120T235100Z-0123456789abcdef --dry-run`,
	},
		a.snapshotCreateCommand(f), a.snapshotVerifyCommand(f), a.snapshotListCommand(f), a.snapshotShowCommand(f), a.snapshotDiffCommand(f),
		a.snapshotRestoreCommand(f), a.snapshotExportCommand(f), a.snapshotPinCommand(f, true), a.snapshotPinCommand(f, false),
		a.snapshotDeleteCommand(f), a.snapshotGCCommand(f))
	p := c.PersistentFlags()
	p.StringVar(&a.Flags.Agent, "agent", "", "`pubkey` (npub or hex) of the agent, if the key is not its own (ENGRAM_AGENT)")
	p.StringVar(&f.tenant, "tenant", bundle.DefaultTenant, "`name` of the tenant")
	p.StringVar(&f.root, "snapshot-root", "", "`folder` of snapshots (ENGRAM_SNAPSHOTS; default $XDG_STATE_HOME/engramd)")
	p.StringVar(&f.root, "root", "", "") // its name before
	_ = p.MarkHidden("root")             // cannot fail: the flag exists
	p.DurationVar(&f.lockTimeout, "lock-timeout", time.Minute, "how long to wait for who else is at the agent's snapshots")
	return c
}

// snapshotStore returns where the snapshots lie.
func (a *app) snapshotStore(f *snapshotFlags) (*snapshot.Store, error) {
	if err := bundle.CheckTenant(f.tenant); err != nil {
		return nil, exit.Usagef("--tenant: %w", err)
	}
	root := f.root
	for _, or := range []string{a.Vars["ENGRAM_SNAPSHOTS"], cliutil.Under(a.Vars["XDG_STATE_HOME"], "engramd"), cliutil.Under(a.Home(), ".local/state/engramd")} {
		if root == "" {
			root = or
		}
	}
	if root == "" {
		return nil, exit.Usagef("where are the snapshots? Give --snapshot-root, or set ENGRAM_SNAPSHOTS")
	}
	return snapshot.New(a.Path(root)), nil
}

// party is who is at an agent's snapshots: with a key or, for what needs none,
// without.
type party struct {
	agent string
	id    client.Identity
	keys  bundle.Keys // nil without a key
}

func (p party) own() bool { return p.id.PubKey() == p.agent }

// signer signs manifests as the agent; nil for others.
func (p party) signer() (bundle.Signer, error) {
	if !p.own() {
		return nil, nil
	}
	return client.Using(p.id, bundle.NewSigner)
}

// party finds out whose snapshots they are. A key is used if there is one, and
// must be there if it is needed, or if nothing else names the agent.
func (a *app) party(ctx context.Context, needed bool) (p party, err error) {
	s, err := a.Settings()
	if err != nil {
		return p, err
	}
	p.agent = s.Agent
	if s.Key == (settings.KeySource{}) && !needed && s.Agent != "" {
		return p, nil
	}
	if p.id, err = a.Identity(ctx, s); err != nil {
		return p, err
	}
	return p.with(p.id)
}

// with returns the party with its key.
func (p party) with(id client.Identity) (party, error) {
	p.id = id
	if p.agent == "" {
		p.agent = id.PubKey()
	}
	var err error
	p.keys, err = client.Using(id, func(secret string) (bundle.Keys, error) { return bundle.KeysOf(secret, id.PubKey()) })
	return p, err
}

// withLock gives a command the store and the lock of the agent's snapshots.
func (a *app) withLock(ctx context.Context, f *snapshotFlags, agent string, do func(*snapshot.Store, *snapshot.Lock) error) error {
	store, err := a.snapshotStore(f)
	if err != nil {
		return err
	}
	lock, err := store.Lock(ctx, f.tenant, agent, f.lockTimeout)
	if err != nil {
		return err
	}
	return errors.Join(do(store, lock), lock.Unlock())
}

// asking gives a command a client of the agent's relays. --timeout bounds
// each question, not all of them together: a memory may be large.
func (a *app) asking(ctx context.Context, do func(*client.Client, party) error) error {
	opened, s, err := cliutil.KeySession(ctx, a.Env, cliutil.Patiently)
	if err != nil {
		return err
	}
	defer opened.Close()
	c := opened.Client
	p, err := party{agent: s.Agent}.with(c.Identity())
	if err != nil {
		return err
	}
	if err := opened.DiscoverFor(ctx, p.agent); err != nil {
		return err
	}
	return do(c, p)
}

// identityFlag is --decrypt-identity.
func identityFlag(c *cobra.Command, f *snapshotFlags) {
	c.Flags().StringVar(&f.identity, "decrypt-identity", "", "`file` with the age identity, or the SSH key, that opens an encrypted snapshot")
}

func (a *app) identities(f *snapshotFlags) (bundle.Identities, error) {
	if f.identity == "" {
		return bundle.Identities{}, nil
	}
	file, err := os.Open(a.Path(f.identity))
	if err != nil {
		return bundle.Identities{}, exit.Usagef("--decrypt-identity: %w", err)
	}
	defer file.Close()
	if how, err := files.Exposed(file); err != nil || how != "" {
		if err != nil {
			return bundle.Identities{}, exit.Usagef("--decrypt-identity: %w", err)
		}
		return bundle.Identities{}, exit.Usagef("--decrypt-identity: %s %s", f.identity, how)
	}
	ids, err := bundle.ParseIdentities(file)
	if err != nil {
		return ids, exit.Usagef("--decrypt-identity: %w", err)
	}
	return ids, nil
}

// findBundle returns the path of the snapshot that an id, or else a path,
// names.
func (a *app) findBundle(store *snapshot.Store, f *snapshotFlags, agent, name string) (string, error) {
	if bundle.CheckID(name) != nil {
		return a.Path(name), nil
	}
	info, err := store.Find(f.tenant, agent, name)
	return info.Path, err
}

// verifying returns what is asked of a snapshot of an agent.
func (a *app) verifying(store *snapshot.Store, f *snapshotFlags, p party) (bundle.VerifyOptions, error) {
	ids, err := a.identities(f)
	if err != nil {
		return bundle.VerifyOptions{}, err
	}
	trusted, err := f.trusted()
	return bundle.VerifyOptions{Tenant: f.tenant, Agent: p.agent, Identities: ids, Keys: p.keys, Trusted: trusted, Parent: store.ParentOf(f.tenant, p.agent)}, err
}

// trustFlag is --trust.
func trustFlag(c *cobra.Command, f *snapshotFlags) {
	c.Flags().StringArrayVar(&f.trust, "trust", nil, "believe the signature of this `pubkey` too, a relay's for example; may be given several times")
}

// trusted returns the keys of --trust.
func (f *snapshotFlags) trusted() (keys []string, err error) {
	for _, text := range f.trust {
		key := contract.PubKeyOf(text)
		if key == "" {
			return nil, exit.Usagef("--trust: want a pubkey: npub1… or 64 hex digits")
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// openBundle opens a snapshot of the agent that an id or a path names.
func (a *app) openBundle(ctx context.Context, store *snapshot.Store, f *snapshotFlags, p party, name string) (*bundle.Bundle, error) {
	path, err := a.findBundle(store, f, p.agent, name)
	if err != nil {
		return nil, err
	}
	o, err := a.verifying(store, f, p)
	if err != nil {
		return nil, err
	}
	if bundle.CheckID(name) != nil {
		o.Parent = snapshot.ParentBeside(path, o.Parent)
	}
	b, _, err := bundle.Open(ctx, path, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return b, nil
}

// idFlag is --id, for which the first argument may stand.
func idFlag(c *cobra.Command, id *string) {
	c.Flags().StringVar(id, "id", "", "`id` of the snapshot; it may be given without --id, too")
}

// idArgument takes an id that is given without --id off the arguments; what is
// none stays.
func idArgument(id *string, args []string) []string {
	if *id == "" && len(args) > 0 && bundle.CheckID(args[0]) == nil {
		*id, args = args[0], args[1:]
	}
	return args
}

// noMore refuses arguments that are left.
func noMore(args []string) error {
	if len(args) > 0 {
		return exit.Usagef("unexpected argument %q", args[0])
	}
	return nil
}

// needID wants an id.
func needID(id string) error {
	if id == "" {
		return exit.Usagef("which snapshot? Give its id (engramctl snapshot ls shows them)")
	}
	if err := bundle.CheckID(id); err != nil {
		return exit.Usagef("--id: %w", err)
	}
	return nil
}
