package orders

import (
	"context"
	"errors"

	"engramd/internal/relay/daemon/wiring"
	"engramd/internal/relay/snapshots"
	"engramd/internal/snapshot"
)

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
