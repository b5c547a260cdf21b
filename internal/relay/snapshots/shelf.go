package snapshots

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"engramd/internal/relay/config"
	"engramd/internal/snapshot"
	"engramd/internal/snapshot/bundle"
)

// Which names a bundle of an agent, and says what to verify beside what always
// is.
type Which struct {
	Tenant, Agent string
	ID            string            // of one in the folder of snapshots; else
	Path          string            // of a file
	Identities    bundle.Identities // open encrypted ones; those of the settings if empty
	Keys          bundle.Keys       // nil: whether engrams decrypt is not checked
	Signers       []string          // pubkeys, one of which must have signed it; none: not asked for
	Trusted       []string          // pubkeys whose signature is believed beside the relay's own and those of the settings
}

// shelf is the bundles in their folder, and by whose word they are believed.
type shelf struct {
	bundles  *snapshot.Store
	trusted  func(ctx context.Context) ([]string, error)
	settings atomic.Pointer[Settings]
}

// verifying returns what is asked of the bundle.
func (s *shelf) verifying(ctx context.Context, w Which) (bundle.VerifyOptions, error) {
	o := bundle.VerifyOptions{
		Tenant: w.Tenant, Agent: w.Agent, Identities: w.Identities, Keys: w.Keys, Signers: w.Signers,
		Trusted: slices.Concat(w.Trusted, s.settings.Load().Trusted), Parent: s.bundles.ParentOf(w.Tenant, w.Agent),
	}
	if s.trusted != nil {
		own, err := s.trusted(ctx)
		if err != nil {
			return o, err
		}
		o.Trusted = append(o.Trusted, own...)
	}
	switch {
	case w.ID != "":
	case w.Agent == "" || w.Tenant == "": // the file says whose it is
		o.Parent = snapshot.ParentBeside(w.Path, nil)
	default:
		o.Parent = snapshot.ParentBeside(w.Path, o.Parent)
	}
	if o.Identities.Empty() {
		o.Identities = s.settings.Load().Identities
	}
	return o, nil
}

// path finds the file.
func (s *shelf) path(w Which) (string, error) {
	switch {
	case w.ID != "":
		info, err := s.bundles.Find(w.Tenant, w.Agent, w.ID)
		return info.Path, err
	case w.Path != "":
		return w.Path, nil
	}
	return "", ErrNotHere
}

// open verifies a bundle and opens it.
func (s *shelf) open(ctx context.Context, w Which) (*bundle.Bundle, error) {
	path, err := s.path(w)
	if err != nil {
		return nil, err
	}
	o, err := s.verifying(ctx, w)
	if err != nil {
		return nil, err
	}
	b, _, err := bundle.Open(ctx, path, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return b, nil
}

// List returns an agent's bundles, newest first, or with agent "" those of all
// agents of the tenant.
func (s *shelf) List(tenant, agent string) ([]snapshot.Info, error) {
	if agent != "" {
		return s.bundles.List(tenant, agent)
	}
	if err := bundle.CheckTenant(tenant); err != nil {
		return nil, err
	}
	places, err := s.bundles.Places()
	if err != nil {
		return nil, err
	}
	var all []snapshot.Info
	for _, p := range places {
		if p.Tenant != tenant {
			continue
		}
		list, err := s.bundles.List(p.Tenant, p.Agent)
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	snapshot.SortInfos(all)
	return all, nil
}

// lockedOn is locked for a bundle that is there: a mistyped agent gets no
// folder.
func (s *shelf) lockedOn(ctx context.Context, tenant, agent, id string, work func(*snapshot.Lock) error) error {
	if _, err := s.bundles.Find(tenant, agent, id); err != nil {
		return err
	}
	return s.locked(ctx, tenant, agent, work)
}

// Diff returns what differs from a to b, with line diffs where there are keys.
func (s *shelf) Diff(ctx context.Context, a, b Which) ([]snapshot.Change, error) {
	var sides [2]*bundle.Bundle
	var heads [2]snapshot.Heads
	for i, w := range []Which{a, b} {
		var err error
		if sides[i], heads[i], err = s.Heads(ctx, w); err != nil {
			return nil, err
		}
	}
	changes := snapshot.Diff(heads[0], heads[1])
	if a.Keys == nil {
		return changes, nil
	}
	return changes, snapshot.AddLines(ctx, changes, sides[0], sides[1], a.Agent, a.Keys)
}

// Heads verifies a bundle and returns its heads, with slugs where there are
// keys.
func (s *shelf) Heads(ctx context.Context, w Which) (*bundle.Bundle, snapshot.Heads, error) {
	b, err := s.open(ctx, w)
	if err != nil {
		return nil, nil, err
	}
	heads, err := snapshot.ReadHeads(ctx, b, w.Agent, w.Keys)
	return b, heads, err
}

// Find finds an agent's bundle by its id.
func (s *shelf) Find(tenant, agent, id string) (snapshot.Info, error) {
	return s.bundles.Find(tenant, agent, id)
}

// Export copies a bundle, and its .sha256 file, to a new file.
func (s *shelf) Export(tenant, agent, id, to string) error {
	return s.bundles.Export(tenant, agent, id, to)
}

// Settings returns the settings in force.
func (s *shelf) Settings() Settings { return *s.settings.Load() }

// locked runs work with the agent's lock.
func (s *shelf) locked(ctx context.Context, tenant, agent string, work func(*snapshot.Lock) error) error {
	lock, err := s.bundles.Lock(ctx, tenant, agent, config.SnapshotLock)
	if err != nil {
		return err
	}
	return errors.Join(work(lock), lock.Unlock())
}
