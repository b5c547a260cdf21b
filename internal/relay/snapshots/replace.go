package snapshots

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/notify"
	"engramd/internal/relay/store"
	"engramd/internal/snapshot"
	"engramd/internal/snapshot/bundle"
)

// Replace is the mode of Service.Replace.
const Replace snapshot.Mode = "replace"

// ReplaceRequest asks that an agent's heads (engrams, relay list) become those
// given.
type ReplaceRequest struct {
	Tenant, Agent string
	// AsOf is when what is given was all there was: superseded versions that are
	// newer go to quarantine where the address has no head among them.
	AsOf time.Time
	// Events gives every event to add: verified ones that the relay takes, each
	// with its part. There is one head at most for an address.
	Events func(add func(store.Part, *nostr.Event) error) error
}

// MayReplace returns ErrNotAllowed unless the settings allow newer heads to be
// taken away.
func (s *Service) MayReplace() error { return s.allowed(snapshot.Rollback) }

// Replace does a rollback to events that come from no bundle: it keeps the
// state before in a bundle, and switches in one transaction. Newer heads, and
// those of addresses that are not among the events, go to quarantine. Nothing
// is changed unless the error is nil. It is ErrNotAllowed if the settings allow
// no rollback.
func (s *Service) Replace(ctx context.Context, q ReplaceRequest) (out Restored, err error) {
	began := s.clock()
	defer func() { s.counted(string(Replace), began, err) }()
	if err := s.MayReplace(); err != nil {
		return Restored{}, err
	}
	err = s.locked(ctx, q.Tenant, q.Agent, func(l *snapshot.Lock) error {
		out, err = s.replace(ctx, l, q)
		return err
	})
	if err != nil {
		return Restored{}, err
	}
	s.tell(out)
	return out, nil
}

func (s *Service) replace(ctx context.Context, l *snapshot.Lock, q ReplaceRequest) (Restored, error) {
	out := Restored{Tenant: q.Tenant, Agent: q.Agent, Mode: Replace}
	pre, err := s.create(ctx, l, CreateRequest{
		Tenant: q.Tenant, Agent: q.Agent, Label: "auto:pre-import-replace", By: bundle.ByAutoPreRestore,
	}, "")
	if err != nil && !errors.Is(err, bundle.ErrEmpty) { // an empty memory need not be kept
		return out, fmt.Errorf("the snapshot of the state before: %w", err)
	}
	out.PreSnapshot = pre.ID
	o := store.RestoreOptions{
		Mode: store.Rollback, Agent: q.Agent, AsOf: q.AsOf.Unix(),
		// Two agents of one file may be replaced in the same millisecond.
		Name: quarantineName(s.clock(), "replace-"+q.Agent[:16]),
	}
	done, err := s.switchIn(ctx, o, func(r store.Restoration) error {
		return q.Events(func(p store.Part, ev *nostr.Event) error { return r.Add(ctx, p, ev) })
	})
	if err != nil {
		return out, err
	}
	if out.Restored = done; out.Quarantined > 0 {
		out.Quarantine = o.Name
	}
	return out, nil
}

// sweep applies retention to places.
func (s *Service) sweep(ctx context.Context, places []snapshot.Place, p snapshot.Policy, wait time.Duration) (all []snapshot.Swept, err error) {
	began := s.clock()
	defer func() { s.counted("gc", began, err) }()
	if !s.confirmed() {
		return nil, ErrClock
	}
	var errs []error
	told := notify.GC{Agents: len(places)}
	for _, place := range places {
		if err := ctx.Err(); err != nil {
			return all, err
		}
		lock, err := s.bundles.Lock(ctx, place.Tenant, place.Agent, wait)
		if err == nil {
			var swept snapshot.Swept
			if now := s.clock(); s.confirmed() {
				swept, err = lock.Sweep(now, p)
			} else {
				err = ErrClock
			}
			err = errors.Join(err, lock.Unlock())
			all = append(all, swept)
			told.Deleted += len(swept.Deleted)
			told.Staging += swept.Staging
			for _, id := range swept.Damaged {
				s.log.Warn("a snapshot is damaged: it is another file than was verified", "id", id, "tenant", place.Tenant)
			}
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("agent %s, tenant %s: %w", place.Agent, place.Tenant, err))
			told.Errors++
		}
	}
	s.events.GC(told)
	return all, errors.Join(errs...)
}

// Quarantine is what a rollback took away and can be brought back.
type Quarantine struct {
	Name     string    `json:"name"`
	Agent    string    `json:"agent"`
	MovedAt  time.Time `json:"moved_at"`
	Heads    int64     `json:"heads"`
	Versions int64     `json:"versions"` // superseded ones
}

// Quarantines returns what rollbacks took away, newest first; of one agent
// unless it is "".
func (s *Service) Quarantines(ctx context.Context, agent string) ([]Quarantine, error) {
	list, err := s.store.Quarantines(ctx, gate.Operator())
	out := []Quarantine{}
	for _, q := range list {
		if agent == "" || q.Agent == agent {
			out = append(out, Quarantine{Name: q.Name, Agent: q.Agent, MovedAt: time.Unix(q.MovedAt, 0).UTC(), Heads: q.Heads, Versions: q.Versions})
		}
	}
	return out, err
}

// ReleaseQuarantine brings back what a rollback took away: heads where nothing
// newer is by now, all else as history. The error is store.ErrNoQuarantine if
// nothing is kept under the name.
func (s *Service) ReleaseQuarantine(ctx context.Context, name string) (Restored, error) {
	done, err := s.store.ReleaseQuarantine(ctx, name)
	return Restored{Restored: done}, err
}

// DropQuarantine forgets for good what a rollback took away, but for the ids:
// whoever sends one of the events again is refused. Errors are those of
// ReleaseQuarantine.
func (s *Service) DropQuarantine(ctx context.Context, name string) error {
	return s.store.DropQuarantine(ctx, name)
}
