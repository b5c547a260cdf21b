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
	"engramd/internal/snapshot"
	"engramd/internal/snapshot/bundle"
)

type restoreOptions struct {
	id, from                              string
	dryRun, noPre, replan, partial, allow bool
	unsigned, empty                       bool
}

func newRestore(env *cliutil.Env, f *Options) *cobra.Command {
	var o restoreOptions
	c := env.Command(&cobra.Command{
		Use:   "restore ID | --from FILE [--dry-run] [--no-auto-pre-snapshot] [--json]",
		Short: "Go back to a snapshot",
		Long: `Go back to a snapshot, with the agent's key: what was remembered then is written again
as new versions, slugs that did not exist are removed (tombstones), core comes last.
Nothing is lost: what is there now becomes history, and a snapshot of it is made
before, labelled auto:pre-restore-ID.

The snapshot is verified first, must be of this tenant and agent, and be signed by the
agent or by a key of --trust (--allow-unsigned takes any). --dry-run shows what would
be done, slug by slug, and all that would be refused. Memories below mem/sys/,
mem/proposals/ and mem/proposals-answers/ stay as they are. Everything that is to be
written is signed and put into a journal beside the snapshots before the first of it
is sent; of more than 400 versions 400 are made each second, so that no relay has more
of one second than it can list. If the command is interrupted, each slug has its old
or its new text, and core still the old one unless all is done; the same command goes
on where it stopped. It stops with exit code 5 at a slug that somebody else has
changed since: then --replan begins anew from what is there.`,
		Example: `  engramctl snapshot restore 20261120T235100Z-0123456789abcdef --dry-run
  engramctl snapshot restore --from backup.tar.zst.age --decrypt-identity age.key`,
		Args: cobra.ArbitraryArgs,
	}, func(ctx context.Context, args []string) error {
		if err := noMore(idArgument(&o.id, args)); err != nil {
			return err
		}
		if (o.id == "") == (o.from == "") {
			return exit.Usagef("which snapshot? Give its id, or --from FILE")
		}
		if o.id != "" {
			if err := needID(o.id); err != nil {
				return err
			}
		}
		return asking(ctx, env, func(c *client.Client, p party) error {
			if !p.own() {
				return client.ErrReadOnly
			}
			r := &reverting{Env: env, f: f, o: o, c: c, p: p}
			if o.dryRun { // it writes nothing
				var err error
				if r.store, err = snapshotStore(env, f); err != nil {
					return err
				}
				return r.run(ctx)
			}
			return withLock(ctx, env, f, p.agent, func(store *snapshot.Store, lock *snapshot.Lock) error {
				r.store, r.lock = store, lock
				return r.run(ctx)
			})
		})
	})
	idFlag(c, &o.id)
	c.Flags().StringVar(&o.from, "from", "", "`file` of the snapshot")
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "show what would be done and what would be refused, and do nothing")
	c.Flags().BoolVar(&o.noPre, "no-auto-pre-snapshot", false, "make no snapshot of what is there now")
	c.Flags().BoolVar(&o.replan, "replan", false, "give up a restore that was begun and not finished")
	c.Flags().BoolVar(&o.partial, "allow-partial", false, "go on also if some relay does not answer in full")
	c.Flags().BoolVar(&o.unsigned, "allow-unsigned", false, "take the snapshot although nobody who is trusted signed it")
	c.Flags().BoolVar(&o.empty, "allow-empty", false, "take it although it holds no memory, and so removes all there is")
	cliutil.SecretFlag(c, &o.allow)
	IdentityFlag(c, f)
	trustFlag(c, f)
	return c
}

// reverting is one run of restore.
type reverting struct {
	*cliutil.Env
	f     *Options
	o     restoreOptions
	c     *client.Client
	p     party
	store *snapshot.Store
	lock  *snapshot.Lock
}

func (r *reverting) run(ctx context.Context) error {
	name := r.o.id
	if name == "" {
		name = r.Path(r.o.from)
	}
	dir, err := r.store.Dir(r.f.Tenant, r.p.agent)
	if err != nil {
		return err
	}
	var j *snapshots.Journal
	b, err := openBundle(ctx, r.Env, r.store, r.f, r.p, name)
	switch {
	case errors.Is(err, snapshot.ErrNotFound) && r.o.id != "" && !r.o.dryRun && !r.o.replan:
		// It may have been deleted since; the journal has all that is to be written.
		var failed error
		if j, failed = r.begun(dir, r.o.id); failed != nil || j == nil {
			return cliutil.FirstOf(failed, err)
		}
	case err != nil:
		return err
	case !r.o.dryRun:
		if j, err = r.begun(dir, b.ID); err != nil {
			return err
		}
	}
	if j == nil {
		if j, err = r.begin(ctx, b, dir); err != nil || j == nil {
			return err
		}
	}
	return r.finish(ctx, j, dir)
}

// begun returns the journal of a restore of the same snapshot that was not
// finished.
func (r *reverting) begun(dir, id string) (*snapshots.Journal, error) {
	if r.o.replan {
		return nil, snapshots.DropJournal(dir)
	}
	j, err := snapshots.LoadJournal(dir)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w; --replan gives it up", err)
	case j == nil:
		return nil, nil
	case j.Agent != r.p.agent || j.Tenant != r.f.Tenant:
		return nil, fmt.Errorf("%w: it is of agent %s, tenant %s, and not of agent %s, tenant %s", snapshots.ErrJournal, j.Agent, j.Tenant, r.p.agent, r.f.Tenant)
	case j.Bundle != id:
		return nil, &client.ConflictError{Reason: fmt.Sprintf("a restore of %s was begun at %s and is not finished: finish it, or give it up with --replan", j.Bundle, j.CreatedAt.Format(time.RFC3339))}
	}
	r.Note("going on with the restore that was begun at %s", j.CreatedAt.Format(time.RFC3339))
	return j, nil
}

// begin plans a restore and writes its journal. Without one there is nothing to
// do, or nothing is to be done.
func (r *reverting) begin(ctx context.Context, b *bundle.Bundle, dir string) (*snapshots.Journal, error) {
	now, err := snapshots.Take(ctx, r.c, snapshots.Wanted{Agent: r.p.agent, Whole: !r.o.partial}, time.Now)
	if err := r.Report(now.Status, err); err != nil {
		return nil, err
	}
	plan, err := snapshots.NewPlan(ctx, b, now, r.p.keys)
	if err != nil {
		return nil, err
	}
	if plan.Unread > 0 {
		r.Note("%d engrams cannot be read with this key", plan.Unread)
	}
	if plan.Untold > 0 {
		r.Note("%d records are left as they are: the snapshot does not say whether they were there", plan.Untold)
	}
	refusals, err := r.refusals(ctx, plan, b, now, dir)
	if err != nil {
		return nil, err
	}
	if r.o.dryRun {
		return nil, errors.Join(append([]error{r.show(ctx, plan, b, now, refusals)}, refusals...)...)
	}
	if err := errors.Join(refusals...); err != nil {
		return nil, err
	}
	if plan.Writes() == 0 {
		return nil, r.done(b.ID, "", snapshots.Done{})
	}
	steps, err := plan.Steps(ctx, r.c, b, now, r.p.keys, cliutil.Guard(r.o.allow))
	if err != nil {
		return nil, err
	}
	j := &snapshots.Journal{Agent: r.p.agent, Tenant: r.f.Tenant, Bundle: b.ID, CreatedAt: time.Now().UTC().Truncate(time.Second), Steps: steps}
	if !r.o.noPre {
		if j.PreSnapshot, err = r.before(ctx, b, now); err != nil {
			return nil, fmt.Errorf("the snapshot of what is there now: %w", err)
		}
	}
	return j, j.Save(dir)
}

// refusals returns all reasons for which nothing would be written.
func (r *reverting) refusals(ctx context.Context, plan snapshots.Plan, b *bundle.Bundle, now *snapshots.Capture, dir string) ([]error, error) {
	var why []error
	if !b.Report.Trusted && !r.o.unsigned {
		why = append(why, fmt.Errorf("signature: %s: %w: its time and that it is complete are nobody's word; --trust KEY trusts a signer, --allow-unsigned goes without",
			b.Report.Check(bundle.CheckSignature).Reason, bundle.ErrUntrusted))
	}
	if b.Manifest.Empty() && !r.o.empty {
		why = append(why, exit.Usagef("the snapshot holds no memory: going back to it removes all there is (--allow-empty)"))
	}
	if r.o.dryRun && !r.o.replan { // else it was looked at before
		if _, err := r.begun(dir, b.ID); err != nil {
			why = append(why, err)
		}
	}
	secret, err := plan.Refusals(ctx, b, now, r.p.keys, cliutil.Guard(r.o.allow))
	return append(why, secret...), err
}

// before keeps what is there now, if there is anything, for the same readers as
// the snapshot that is gone back to.
func (r *reverting) before(ctx context.Context, b *bundle.Bundle, now *snapshots.Capture) (string, error) {
	o, err := bundleOptions(r.Env, r.p, createOptions{label: "auto:pre-restore-" + b.ID, encrypt: b.Manifest.Recipients})
	if err != nil {
		return "", err
	}
	o.CreatedBy = bundle.ByAutoPreRestore
	info, err := keep(ctx, r.Env, r.lock, now, o)
	if errors.Is(err, bundle.ErrEmpty) {
		return "", nil
	}
	return info.ID, err
}

func (r *reverting) show(ctx context.Context, plan snapshots.Plan, b *bundle.Bundle, now *snapshots.Capture, refusals []error) error {
	changes := snapshot.Changes(plan.Actions)
	if err := snapshot.AddLines(ctx, changes, now, b, r.p.agent, r.p.keys); err != nil {
		return err
	}
	snapshot.AddPlanLines(plan.Actions, changes)
	if r.Flags.JSON {
		refused := []string{}
		for _, why := range refusals {
			refused = append(refused, why.Error())
		}
		return r.PrintJSON(struct {
			ID      string            `json:"id"`
			DryRun  bool              `json:"dry_run"`
			Plan    []snapshot.Action `json:"plan"`
			Refused []string          `json:"refused"` // why it would not be done
		}{b.ID, true, append([]snapshot.Action{}, plan.Actions...), refused})
	}
	return snapshot.WritePlan(r.Out(), snapshot.Revert, plan.Actions)
}

func (r *reverting) finish(ctx context.Context, j *snapshots.Journal, dir string) error {
	done, err := snapshots.Run(ctx, r.c, j, snapshots.NamesOf(r.p.agent, r.p.keys))
	if err != nil {
		err = fmt.Errorf("stopped; the same command goes on, --replan begins anew: %w", err)
	}
	if err := r.Report(done.Status, err); err != nil {
		return err
	}
	if done.Partial > 0 {
		r.Note("%d of %d versions were not taken by every relay; engramctl sync brings the others up to date", done.Partial, done.Steps)
	}
	if err := snapshots.DropJournal(dir); err != nil {
		return err
	}
	return r.done(j.Bundle, j.PreSnapshot, done)
}

func (r *reverting) done(id, pre string, done snapshots.Done) error {
	if r.Flags.JSON {
		return r.PrintJSON(struct {
			ID          string `json:"id"`
			PreSnapshot string `json:"pre_snapshot,omitempty"`
			Changed     int    `json:"changed"`
			Sent        int    `json:"sent"`
			Partial     bool   `json:"partial"`
		}{id, pre, done.Steps, done.Sent, done.Status.Partial})
	}
	if pre != "" {
		r.Note("what was there before is in snapshot %s", pre)
	}
	return r.Print("%s  restored  %d changed\n", id, done.Steps)
}
