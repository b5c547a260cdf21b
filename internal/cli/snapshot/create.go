package snapshot

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/client"
	"engramd/internal/memory/snapshots"
	"engramd/internal/platform/timeparse"
	"engramd/internal/secrets"
	"engramd/internal/snapshot"
	"engramd/internal/snapshot/bundle"
)

// createOptions are what a snapshot is made with.
type createOptions struct {
	label     string
	encrypt   []string
	createdAt string
	at        string
	parent    string
	grow      bool // on top of the newest
	pin       bool
	partial   bool
	empty     bool
}

func newCreate(env *cliutil.Env, f *Options) *cobra.Command {
	var o createOptions
	c := env.Command(&cobra.Command{
		Use:   "create [--label TEXT] [--at TIME] [--encrypt age:RECIPIENT]… [--parent ID | --incremental] [--pin] [--json]",
		Short: "Make a snapshot",
		Long: `Make a snapshot of what the relays have: everything is listed, superseded versions are
read, and it is listed again until nothing changed meanwhile. The snapshot is verified
as it is written, and signed if the key is the agent's.

With --parent or --incremental (the newest) it is incremental: it holds only what that
snapshot and those which it rests on lack, and needs them to be verified and restored.
The parent is verified first.

With --at it is the memory of a time in the past, by the times that its versions bear,
as far as the relays keep superseded ones: 2026-01-31T12:00:00Z, 2h (ago), yesterday,
or a date (the end of that day; today: now).

If some relay does not answer in full, no snapshot is made, unless --allow-partial: the
snapshot says so, and going back to it removes nothing. If there is no memory at all,
none is made unless --allow-empty (exit code 1): it may be the wrong relay or key.
--timeout bounds each question to the relays; give more for a large memory.`,
		Example: `  engramctl snapshot create --label "before the big clean-up"
  engramctl snapshot create --encrypt age:age1… --encrypt "ssh-ed25519 AAAA…" --pin`,
	}, func(ctx context.Context, _ []string) error {
		if o.parent != "" {
			if err := bundle.CheckID(o.parent); err != nil {
				return exit.Usagef("--parent: %w", err)
			}
		}
		return asking(ctx, env, func(c *client.Client, p party) error {
			return withLock(ctx, env, f, p.agent, func(store *snapshot.Store, lock *snapshot.Lock) error {
				how, err := bundleOptions(env, p, o)
				if err != nil {
					return err
				}
				if o.grow && o.parent == "" {
					list, err := store.List(f.Tenant, p.agent)
					if err != nil {
						return err
					}
					if len(list) == 0 {
						return exit.Usagef("there is no snapshot to add to: make the first one without --incremental")
					}
					o.parent = list[0].ID
				}
				if o.parent != "" {
					if how.Parent, err = openBundle(ctx, env, store, f, p, o.parent); err != nil {
						return err
					}
				}
				return create(ctx, env, c, p, lock, o, how)
			})
		})
	})
	c.Flags().StringVar(&o.label, "label", "", "`text` to remember it by")
	c.Flags().StringArrayVar(&o.encrypt, "encrypt", nil, "encrypt it to `age:RECIPIENT` (age1… or an SSH public key); may be given several times")
	c.Flags().StringVar(&o.parent, "parent", "", "`id` of the snapshot that it adds to")
	c.Flags().BoolVar(&o.grow, "incremental", false, "add to the newest snapshot")
	c.Flags().StringVar(&o.at, "at", "", "the memory of a `time` in the past, by the times that versions bear")
	c.Flags().BoolVar(&o.empty, "allow-empty", false, "make it also if there is no memory")
	c.Flags().BoolVar(&o.pin, "pin", false, "exempt it from gc")
	c.Flags().StringVar(&o.createdAt, "created-at", "", "`time` to date the file with; retention (order and age) goes by it. The file still shows the memory of now, or of --at. With both times the same memory gives the same bytes")
	c.Flags().BoolVar(&o.partial, "allow-partial", false, "make it also if some relay does not answer in full")
	IdentityFlag(c, f)
	return c
}

func create(ctx context.Context, env *cliutil.Env, c *client.Client, p party, lock *snapshot.Lock, o createOptions, how bundle.Options) error {
	want := snapshots.Wanted{Agent: p.agent, Whole: !o.partial}
	if o.at != "" {
		now, err := time.Now(), error(nil)
		if want.At, err = timeparse.Parse(o.at, timeparse.At, now); err != nil {
			return exit.Usagef("--at: %w", err)
		}
		if want.At.After(now) {
			return exit.Usagef("--at: %s has not come yet", want.At.UTC().Format(time.RFC3339))
		}
	}
	captured, err := snapshots.Take(ctx, c, want, time.Now)
	if err == nil && p.memory != nil && o.at == "" {
		captured.Status = p.memory.Besides(ctx, captured.Heads(), captured.Status) // what relays show is kept
	}
	if err := env.Report(captured.Status, err); err != nil {
		return err
	}
	if captured.LeftOut > 0 {
		env.Note("%d events at the relays are malformed, dated ahead or were deleted elsewhere, and were left out", captured.LeftOut)
	}
	if o.at != "" {
		env.Note("%s", cliutil.AsOf(captured.AsOf, captured.Unknown))
	}
	info, err := keep(ctx, env, lock, captured, how)
	if errors.Is(err, bundle.ErrEmpty) && captured.Status.Behind > 0 {
		return fmt.Errorf("%w: they show nothing, and nothing is kept of it", client.ErrBehind)
	}
	if errors.Is(err, bundle.ErrEmpty) {
		return fmt.Errorf("agent %s: %w: is it the right key, agent and relay? --allow-empty makes one all the same", p.agent, err)
	}
	if err != nil {
		return err
	}
	if o.pin {
		if err := lock.Pin(info.ID, true); err != nil {
			return err
		}
		info.Pinned = true
	}
	return env.Show(infoOut{Info: info, Path: info.Path}, "%s  %d events  %d B  %s\n", info.ID, info.Events, info.Size, info.Kind)
}

// keep writes a capture. One that is not whole says so.
func keep(ctx context.Context, env *cliutil.Env, lock *snapshot.Lock, captured *snapshots.Capture, o bundle.Options) (snapshot.Info, error) {
	if captured.Status.Partial {
		o.Consistency = bundle.PartialListing
	}
	o.AsOf = captured.AsOf
	if o.CreatedAt.IsZero() {
		return lock.CreateAt(ctx, captured, o, time.Now())
	}
	info, _, err := lock.Create(ctx, captured, o)
	return info, err
}

func bundleOptions(env *cliutil.Env, p party, o createOptions) (out bundle.Options, err error) {
	out = bundle.Options{Label: o.label, Consistency: bundle.StableListing, Software: "engramctl " + env.Version, CreatedBy: bundle.ByCLI, Keys: p.keys, SomeEngrams: !o.empty}
	if p.own() {
		out.CreatedBy = bundle.ByAgent
	}
	if err := bundle.CheckLabel(o.label); err != nil {
		return out, exit.Usagef("--label: %w", err)
	}
	if err := secrets.Check(o.label); err != nil { // it is kept in clear text
		return out, exit.Usagef("--label: %w", err)
	}
	if out.Recipients, err = bundle.ParseRecipients(o.encrypt); err != nil {
		return out, exit.Usagef("--encrypt: %w", err)
	}
	if o.createdAt != "" {
		if out.CreatedAt, err = timeparse.Parse(o.createdAt, timeparse.At, time.Now()); err != nil {
			return out, exit.Usagef("--created-at: %w", err)
		}
	}
	if out.Sign, err = p.signer(); err != nil {
		return out, fmt.Errorf("sign: %w", err)
	}
	return out, nil
}

// infoOut is a snapshot in JSON.
type infoOut struct {
	snapshot.Info
	Path string `json:"path"`
}
