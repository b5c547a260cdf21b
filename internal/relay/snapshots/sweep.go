package snapshots

import (
	"context"
	"errors"
	"fmt"
	"time"

	"engramd/internal/relay/notify"
	"engramd/internal/snapshot"
)

// sweep applies retention to places.
func (s *Service) sweep(ctx context.Context, places []snapshot.Place, p snapshot.Policy, wait time.Duration) (all []snapshot.Swept, err error) {
	began := s.clock()
	defer func() { s.counted("gc", began, err) }()
	var errs []error
	told := notify.GC{Agents: len(places)}
	for _, place := range places {
		if err := ctx.Err(); err != nil {
			return all, err
		}
		lock, err := s.bundles.Lock(ctx, place.Tenant, place.Agent, wait)
		if err == nil {
			var swept snapshot.Swept
			swept, err = lock.Sweep(s.clock(), p)
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
