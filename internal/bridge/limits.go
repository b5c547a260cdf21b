package bridge

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"engramd/internal/share"
	"engramd/nips/nip01"
)

// Limits bound what requests can make the relay do. Zero fields mean the
// defaults.
type Limits struct {
	Requests     int           // with proof, worked on at once; default 256
	PerShare     int           // of them of one share; default 32, negative is no limit
	Patience     time.Duration // how long a request waits for its turn; default 5 s
	EventBytes   int           // largest event; default and maximum maxBody
	Filters      int           // in one request; default 16
	FilterValues int           // in one filter; default 2,000
	Stall        time.Duration // a write that makes no progress for so long ends the answer; default 10 s
	SmallBody    time.Duration // in which a body of up to smallBody bytes arrives; default 5 s
	LargeBody    time.Duration // in which any other does; default 30 s
}

func (l Limits) withDefaults() Limits {
	number := func(n *int, def int) {
		if *n == 0 {
			*n = def
		}
	}
	number(&l.Requests, 256)
	number(&l.PerShare, 32)
	number(&l.EventBytes, maxBody)
	number(&l.Filters, 16)
	number(&l.FilterValues, 2000)
	l.EventBytes = min(l.EventBytes, maxBody)
	wait := func(d *time.Duration, def time.Duration) {
		if *d <= 0 {
			*d = def
		}
	}
	wait(&l.Patience, 5*time.Second)
	wait(&l.Stall, 10*time.Second)
	wait(&l.SmallBody, 5*time.Second)
	wait(&l.LargeBody, 30*time.Second)
	return l
}

const (
	// roomBytes is what bodies and answers that wait for their clients may hold.
	roomBytes = 64 << 20
	// managerSlots are for calls of managing keys alone.
	managerSlots = 8
	// maxChecking bounds who waits for a place to be checked; there are no more
	// than connections.
	maxChecking = 1 << 16
)

// pools are what requests compete for. A request has a place in one of the
// first three while the relay works for it, and none while it waits for its
// client; in the last two while a processor does nothing else.
type pools struct {
	limits atomic.Pointer[Limits]

	managing *share.Slots // calls of managing keys
	proved   *share.Slots // requests of who proves himself
	unproved *share.Slots // everybody else's: few
	checking *share.Slots // signatures, hashes, JSON
	managers *share.Slots // signatures that claim to be of managing keys
	room     *share.Room  // bytes of bodies, and of answers on their way
}

func newPools() pools {
	processors := share.Processors()
	checks := share.SlotLimits{Places: 2 * processors, Waiting: maxChecking, WaitingPerShare: maxChecking, Patience: 5 * time.Second}
	few := checks
	few.Places = 2
	slots := share.SlotLimits{}
	return pools{
		managing: share.NewSlots(share.SlotLimits{Places: managerSlots, Waiting: 16 * managerSlots, WaitingPerShare: 16 * managerSlots, Patience: 5 * time.Second}),
		proved:   share.NewSlots(slots), unproved: share.NewSlots(slots),
		checking: share.NewSlots(checks), managers: share.NewSlots(few),
		room: share.NewRoom(roomBytes),
	}
}

// SetLimits replaces the bounds of requests, for those to come.
func (h *Handler) SetLimits(l Limits) {
	l = l.withDefaults()
	h.pools.limits.Store(&l)
	slots := share.SlotLimits{
		Places: l.Requests, PerShare: max(l.PerShare, 0), Waiting: 4 * l.Requests, WaitingPerShare: max(l.Requests/2, 1), Patience: l.Patience,
	}
	h.pools.proved.SetLimits(slots)
	slots.Places = max(l.Requests/8, 4)
	slots.PerShare /= 4
	slots.Waiting, slots.WaitingPerShare = 4*slots.Places, slots.Places
	h.pools.unproved.SetLimits(slots)
}

// compute runs fn while this request has a place among those.
func (h *Handler) compute(ctx context.Context, places *share.Slots, fn func() error) error {
	place, err := places.Enter(ctx, share.From(ctx))
	if err != nil {
		return h.noPlace(err)
	}
	defer place.Leave()
	return fn()
}

// noPlace is the answer for an error of Slots.
func (h *Handler) noPlace(err error) error {
	switch {
	case errors.Is(err, share.ErrCrowded):
		h.metrics.HTTPRefused("crowded")
		return refused(nip01.PrefixRateLimited, "too many requests at once; retry in 1s")
	case errors.Is(err, share.ErrPatience):
		h.metrics.HTTPRefused("late")
		return refused(nip01.PrefixRateLimited, "too many requests at once, and none was done in time; retry in 1s")
	}
	return failed(err)
}
