package contracts

import (
	"context"
	"time"

	"engramd/internal/relay/store"
	"engramd/nips/niptemp"
)

const (
	// expireChunk is how many deadlines are checked at once.
	expireChunk = 100
	// recheckSeconds is when a contract past its deadline, but in a state that
	// does not expire, is checked again: a revision may bring it back.
	recheckSeconds = 60
	// longestWait bounds the sleep between two checks.
	longestWait = time.Minute
)

// isDue reports whether a contract has to expire now.
func (s *Service) isDue(p *store.ContractPair) bool {
	expires, _ := niptemp.Movers(niptemp.Status(p.Status), niptemp.Expired)
	return expires && p.Deadline != 0 && s.clock().Unix() >= p.Deadline
}

// Expire moves the contracts whose deadline has come, and reports when to come
// again.
func (s *Service) Expire(ctx context.Context) (next time.Duration, err error) {
	for {
		now := s.clock().Unix()
		due, err := s.store.DueContracts(ctx, now, expireChunk)
		if err != nil {
			return longestWait, err
		}
		for i := range due {
			if one := s.expireOne(ctx, &due[i], now); one != nil {
				err = one // the other contracts are still tried
			}
		}
		if err != nil {
			return longestWait, err
		}
		if len(due) == expireChunk {
			continue
		}
		at, err := s.store.NextDue(ctx)
		if err != nil || at == 0 {
			return longestWait, err
		}
		return min(max(time.Unix(at, 0).Sub(s.clock()), 0), longestWait), nil
	}
}

func (s *Service) expireOne(ctx context.Context, p *store.ContractPair, now int64) error {
	defer s.lock(p.Contract)()
	p, err := s.store.ContractBetween(ctx, p.Contract, p.Poster, p.Worker)
	if err != nil || p == nil {
		return err
	}
	if s.isDue(p) {
		if p, err = s.expire(ctx, p); err != nil {
			return err
		}
	}
	again := int64(0)
	if !niptemp.Status(p.Status).Final() {
		again = now + recheckSeconds
	}
	return s.store.LookAtDeadline(ctx, p, again)
}

// Run expires contracts until ctx ends. after is time.After outside of tests.
func (s *Service) Run(ctx context.Context, after func(time.Duration) <-chan time.Time) {
	for ctx.Err() == nil {
		wait, err := s.Expire(ctx)
		if err != nil && ctx.Err() == nil {
			s.log.Error("contracts past their deadline were not moved", "err", err)
		}
		select {
		case <-ctx.Done():
		case <-s.wake:
		case <-after(wait):
		}
	}
}

// Rouse has Run look for deadlines: another node may have brought one, or moved
// a contract.
func (s *Service) Rouse() { s.awake() }

// awake tells Run that there is a new deadline.
func (s *Service) awake() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
