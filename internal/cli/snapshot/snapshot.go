// Package snapshot has the commands that keep an agent's whole memory, and go back
// to it: engramctl snapshot.
package snapshot

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/settings"
	"engramd/internal/client"
	"engramd/internal/client/contract"
	"engramd/internal/platform/files"
	"engramd/internal/snapshot"
	"engramd/internal/snapshot/bundle"
)

// Options are those that the snapshot commands share.
type Options struct {
	Root, Tenant string
	LockTimeout  time.Duration
	identity     string
	trust        []string
}

// New returns the command snapshot.
func New(env *cliutil.Env) *cobra.Command {
	f := &Options{}
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
		newCreate(env, f), newVerify(env, f), newList(env, f), newShow(env, f), newDiff(env, f),
		newRestore(env, f), newExport(env, f), newPin(env, f, true), newPin(env, f, false),
		newDelete(env, f), newGC(env, f))
	p := c.PersistentFlags()
	p.StringVar(&env.Flags.Agent, "agent", "", "`pubkey` (npub or hex) of the agent, if the key is not its own (ENGRAM_AGENT)")
	p.StringVar(&f.Tenant, "tenant", bundle.DefaultTenant, "`name` of the tenant")
	p.StringVar(&f.Root, "snapshot-root", "", "`folder` of snapshots (ENGRAM_SNAPSHOTS; default $XDG_STATE_HOME/engramd)")
	p.StringVar(&f.Root, "root", "", "") // its name before
	_ = p.MarkHidden("root")             // cannot fail: the flag exists
	p.DurationVar(&f.LockTimeout, "lock-timeout", time.Minute, "how long to wait for who else is at the agent's snapshots")
	return c
}

// snapshotStore returns where the snapshots lie.
func snapshotStore(env *cliutil.Env, f *Options) (*snapshot.Store, error) {
	if err := bundle.CheckTenant(f.Tenant); err != nil {
		return nil, exit.Usagef("--tenant: %w", err)
	}
	root := f.Root
	for _, or := range []string{env.Vars["ENGRAM_SNAPSHOTS"], cliutil.Under(env.Vars["XDG_STATE_HOME"], "engramd"), cliutil.Under(env.Home(), ".local/state/engramd")} {
		if root == "" {
			root = or
		}
	}
	if root == "" {
		return nil, exit.Usagef("where are the snapshots? Give --snapshot-root, or set ENGRAM_SNAPSHOTS")
	}
	return snapshot.New(env.Path(root)), nil
}

// party is who is at an agent's snapshots: with a key or, for what needs none,
// without.
type party struct {
	agent string
	id    client.Identity
	keys  bundle.Keys // nil without a key

	memory *session.Memory // of the pair that is configured, while relays are asked; nil for none
}

func (p party) own() bool { return p.id.PubKey() == p.agent }

// signer signs manifests as the agent; nil for others.
func (p party) signer() (bundle.Signer, error) {
	if !p.own() {
		return nil, nil
	}
	return client.Using(p.id, bundle.NewSigner)
}

// partyOf finds out whose snapshots they are. A key is used if there is one, and
// must be there if it is needed, or if nothing else names the agent.
func partyOf(ctx context.Context, env *cliutil.Env, needed bool) (p party, err error) {
	s, err := env.Settings()
	if err != nil {
		return p, err
	}
	p.agent = s.Agent
	if s.Key == (settings.KeySource{}) && !needed && s.Agent != "" {
		return p, nil
	}
	if p.id, err = env.Identity(ctx, s); err != nil {
		return p, err
	}
	return p.with(p.id)
}

// at finds out whose snapshots they are, and where they lie.
func at(ctx context.Context, env *cliutil.Env, f *Options, needed bool) (store *snapshot.Store, p party, err error) {
	if p, err = partyOf(ctx, env, needed); err == nil {
		store, err = snapshotStore(env, f)
	}
	return store, p, err
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
func withLock(ctx context.Context, env *cliutil.Env, f *Options, agent string, do func(*snapshot.Store, *snapshot.Lock) error) error {
	store, err := snapshotStore(env, f)
	if err != nil {
		return err
	}
	lock, err := store.Lock(ctx, f.Tenant, agent, f.LockTimeout)
	if err != nil {
		return err
	}
	return errors.Join(do(store, lock), lock.Unlock())
}

// asking gives a command a client of the agent's relays. --timeout bounds
// each question, not all of them together: a memory may be large.
func asking(ctx context.Context, env *cliutil.Env, do func(*client.Client, party) error) error {
	opened, s, err := cliutil.KeySession(ctx, env, cliutil.Patiently, func(o *session.Options) {
		if s, err := env.Settings(); err == nil {
			o.Owner, o.Agent = s.Owner, s.Agent
		}
	})
	if err != nil {
		return err
	}
	defer opened.Close()
	c := opened.Client
	p, err := party{agent: s.Agent, memory: opened.Memory}.with(c.Identity())
	if err != nil {
		return err
	}
	if err := opened.DiscoverFor(ctx, p.agent); err != nil {
		return err
	}
	return do(c, p)
}

// IdentityFlag is --decrypt-identity.
func IdentityFlag(c *cobra.Command, f *Options) {
	c.Flags().StringVar(&f.identity, "decrypt-identity", "", "`file` with the age identity, or the SSH key, that opens an encrypted snapshot")
}

// Identities reads the keys that --decrypt-identity names; none without the flag.
func Identities(env *cliutil.Env, f *Options) (bundle.Identities, error) {
	if f.identity == "" {
		return bundle.Identities{}, nil
	}
	file, err := os.Open(env.Path(f.identity))
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
func findBundle(env *cliutil.Env, store *snapshot.Store, f *Options, agent, name string) (string, error) {
	if bundle.CheckID(name) != nil {
		return env.Path(name), nil
	}
	info, err := store.Find(f.Tenant, agent, name)
	return info.Path, err
}

// verifying returns what is asked of a snapshot of an agent.
func verifying(env *cliutil.Env, store *snapshot.Store, f *Options, p party) (bundle.VerifyOptions, error) {
	ids, err := Identities(env, f)
	if err != nil {
		return bundle.VerifyOptions{}, err
	}
	trusted, err := f.trusted()
	return bundle.VerifyOptions{Tenant: f.Tenant, Agent: p.agent, Identities: ids, Keys: p.keys, Trusted: trusted, Parent: store.ParentOf(f.Tenant, p.agent)}, err
}

// trustFlag is --trust.
func trustFlag(c *cobra.Command, f *Options) {
	c.Flags().StringArrayVar(&f.trust, "trust", nil, "believe the signature of this `pubkey` too, a relay's for example; may be given several times")
}

// trusted returns the keys of --trust.
func (f *Options) trusted() (keys []string, err error) {
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
func openBundle(ctx context.Context, env *cliutil.Env, store *snapshot.Store, f *Options, p party, name string) (*bundle.Bundle, error) {
	path, err := findBundle(env, store, f, p.agent, name)
	if err != nil {
		return nil, err
	}
	o, err := verifying(env, store, f, p)
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
