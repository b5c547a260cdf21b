// Package httpauth remembers which signed HTTP requests (NIP-98) were executed,
// so that none is executed twice.
//
// A header is good while its created_at is within the window of the relay's
// clock. It can be used from one window before created_at until one window
// after: remembering its id for twice the window after its first use is always
// enough.
//
// A Guard is in the process. It is bounded and never forgets too early: when
// it is full, further calls are refused. A Journal has all uses on disk as
// well: it knows them across restarts, and those for which its Guard had no
// room, so that nobody can keep others out by filling it.
package httpauth

import (
	"errors"
	"sync"
	"time"
)

var (
	// ErrUsed means that the id was used before.
	ErrUsed = errors.New("this Authorization was used before: sign every call anew, the same one within a second with a nonce tag")
	// ErrBusy means that too many calls were made within twice the window, by
	// all keys or by this one.
	ErrBusy = errors.New("too many calls in a short time")
)

// Guard holds the ids used within the last two windows. Make one with New. It
// is safe for concurrent use.
type Guard struct {
	keep   time.Duration
	most   int
	perKey int
	clock  func() time.Time
	evicts bool // a Journal knows what is forgotten early

	mu    sync.Mutex
	nodes int // that have a part of the bounds
	used  map[string]struct{}
	by    map[string]int
	queue []use // in the order of their use; those before head are forgotten
	head  int
}

type use struct {
	id, key string
	at      time.Time
}

// New returns a Guard for a window (the tolerance of created_at), of at most
// so many calls in twice that time: by all keys, and by one.
func New(window time.Duration, most, perKey int, clock func() time.Time) *Guard {
	return &Guard{keep: 2 * window, most: most, perKey: perKey, clock: clock, used: map[string]struct{}{}, by: map[string]int{}}
}

// Keep returns how long ids are remembered.
func (m *Guard) Keep() time.Duration { return m.keep }

// Use notes that the event id (hex) signs a call of a key now. It returns
// ErrUsed if it did before, ErrBusy if there is no room. Call it after all
// other checks, and before any of the call is executed: of two that come at
// once, only one gets nil.
func (m *Guard) Use(id, key string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.clock()
	m.forget(now)
	if _, used := m.used[id]; used {
		return ErrUsed
	}
	if m.by[key] >= partOf(m.perKey, m.nodes) || len(m.used) >= m.most && !m.evicts {
		return ErrBusy
	}
	m.note(use{id, key, now})
	return nil
}

// SetPart divides the bound for one key by the number of nodes that take calls.
// It is 1 at the start.
func (m *Guard) SetPart(nodes int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.nodes = nodes
}

func partOf(bound, nodes int) int { return max(bound/max(nodes, 1), 1) }

// Used reports whether an id is remembered, without noting it.
func (m *Guard) Used(id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forget(m.clock())
	_, used := m.used[id]
	return used
}

// Seed notes a use from before the process began, at a time that is not later
// than that of the previous Seed. It counts for the bounds of Use, but is noted
// regardless of them.
func (m *Guard) Seed(id, key string, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, used := m.used[id]; !used {
		m.note(use{id, key, at})
	}
}

func (m *Guard) note(u use) {
	if m.evicts && len(m.used) >= m.most {
		m.drop()
	}
	m.used[u.id] = struct{}{}
	m.by[u.key]++
	m.queue = append(m.queue, u)
}

// forget drops uses older than twice the window. It stops at the first that is
// not older, so that a clock that was set back forgets late, never early.
func (m *Guard) forget(now time.Time) {
	for m.head < len(m.queue) && now.Sub(m.queue[m.head].at) > m.keep {
		m.drop()
	}
}

// drop forgets the oldest.
func (m *Guard) drop() {
	u := m.queue[m.head]
	m.queue[m.head] = use{}
	m.head++
	delete(m.used, u.id)
	if m.by[u.key]--; m.by[u.key] == 0 {
		delete(m.by, u.key)
	}
	if m.head > len(m.queue)/2 {
		m.queue = append(m.queue[:0], m.queue[m.head:]...)
		m.head = 0
	}
}
