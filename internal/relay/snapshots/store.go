package snapshots

import (
	"context"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
)

// Store is the database that snapshots are made of and restored into;
// *sqlite.Store is one.
type Store interface {
	// Agents lists the pubkeys (hex, sorted) that have engrams as heads.
	Agents(ctx context.Context, scope gate.Scope) (out []string, err error)
	// Capture calls fn with the agent's memory at one instant: everything fn
	// reads is of one read transaction, which holds no client up.
	Capture(ctx context.Context, scope gate.Scope, q store.CaptureQuery, fn func(store.View) error) error
	// BeginRestore starts staging.
	BeginRestore(o store.RestoreOptions) (store.Restoration, error)
	// Quarantines lists what rollbacks took away, newest first.
	Quarantines(ctx context.Context, scope gate.Scope) (out []store.Quarantine, err error)
	// ReleaseQuarantine brings back what a rollback took away, in one
	// transaction: heads where nothing newer is here by now, else, as all
	// others, history.
	ReleaseQuarantine(ctx context.Context, name string) (store.Restored, error)
	// DropQuarantine forgets for good what a rollback took away.
	DropQuarantine(ctx context.Context, name string) error
	// SchemaVersion is the number of the last migration that the open database
	// has.
	SchemaVersion(ctx context.Context) (version int64, err error)
}
