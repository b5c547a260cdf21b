package main

import (
	"context"
	"errors"
	"fmt"

	"engramd/internal/admin"
	"engramd/internal/snapshot"
	"engramd/internal/snapshot/bundle"
	"engramd/internal/snapshot/operator"
	"engramd/internal/store"
)

// managed is what the management API (NIP-86) may do with snapshots: by id, with
// the keys of the configuration only, and never without a snapshot of the state
// before a restore.
type managed struct{ s *operator.Service }

var _ admin.Snapshots = managed{}

// List lists snapshots.
func (m managed) List(_ context.Context, p admin.SnapshotParams) (any, error) {
	list, err := m.s.List(p.Tenant, p.Agent)
	if err != nil {
		return nil, refused(err)
	}
	return struct {
		Snapshots  []snapshot.Info `json:"snapshots"`
		Encryption bool            `json:"encryption_available"`
	}{append([]snapshot.Info{}, list...), !m.s.Settings().Recipients.Empty()}, nil
}

// Create captures an agent's memory.
func (m managed) Create(ctx context.Context, p admin.SnapshotParams) (any, error) {
	q := operator.CreateRequest{Tenant: p.Tenant, Agent: p.Agent, Label: p.Label, By: bundle.ByAdmin, Pin: p.Pin, Recipients: &bundle.Recipients{}}
	if p.Encrypt {
		if q.Recipients = nil; m.s.Settings().Recipients.Empty() {
			return nil, admin.Invalid("encrypt: this relay has no snapshot.recipients to encrypt to")
		}
	}
	made, err := m.s.Create(ctx, q)
	if err != nil {
		return nil, refused(err)
	}
	return made.Info, nil
}

// Verify reports on every check. That a check failed is a result.
func (m managed) Verify(ctx context.Context, p admin.SnapshotParams) (any, error) {
	report, err := m.s.Verify(ctx, operator.Which{Tenant: p.Tenant, Agent: p.Agent, ID: p.ID})
	if err != nil {
		return nil, refused(err)
	}
	hidePaths(report)
	return report, nil
}

// hidePaths keeps where files lie from who manages over the network.
func hidePaths(r *bundle.Report) {
	r.Path = ""
	for _, parent := range r.Parents {
		hidePaths(parent)
	}
}

// Restore repairs or rolls back, or says what it would do.
func (m managed) Restore(ctx context.Context, p admin.SnapshotParams) (any, error) {
	q := operator.RestoreRequest{Which: operator.Which{Tenant: p.Tenant, Agent: p.Agent, ID: p.ID}, Mode: snapshot.Mode(p.Mode)}
	if p.DryRun {
		plan, err := m.s.Plan(ctx, q)
		return plan, refused(err)
	}
	done, err := m.s.Restore(ctx, q)
	return done, refused(err)
}

// Pin exempts a snapshot from retention.
func (m managed) Pin(ctx context.Context, p admin.SnapshotParams) (any, error) {
	return true, refused(m.s.Pin(ctx, p.Tenant, p.Agent, p.ID, true))
}

// Unpin lets retention have it again.
func (m managed) Unpin(ctx context.Context, p admin.SnapshotParams) (any, error) {
	return true, refused(m.s.Pin(ctx, p.Tenant, p.Agent, p.ID, false))
}

// Delete deletes a snapshot.
func (m managed) Delete(ctx context.Context, p admin.SnapshotParams) (any, error) {
	return true, refused(m.s.Delete(ctx, p.Tenant, p.Agent, p.ID))
}

// refused tells the caller of what is a matter of the request or the state of the
// snapshots, in words of its own. Everything else is for the log alone.
func refused(err error) error {
	if err == nil {
		return nil
	}
	for _, known := range []struct {
		is     error
		answer func(string) error
	}{
		{snapshot.ErrNotFound, admin.Invalid}, {snapshot.ErrLastVerified, admin.Restricted}, {snapshot.ErrParent, admin.Restricted},
		{operator.ErrNotAllowed, admin.Restricted}, {operator.ErrPartial, admin.Restricted}, {bundle.ErrInvalid, admin.Invalid},
		{snapshot.ErrHeld, busy}, {store.ErrNotCovered, admin.Invalid},
	} {
		if errors.Is(err, known.is) {
			text := known.is.Error()
			if known.is == bundle.ErrInvalid {
				text += "; verifysnapshot says why"
			}
			return fmt.Errorf("%w: %w", known.answer(text), err)
		}
	}
	return err
}

func busy(text string) error { return &admin.Error{Prefix: "error", Text: text + "; try again"} }
