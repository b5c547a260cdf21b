package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"

	"engramd/internal/relay/control"
	"engramd/internal/relay/daemon/orders"
	"engramd/internal/relay/daemon/wiring"
	"engramd/internal/relay/snapshots"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/snapshot"
)

func (c *snapshotCommand) restore(ctx context.Context) error {
	if _, err := c.given.needAgent(); err != nil {
		return err
	}
	g := c.given
	if len(c.operands) > 0 && g.from == "" { // what is no id is a file
		g.from = c.operands[0]
	}
	if (g.id == "") == (g.from == "") {
		return wiring.Usage(errors.New("which snapshot? Give its id, or --from FILE"))
	}
	w, err := c.given.which(g.id + g.from)
	if err != nil {
		return err
	}
	if w.ID != "" { // the daemon may have another folder of snapshots than this command
		s, err := c.files()
		if err != nil {
			return err
		}
		info, err := s.Find(w.Tenant, w.Agent, w.ID)
		if err != nil {
			return err
		}
		if w.Path, err = filepath.Abs(info.Path); err != nil {
			return err
		}
		w.ID = ""
	}
	mode := snapshot.Repair
	if g.rollback {
		mode = snapshot.Rollback
	}
	order := orders.RestoreOrder{Tenant: w.Tenant, Agent: w.Agent, Path: w.Path, Mode: mode, NoPre: g.noPre,
		Trusted: g.trust, Unsigned: g.allowUnsigned, Empty: g.allowEmpty}
	if identity := cmp.Or(g.identity, c.cfg.Snapshot.Identity); identity != "" { // the daemon may be set to another, or none
		if order.Identity, err = filepath.Abs(identity); err != nil {
			return err
		}
	}
	if g.dryRun {
		return c.dryRun(ctx, w, order)
	}
	var done snapshots.Restored
	err = c.order(ctx, orders.Restore, orders.RestoreArgs{Restore: &order}, &done, func(s *snapshots.Service) (err error) {
		q, err := order.Request()
		if err == nil {
			done, err = s.Restore(ctx, q)
		}
		return err
	})
	if err != nil {
		return err
	}
	return c.printOr(done, func(out io.Writer) error { return writeRestored(out, c.Stderr, done) })
}

// dryRun prints the plan, beside a daemon or without one, and all that the
// process that would do it would refuse; then it fails as that would.
func (c *snapshotCommand) dryRun(ctx context.Context, w snapshots.Which, order orders.RestoreOrder) error {
	s, err := c.reading(ctx)
	if err != nil {
		return err
	}
	plan, err := s.Plan(ctx, snapshots.RestoreRequest{Which: w, Mode: order.Mode})
	if err != nil {
		return err
	}
	if plan.Refused, err = c.refusals(ctx, s, order); err != nil {
		return err
	}
	err = c.printOr(plan, func(out io.Writer) error { return snapshot.WritePlan(out, order.Mode, plan.Actions) })
	for _, why := range plan.Refused {
		err = errors.Join(err, fmt.Errorf("would be refused: %s", why))
	}
	return err
}

// refusals returns why the daemon, or this command without one, would not
// restore.
func (c *snapshotCommand) refusals(ctx context.Context, s *snapshots.Service, order orders.RestoreOrder) ([]string, error) {
	answer, err := control.Ask(ctx, c.cfg.Data, orders.MayRestore, orders.RestoreArgs{Restore: &order}, nil)
	if unreachable := new(control.UnreachableError); errors.As(err, &unreachable) {
		return orders.Refusals(ctx, s, orders.RestoreArgs{Restore: &order})
	}
	if err != nil {
		return nil, err
	}
	var why []string
	return why, json.Unmarshal(answer, &why)
}

// writeRestored tells a person what a restore did, and what may become of it.
func writeRestored(out, notes io.Writer, r snapshots.Restored) error {
	if r.PreSnapshot != "" {
		fmt.Fprintf(notes, "the state before is in snapshot %s (%s)\n", r.PreSnapshot, r.PrePath)
	}
	for _, why := range slices.Sorted(maps.Keys(r.Skipped)) {
		fmt.Fprintf(notes, "%d events were skipped: %s\n", r.Skipped[why], why)
	}
	if r.Quarantine != "" {
		fmt.Fprintf(notes, "what was taken away can be brought back: engramd snapshot quarantine release %s\n", r.Quarantine)
		fmt.Fprintln(notes, whatMachinesSay)
	}
	if r.Mode == snapshot.Rollback {
		fmt.Fprintln(notes, "other relays may still have the newer versions, and clients that read both show them: only engramctl snapshot restore, with the agent's key, makes the old ones win everywhere")
	}
	_, err := fmt.Fprintf(out, "%s  %s  %d stored, %d replaced older versions, %d already there, %d older than what is there, %d deleted before, %d expired, %d to quarantine\n",
		r.ID, r.Mode, r.Stored, r.Replaced, r.Present, r.Kept, r.Deleted, r.Expired, r.Quarantined)
	return err
}

// whatMachinesSay follows what went to quarantine.
const whatMachinesSay = "until then it is refused when somebody sends it again, and the agent's machines that know it report that this relay lacks it; engramctl repair --accept-loss ends that there"

func (c *snapshotCommand) quarantine(ctx context.Context) error {
	what, name := "ls", ""
	if len(c.operands) > 0 {
		what = c.operands[0]
	}
	if len(c.operands) > 1 {
		name = c.operands[1]
	}
	switch {
	case (what == "ls" || what == "list") && name == "":
		return c.listQuarantine(ctx)
	case what != orders.Release && what != orders.Drop:
		return wiring.Usage(fmt.Errorf("quarantine %q: want ls, release NAME or drop NAME", what))
	case name == "":
		return wiring.Usage(fmt.Errorf("quarantine %s: which one? engramd snapshot quarantine ls shows the names", what))
	}
	var done snapshots.Restored
	err := c.order(ctx, what, orders.QuarantineArgs{Name: name}, &done, func(s *snapshots.Service) (err error) {
		if what == orders.Drop {
			return s.DropQuarantine(ctx, name)
		}
		done, err = s.ReleaseQuarantine(ctx, name)
		return err
	})
	if err != nil {
		return err
	}
	return c.printOr(done, func(w io.Writer) error {
		if what == orders.Drop {
			_, err := fmt.Fprintf(w, "%s  dropped; its events stay refused\n", name)
			return err
		}
		_, err := fmt.Fprintf(w, "%s  released  %d stored, %d replaced older versions, %d older than what is there\n", name, done.Stored, done.Replaced, done.Kept)
		return err
	})
}

func (c *snapshotCommand) listQuarantine(ctx context.Context) error {
	s, err := c.reading(ctx)
	if err != nil {
		return err
	}
	list, err := s.Quarantines(ctx, c.given.agent)
	if err != nil {
		return err
	}
	return c.printOr(list, func(w io.Writer) error {
		for _, q := range list {
			fmt.Fprintf(w, "%s  agent %s  %s  %d heads, %d versions\n", q.Name, q.Agent, q.MovedAt.Format(timeLayout), q.Heads, q.Versions)
		}
		return nil
	})
}

// order does what writes to the database: by the daemon that holds the folder,
// or here. The daemon's result is read into result.
func (c *snapshotCommand) order(ctx context.Context, command string, args, result any, here func(*snapshots.Service) error) error {
	return order(ctx, c.cfg, command, args, result, nil, func(db *sqlite.Store) error {
		rules, err := rulesOf(c.cfg)
		if err != nil {
			return err
		}
		c.store = db
		defer func() { c.store = nil }() // it is closed with the order
		s, err := c.service(ctx, rules)
		if err != nil {
			return err
		}
		return here(s)
	})
}
