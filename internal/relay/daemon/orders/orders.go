// Package orders names what commands ask of the running relay over its control
// socket, and the arguments of each.
package orders

import (
	"context"
	"errors"

	"engramd/internal/relay/daemon/wiring"
	"engramd/internal/relay/management"
	"engramd/internal/relay/snapshots"
	"engramd/internal/snapshot"
)

const (
	Configure    = "cluster configure"
	Raise        = "cluster raise"
	Remove       = "cluster remove"
	Recover      = "cluster recover" // a halted node lends its folder, as long as the client listens
	ClockAccept  = "clock accept"
	Delete       = "delete"
	RotateMaster = "master-key rotate"
	OutboxDrop   = "outbox drop"
	Rotate       = "relay-key rotate"
	Revoke       = "relay-key revoke"
	Status       = "status"
	Sync         = "sync"
	Restore      = "restore"
	MayRestore   = "may-restore" // why it would not
	Release      = "release"
	Drop         = "drop"
)

// ClusterArgs are those of Configure and Raise.
type ClusterArgs struct {
	Text   string `json:"text,omitempty"`
	Number uint64 `json:"number,omitempty"`
}

// RemoveArgs are those of Remove.
type RemoveArgs struct {
	Node string `json:"node"`           // name or id
	Live bool   `json:"live,omitempty"` // also one that runs
}

// DeleteArgs are those of Delete.
type DeleteArgs struct {
	Filters *management.Filters `json:"filters,omitempty"`
}

// DropArgs are those of OutboxDrop.
type DropArgs struct {
	Relay string `json:"name,omitempty"`
}

// Dropped is the result of OutboxDrop.
type Dropped struct {
	Events int64 `json:"events"`
}

// KeyArgs are those of Rotate and Revoke.
type KeyArgs struct {
	Key    string `json:"name,omitempty"`   // of Revoke
	Revoke bool   `json:"revoke,omitempty"` // of Rotate
}

// StatusArgs are those of Status.
type StatusArgs struct {
	Top int `json:"top,omitempty"` // how much of each list
}

// SyncArgs are those of Sync: the place of a key, and never a key.
type SyncArgs struct {
	URL     string `json:"url"`
	KeyFile string `json:"key_file,omitempty"`
	Filter  string `json:"filter,omitempty"`
}

// RestoreOrder is a restore as the daemon is asked for it. Paths are absolute.
// It holds no key: the daemon reads the identity file itself.
type RestoreOrder struct {
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

// Request reads the identity file.
func (o *RestoreOrder) Request() (q snapshots.RestoreRequest, err error) {
	q = snapshots.RestoreRequest{
		Which: snapshots.Which{Tenant: o.Tenant, Agent: o.Agent, ID: o.ID, Path: o.Path, Trusted: o.Trusted},
		Mode:  o.Mode, NoPre: o.NoPre, AllowUnsigned: o.Unsigned, AllowEmpty: o.Empty,
	}
	q.Identities, err = wiring.IdentitiesFrom(o.Identity)
	return q, err
}

// RestoreArgs are those of Restore and MayRestore.
type RestoreArgs struct {
	Restore *RestoreOrder `json:"restore,omitempty"`
}

// Request returns the restore that is asked for.
func (a RestoreArgs) Request() (snapshots.RestoreRequest, error) {
	if a.Restore == nil {
		return snapshots.RestoreRequest{}, errors.New("nothing to restore was named")
	}
	return a.Restore.Request()
}

// QuarantineArgs are those of Release and Drop.
type QuarantineArgs struct {
	Name string `json:"name,omitempty"`
}

// Refusals reports why a service would not restore.
func Refusals(ctx context.Context, s *snapshots.Service, args RestoreArgs) ([]string, error) {
	q, err := args.Request()
	if err != nil {
		return nil, err
	}
	why := []string{}
	for _, err := range s.Refusals(ctx, q) {
		why = append(why, err.Error())
	}
	return why, nil
}
