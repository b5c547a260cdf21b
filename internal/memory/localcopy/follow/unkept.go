package follow

import (
	"sync"
	"time"
)

const (
	// maxUnkept bounds what is remembered of one relay: about a megabyte.
	maxUnkept = 10_000
	// unkeptFor is how long: the copy may take it one day.
	unkeptFor = time.Hour
	// twice is how many passes must have put it in vain. Once may be another
	// process that was told at that moment that the relay has it no more.
	twice = 2
)

// unkept remembers what relays show and the copy does not keep, such as events
// at no address, so that they are not fetched in each pass.
type unkept struct {
	clock func() time.Time

	mu  sync.Mutex
	all map[string]map[[32]byte]vain // by relay and id
}

// vain is an event that was put in vain.
type vain struct {
	created int64
	times   int
	until   time.Time
}

func newUnkept(clock func() time.Time) *unkept {
	return &unkept{clock: clock, all: map[string]map[[32]byte]vain{}}
}

// note counts that an event was put in vain.
func (u *unkept) note(relay string, id [32]byte, created int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.all[relay] == nil {
		u.all[relay] = map[[32]byte]vain{}
	}
	v, known := u.all[relay][id]
	if known || len(u.all[relay]) < maxUnkept {
		u.all[relay][id] = vain{created, v.times + 1, u.clock().Add(unkeptFor)}
	}
}

// of returns what need not be put again, with its created_at.
func (u *unkept) of(relay string) map[[32]byte]int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	out := map[[32]byte]int64{}
	for id, v := range u.all[relay] {
		switch {
		case u.clock().After(v.until):
			delete(u.all[relay], id)
		case v.times >= twice:
			out[id] = v.created
		}
	}
	return out
}

// forget has everything of a relay put again.
func (u *unkept) forget(relay string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.all, relay)
}
