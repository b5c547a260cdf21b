// Package managed is the snapshot methods of the management API (NIP-86) over
// the operator's service of snapshots.
package managed

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"engramd/internal/relay/management"
	"engramd/internal/relay/snapshots"
	"engramd/internal/relay/store"
	"engramd/internal/snapshot"
	"engramd/internal/snapshot/bundle"
	"engramd/nips/nip01"
)

// Snapshots implements what the management API may do with snapshots: by name,
// with the keys of the configuration only, and never without a snapshot of the
// state before a restore.
//
// Managers of a relay see nothing of memory, not even whether there is any
// (docs/management.md): answers contain what they entered themselves. So they
// know only the snapshots that they made, by random names, because an id is the
// hash of a snapshot's content; answers contain no number; and they come after
// a whole number of steps of time.
type Snapshots struct {
	s     *snapshots.Service
	after func(time.Duration) <-chan time.Time
}

var _ management.Snapshots = Snapshots{}

// New returns the methods over a service. after is time.After outside of tests.
func New(s *snapshots.Service, after func(time.Duration) <-chan time.Time) Snapshots {
	return Snapshots{s, after}
}

// step is the time after which, or after a multiple of which, an answer comes:
// every call reads something of the agent, if only the list of snapshots.
const step = 500 * time.Millisecond

// level lets the current step of time pass.
func (m Snapshots) level(ctx context.Context, began time.Time) {
	took := time.Since(began)
	select {
	case <-m.after((took/step+1)*step - took):
	case <-ctx.Done():
	}
}

// made is a snapshot as its maker sees it.
type made struct {
	ID        string    `json:"id"` // Record.Managed
	Tenant    string    `json:"tenant"`
	Agent     string    `json:"agent"`
	Label     string    `json:"label,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	Encrypted bool      `json:"encrypted"`
	Pinned    bool      `json:"pinned"`
	Automatic bool      `json:"automatic"` // of the state before a restore
}

// list finds the snapshots that were made over the network.
func (m Snapshots) list(tenant, agent string) ([]snapshot.Info, error) {
	all, err := m.s.List(tenant, agent)
	var out []snapshot.Info
	for _, info := range all {
		if info.Managed != "" {
			out = append(out, info)
		}
	}
	slices.SortFunc(out, func(a, b snapshot.Info) int { return strings.Compare(b.Managed, a.Managed) })
	return out, err
}

// find finds one of them by its name.
func (m Snapshots) find(p management.SnapshotParams) (snapshot.Info, error) {
	list, err := m.list(p.Tenant, p.Agent)
	for _, info := range list {
		if info.Managed == p.ID {
			return info, nil
		}
	}
	if err == nil {
		err = snapshot.ErrNotFound
	}
	return snapshot.Info{}, err
}

// newName returns a name in the form of an id.
func newName() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return time.Now().UTC().Format("20060102T150405Z") + "-" + hex.EncodeToString(b[:])
}

// List lists the snapshots that were made over the network, newest first.
func (m Snapshots) List(ctx context.Context, p management.SnapshotParams) (any, error) {
	defer m.level(ctx, time.Now())
	list, err := m.list(p.Tenant, p.Agent)
	if err != nil {
		return nil, refused(err)
	}
	out := []made{}
	for _, info := range list {
		s := made{
			ID: info.Managed, Tenant: info.Tenant, Agent: info.Agent, Label: info.Label, CreatedAt: bundle.TimeOf(info.Managed),
			Encrypted: info.Encrypted, Pinned: info.Pinned, Automatic: info.Automatic(),
		}
		if s.Automatic {
			s.Label = "" // it names an id
		}
		out = append(out, s)
	}
	return struct {
		Snapshots  []made `json:"snapshots"`
		Encryption bool   `json:"encryption_available"`
	}{out, !m.s.Settings().Recipients.Empty()}, nil
}

// Create captures an agent's memory, of which there may be none.
func (m Snapshots) Create(ctx context.Context, p management.SnapshotParams) (any, error) {
	defer m.level(ctx, time.Now())
	q := snapshots.CreateRequest{Tenant: p.Tenant, Agent: p.Agent, Label: p.Label, By: bundle.ByAdmin, Pin: p.Pin,
		Recipients: &bundle.Recipients{}, Managed: newName(), AllowEmpty: true}
	if p.Encrypt {
		if q.Recipients = nil; m.s.Settings().Recipients.Empty() {
			return nil, management.Invalid("encrypt: this relay has no snapshot.recipients to encrypt to")
		}
	}
	if _, err := m.s.Create(ctx, q); err != nil {
		return nil, refused(err)
	}
	return struct {
		ID string `json:"id"`
	}{q.Managed}, nil
}

// Verify reports whether every check passed. A failed check is a result, not an
// error.
func (m Snapshots) Verify(ctx context.Context, p management.SnapshotParams) (any, error) {
	defer m.level(ctx, time.Now())
	info, err := m.find(p)
	if err != nil {
		return nil, refused(err)
	}
	report, err := m.s.Verify(ctx, snapshots.Which{Tenant: p.Tenant, Agent: p.Agent, ID: info.ID})
	if err != nil {
		return nil, refused(err)
	}
	return struct {
		OK bool `json:"ok"`
	}{report.OK()}, nil
}

// Restore repairs or rolls back, or says whether it would.
func (m Snapshots) Restore(ctx context.Context, p management.SnapshotParams) (any, error) {
	defer m.level(ctx, time.Now())
	info, err := m.find(p)
	if err != nil {
		return nil, refused(err)
	}
	q := snapshots.RestoreRequest{Which: snapshots.Which{Tenant: p.Tenant, Agent: p.Agent, ID: info.ID}, Mode: snapshot.Mode(p.Mode), Managed: newName()}
	if p.DryRun {
		if why := m.s.Refusals(ctx, q); len(why) > 0 {
			return nil, refused(why[0])
		}
		return struct {
			DryRun bool `json:"dry_run"`
			OK     bool `json:"ok"`
		}{true, true}, nil
	}
	if _, err := m.s.Restore(ctx, q); err != nil {
		return nil, refused(err)
	}
	return struct {
		PreSnapshot string `json:"pre_snapshot"`
	}{q.Managed}, nil
}

// Pin exempts a snapshot from retention.
func (m Snapshots) Pin(ctx context.Context, p management.SnapshotParams) (any, error) {
	return m.pin(ctx, p, true)
}

// Unpin ends that exemption.
func (m Snapshots) Unpin(ctx context.Context, p management.SnapshotParams) (any, error) {
	return m.pin(ctx, p, false)
}

func (m Snapshots) pin(ctx context.Context, p management.SnapshotParams, pinned bool) (any, error) {
	defer m.level(ctx, time.Now())
	info, err := m.find(p)
	if err == nil {
		err = m.s.Pin(ctx, p.Tenant, p.Agent, info.ID, pinned)
	}
	return true, refused(err)
}

// Delete deletes a snapshot, but never the last verified one of those that
// managers made: they must not learn whether there are others.
func (m Snapshots) Delete(ctx context.Context, p management.SnapshotParams) (any, error) {
	defer m.level(ctx, time.Now())
	info, err := m.find(p)
	if err != nil {
		return nil, refused(err)
	}
	list, err := m.list(p.Tenant, p.Agent)
	if err != nil {
		return nil, refused(err)
	}
	others := 0
	for _, other := range list {
		if other.ID != info.ID && other.Verified() {
			others++
		}
	}
	if others == 0 && info.Verified() {
		return nil, refused(snapshot.ErrLastVerified)
	}
	return true, refused(m.s.Delete(ctx, p.Tenant, p.Agent, info.ID, snapshot.Deletion{Force: p.Force, AnyKind: true}))
}

// refused returns an error for the caller, in words of its own, if the request
// or the state of the snapshots is at fault. Everything else is for the log
// alone.
func refused(err error) error {
	if err == nil {
		return nil
	}
	for _, known := range []struct {
		is     error
		answer func(string) error
	}{
		{snapshot.ErrNotFound, management.Invalid}, {snapshot.ErrLastVerified, management.Restricted}, {snapshot.ErrParent, management.Restricted},
		{snapshot.ErrPinned, func(string) error { return management.Restricted("it is pinned: unpin it, or say force") }}, {bundle.ErrUntrusted, management.Restricted},
		{snapshots.ErrNotAllowed, management.Restricted}, {snapshots.ErrPartial, management.Restricted}, {bundle.ErrInvalid, management.Invalid},
		{snapshot.ErrHeld, busy}, {store.ErrNotCovered, management.Invalid},
	} {
		if errors.Is(err, known.is) {
			text := known.is.Error()
			if known.is == bundle.ErrInvalid {
				text += "; engramd snapshot verify says why"
			}
			return fmt.Errorf("%w: %w", known.answer(text), err)
		}
	}
	return errors.New(err.Error()) // the caller must not see a refusal within it
}

func busy(text string) error {
	return &nip01.Refusal{Prefix: nip01.PrefixError, Text: text + "; try again"}
}
