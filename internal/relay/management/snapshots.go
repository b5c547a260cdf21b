package management

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/nbd-wtf/go-nostr"
)

// Snapshots executes the snapshot methods. The parameters have been checked
// (see SnapshotParams): an id is an id and never a path. Recipients and
// identities of encryption come from the configuration only. A result is any
// value that encodes to JSON; an error may be an Error of this package, or wrap
// one; the caller sees any other as a failure without its text.
//
// The context ends when the caller goes away: work under way is then completed
// or undone. Several calls may run at once.
type Snapshots interface {
	// List returns the snapshots of a tenant, of one agent unless Agent is "",
	// newest first.
	List(ctx context.Context, p SnapshotParams) (result any, err error)
	// Create captures an agent's memory; created_by is "admin".
	Create(ctx context.Context, p SnapshotParams) (result any, err error)
	// Verify reports every check of one snapshot.
	Verify(ctx context.Context, p SnapshotParams) (result any, err error)
	// Restore repairs or rolls back, by Mode, always with a snapshot of the state
	// before; with DryRun it returns the plan and changes nothing.
	Restore(ctx context.Context, p SnapshotParams) (result any, err error)
	// Pin exempts one snapshot from retention, and Unpin ends the exemption.
	Pin(ctx context.Context, p SnapshotParams) (result any, err error)
	Unpin(ctx context.Context, p SnapshotParams) (result any, err error)
	// Delete deletes one snapshot, never the last verified one, and a pinned one
	// only with Force.
	Delete(ctx context.Context, p SnapshotParams) (result any, err error)
}

// SnapshotParams is the one parameter of a snapshot method, an object. Members
// that the method does not use are refused.
type SnapshotParams struct {
	Agent   string `json:"agent,omitzero"`   // 64 lower-case hex digits; "" only for listsnapshots
	Tenant  string `json:"tenant,omitzero"`  // "default" when not given
	Label   string `json:"label,omitzero"`   // createsnapshot
	Encrypt bool   `json:"encrypt,omitzero"` // createsnapshot: to the recipients of the configuration
	Pin     bool   `json:"pin,omitzero"`     // createsnapshot
	ID      string `json:"id,omitzero"`      // 20261120T235100Z-0123456789abcdef
	DryRun  bool   `json:"dry_run,omitzero"` // restoresnapshot
	Mode    string `json:"mode,omitzero"`    // restoresnapshot: "repair" (the default) or "rollback"
	Force   bool   `json:"force,omitzero"`   // deletesnapshot: also if it is pinned
}

const maxLabel = 200

var (
	tenantName = regexp.MustCompile(`^[a-z0-9]([a-z0-9_-]{0,62}[a-z0-9])?$`)
	snapshotID = regexp.MustCompile(`^[0-9]{8}T[0-9]{6}Z-[0-9a-f]{16}$`)
)

// snapshotParam reads the object, with the members that the method takes.
func snapshotParam(agent bool, may ...string) param {
	may = append(may, "agent", "tenant")
	return func(a *args, raw jsontext.Value) error {
		var p SnapshotParams
		if err := json.Unmarshal(raw, &p, json.RejectUnknownMembers(true)); raw.Kind() != '{' || err != nil {
			return Invalid("want one object with " + strings.Join(may, ", "))
		}
		if p.strays(may) {
			return Invalid("only these members are taken here: " + strings.Join(may, ", "))
		}
		if p.Tenant == "" {
			p.Tenant = "default"
		}
		if err := p.check(agent, may); err != nil {
			return err
		}
		a.at = &p
		a.recall = append(a.recall, p)
		return nil
	}
}

// strays reports whether a member is set that the method does not use.
func (p *SnapshotParams) strays(may []string) bool {
	for name, set := range map[string]bool{
		"label": p.Label != "", "encrypt": p.Encrypt, "pin": p.Pin, "id": p.ID != "", "dry_run": p.DryRun, "mode": p.Mode != "", "force": p.Force,
	} {
		if set && !slices.Contains(may, name) {
			return true
		}
	}
	return false
}

func (p *SnapshotParams) check(agent bool, may []string) error {
	switch {
	case (p.Agent != "" || agent) && !nostr.IsValid32ByteHex(p.Agent):
		return Invalid("agent must be a pubkey as 64 lower-case hex digits")
	case !tenantName.MatchString(p.Tenant):
		return Invalid("tenant must be 1 to 64 of a-z, 0-9, _ and -, without _ or - at its ends")
	case slices.Contains(may, "id") && !snapshotID.MatchString(p.ID):
		return Invalid("id must be that of a snapshot, such as 20261120T235100Z-0123456789abcdef")
	}
	if slices.Contains(may, "mode") {
		if p.Mode == "" {
			p.Mode = "repair"
		}
		if p.Mode != "repair" && p.Mode != "rollback" {
			return Invalid("mode must be repair or rollback")
		}
	}
	return checkText(p.Label, maxLabel, false)
}
