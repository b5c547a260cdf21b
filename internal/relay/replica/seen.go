package replica

import (
	"sync"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/nips/nip77"
)

const (
	// maxSeen bounds what is remembered of one source: about 10 MB.
	maxSeen = 50_000
	// seenFor is how long. Rules change, and clocks.
	seenFor = 6 * time.Hour
)

// seen remembers events that a source shows and that are and will be no heads
// here: refused, deleted or history. They are not fetched again for a while.
type seen struct {
	clock func() time.Time

	mu    sync.Mutex
	known map[[32]byte]sight
	order [][32]byte // as they were noted, from next on
	next  int
}

type sight struct {
	created int64
	kind    int
	until   time.Time
}

func newSeen(clock func() time.Time) *seen {
	return &seen{clock: clock, known: map[[32]byte]sight{}}
}

func (s *seen) note(id [32]byte, ev *nostr.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.known[id]; !known {
		if len(s.order) < maxSeen {
			s.order = append(s.order, id)
		} else {
			delete(s.known, s.order[s.next])
			s.order[s.next] = id
			s.next = (s.next + 1) % maxSeen
		}
	}
	s.known[id] = sight{int64(ev.CreatedAt), ev.Kind, s.clock().Add(seenFor)}
}

func (s *seen) has(id [32]byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, known := s.known[id]
	return known && s.clock().Before(at.until)
}

// items are those that the filter may match, so that a reconciliation does not
// name them as missing.
func (s *seen) items(f nostr.Filter) (out []nip77.Item) {
	kinds := map[int]bool{}
	for _, k := range f.Kinds {
		kinds[k] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock()
	for id, at := range s.known {
		dated := (f.Since == nil || at.created >= int64(*f.Since)) && (f.Until == nil || at.created <= int64(*f.Until))
		if dated && now.Before(at.until) && (f.Kinds == nil || kinds[at.kind]) {
			out = append(out, nip77.Item{CreatedAt: at.created, ID: id})
		}
	}
	return out
}
