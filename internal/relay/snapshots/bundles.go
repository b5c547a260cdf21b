package snapshots

import (
	"context"
	"time"

	"engramd/internal/relay/config"
	"engramd/internal/relay/notify"
	"engramd/internal/snapshot"
	"engramd/internal/snapshot/bundle"
)

// Verify reports on every check of a bundle; one in the folder of snapshots
// that is OK is recorded as verified. The error says that looking at it failed.
func (s *Service) Verify(ctx context.Context, w Which) (report *bundle.Report, err error) {
	began := s.clock()
	defer func() {
		failed := err
		if err == nil {
			failed = report.Err()
		}
		s.counted("verify", began, failed)
	}()
	o, err := s.verifying(ctx, w)
	if err != nil {
		return nil, err
	}
	if w.ID == "" {
		path, err := s.path(w)
		if err != nil {
			return nil, err
		}
		return bundle.Verify(ctx, path, o)
	}
	err = s.lockedOn(ctx, w.Tenant, w.Agent, w.ID, func(l *snapshot.Lock) error {
		report, err = l.Verify(ctx, w.ID, s.clock(), o)
		return err
	})
	if report == nil && snapshot.CannotWrite(err) { // then it is not recorded
		return s.bundles.Verify(ctx, w.Tenant, w.Agent, w.ID, o)
	}
	return report, err
}

// Pin exempts a bundle from retention, or no longer.
func (s *Service) Pin(ctx context.Context, tenant, agent, id string, pinned bool) error {
	return s.lockedOn(ctx, tenant, agent, id, func(l *snapshot.Lock) error { return l.Pin(id, pinned) })
}

// Delete deletes a bundle. Errors are those of snapshot.Lock.Delete.
func (s *Service) Delete(ctx context.Context, tenant, agent, id string, how snapshot.Deletion) (err error) {
	began := s.clock()
	defer func() { s.counted("delete", began, err) }()
	err = s.lockedOn(ctx, tenant, agent, id, func(l *snapshot.Lock) error {
		how.Now = s.clock()
		return l.Delete(id, how)
	})
	if err == nil {
		s.events.Deleted(notify.Deleted{Agent: agent, Tenant: tenant, ID: id})
	}
	return err
}

// sweepWait is how long retention waits for an agent's lock: what it does not
// come to now it does next time.
const sweepWait = 2 * time.Second

// Sweep applies retention to every agent's bundles and removes what dead
// processes left. An agent that fails does not keep the others from being
// swept.
func (s *Service) Sweep(ctx context.Context, p snapshot.Policy) (swept []snapshot.Swept, err error) {
	places, err := s.bundles.Places()
	if err != nil {
		return nil, err
	}
	return s.sweep(ctx, places, p, sweepWait)
}

// SweepAgent is Sweep for one agent.
func (s *Service) SweepAgent(ctx context.Context, tenant, agent string, p snapshot.Policy) ([]snapshot.Swept, error) {
	if _, err := s.bundles.Dir(tenant, agent); err != nil {
		return nil, err
	}
	return s.sweep(ctx, []snapshot.Place{{Tenant: tenant, Agent: agent}}, p, config.SnapshotLock)
}
