package daemon

import (
	"context"
	"errors"

	"engramd/internal/relay/control"
	"engramd/internal/relay/snapshots"
	"engramd/internal/snapshot"
)

// The orders of `engramd snapshot` to a running daemon.
const (
	orderRestore    = "restore"
	orderMayRestore = "may-restore" // why it would not
	orderRelease    = "release"
	orderDrop       = "drop"
)

// restoreOrder is a restore as the daemon is asked for it. Paths are absolute.
// It holds no key: the daemon reads the identity file itself.
type restoreOrder struct {
	Tenant   string        `json:"tenant"`
	Agent    string        `json:"agent"`
	ID       string        `json:"id,omitempty"`
	Path     string        `json:"path,omitempty"`
	Identity string        `json:"identity,omitempty"`
	Mode     snapshot.Mode `json:"mode"`
	NoPre    bool          `json:"no_pre_snapshot,omitempty"`
	Trusted  []string      `json:"trusted,omitempty"`
	Unsigned bool          `json:"allow_unsigned,omitempty"`
	Empty    bool          `json:"allow_empty,omitempty"`
}

// request reads the identity file.
func (o *restoreOrder) request() (q snapshots.RestoreRequest, err error) {
	q = snapshots.RestoreRequest{
		Which: snapshots.Which{Tenant: o.Tenant, Agent: o.Agent, ID: o.ID, Path: o.Path, Trusted: o.Trusted},
		Mode:  o.Mode, NoPre: o.NoPre, AllowUnsigned: o.Unsigned, AllowEmpty: o.Empty,
	}
	q.Identities, err = identitiesFrom(o.Identity)
	return q, err
}

// restoreArgs are those of orderRestore and orderMayRestore.
type restoreArgs struct {
	Restore *restoreOrder `json:"restore,omitempty"`
}

// request returns the restore that is asked for.
func (a restoreArgs) request() (snapshots.RestoreRequest, error) {
	if a.Restore == nil {
		return snapshots.RestoreRequest{}, errors.New("nothing to restore was named")
	}
	return a.Restore.request()
}

// quarantineArgs are those of orderRelease and orderDrop.
type quarantineArgs struct {
	Name string `json:"name,omitempty"`
}

// snapshotOrders restore beside clients, who see it at once.
func (c *process) snapshotOrders() []control.Order {
	return []control.Order{
		control.NewOrder(orderRestore, func(ctx context.Context, args restoreArgs) (any, error) {
			q, err := args.request()
			if err != nil {
				return nil, err
			}
			return c.snapshots.Restore(ctx, q)
		}),
		control.NewOrder(orderMayRestore, func(ctx context.Context, args restoreArgs) (any, error) {
			return mayRestore(ctx, c.snapshots, args)
		}),
		control.NewOrder(orderRelease, func(ctx context.Context, args quarantineArgs) (any, error) {
			return c.snapshots.ReleaseQuarantine(ctx, args.Name)
		}),
		control.NewOrder(orderDrop, func(ctx context.Context, args quarantineArgs) (any, error) {
			return struct{}{}, c.snapshots.DropQuarantine(ctx, args.Name)
		}),
	}
}

// mayRestore reports why a service would not restore.
func mayRestore(ctx context.Context, s *snapshots.Service, args restoreArgs) ([]string, error) {
	q, err := args.request()
	if err != nil {
		return nil, err
	}
	why := []string{}
	for _, err := range s.Refusals(ctx, q) {
		why = append(why, err.Error())
	}
	return why, nil
}
