package contracts

import (
	"context"
	"slices"
	"time"

	"github.com/nbd-wtf/go-nostr"

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

// isOver reports whether a contract has to expire by the clock.
func (m *mover) isOver(p *store.ContractPair) bool {
	expires, _ := niptemp.Movers(niptemp.Status(p.Status), niptemp.Expired)
	return expires && p.Deadline != 0 && m.clock().Unix() >= p.Deadline
}

// isDue reports whether a contract has to expire now. Without a clock that is
// confirmed none has to.
func (m *mover) isDue(p *store.ContractPair) bool { return m.isOver(p) && m.confirmed() }

// Undecided reports whether an event is about a contract whose deadline is over by
// a clock that is not confirmed: whether it came in time, nobody can say yet.
func (m *mover) Undecided(ctx context.Context, ev *nostr.Event) (bool, error) {
	if ev.Kind != niptemp.KindState || m.confirmed() {
		return false, nil
	}
	keys := []string{ev.PubKey}
	for _, tag := range ev.Tags {
		if len(tag) > 1 && tag[0] == "p" && len(keys) < 3 && nostr.IsValidPublicKey(tag[1]) { // a decision names two
			keys = append(keys, tag[1])
		}
	}
	for i, poster := range keys {
		for _, worker := range keys[i:] { // the same one twice: what he offers to anybody
			p, err := m.store.ContractBetween(ctx, ev.Tags.GetD(), poster, worker)
			if err != nil {
				return false, err
			}
			if p == nil || !m.isOver(p) {
				continue
			}
			if may, err := m.mayMake(ctx, p, ev.PubKey); err != nil || may {
				return may, err
			}
		}
	}
	return false, nil
}

// mayMake reports whether a key has to do with a contract that it names. Others are
// answered as if there were none.
func (m *mover) mayMake(ctx context.Context, p *store.ContractPair, key string) (bool, error) {
	if key == p.Poster || key == p.Worker || p.Worker == "" {
		return true, nil
	}
	offered, agreed, err := m.store.TermsOf(ctx, p)
	return slices.Contains([]string{offered.Expirer, agreed.Expirer, agreed.Decider, agreed.Arbitrator}, key), err
}

// errUndecided answers a move that Undecided names.
func errUndecided() *Error {
	return Refuse(Unavailable, "clock not confirmed: by it the deadline is over, and nobody has decided that")
}

// Expire moves the contracts whose deadline has come, and reports when to come
// again.
func (m *mover) Expire(ctx context.Context) (next time.Duration, err error) {
	for {
		now := m.clock().Unix()
		if !m.confirmed() {
			return longestWait, nil
		}
		due, err := m.store.DueContracts(ctx, now, expireChunk)
		if err != nil {
			return longestWait, err
		}
		for i := range due {
			if one := m.expireOne(ctx, &due[i], now); one != nil {
				err = one // the other contracts are still tried
			}
		}
		if err != nil {
			return longestWait, err
		}
		if len(due) == expireChunk {
			continue
		}
		at, err := m.store.NextDue(ctx)
		if err != nil || at == 0 {
			return longestWait, err
		}
		return min(max(time.Unix(at, 0).Sub(m.clock()), 0), longestWait), nil
	}
}

func (m *mover) expireOne(ctx context.Context, p *store.ContractPair, now int64) error {
	defer m.lock(p.Contract)()
	p, err := m.store.ContractBetween(ctx, p.Contract, p.Poster, p.Worker)
	if err != nil || p == nil {
		return err
	}
	if m.isDue(p) {
		if p, err = m.expire(ctx, p); err != nil {
			return err
		}
	}
	again := int64(0)
	if !niptemp.Status(p.Status).Final() {
		again = now + recheckSeconds
	}
	return m.store.Tell(ctx, store.LookAtDeadline{Contract: p.Contract, Poster: p.Poster, Worker: p.Worker, At: again})
}

// Run expires contracts until ctx ends. after is time.After outside of tests.
func (m *mover) Run(ctx context.Context, after func(time.Duration) <-chan time.Time) {
	for ctx.Err() == nil {
		wait, err := m.Expire(ctx)
		if err != nil && ctx.Err() == nil {
			m.log.Error("contracts past their deadline were not moved", "err", err)
		}
		select {
		case <-ctx.Done():
		case <-m.wake:
		case <-after(wait):
		}
	}
}

// Rouse has Run look for deadlines: another node may have brought one, or moved
// a contract.
func (m *mover) Rouse() { m.awake() }

// awake tells Run that there is a new deadline.
func (m *mover) awake() {
	select {
	case m.wake <- struct{}{}:
	default:
	}
}
