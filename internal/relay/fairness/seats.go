package fairness

import (
	"sync"
	"time"
)

// Seats are places for those who compute: as long as there are enough, sitting
// down costs next to nothing, and when there are not, the next one goes by fair
// turns. The use of a seat is counted in time. Nobody may wait for anything
// while sitting. Seats are safe for concurrent use.
type Seats struct {
	mu   sync.Mutex
	free int
	line Queue[*Seat]
}

// NewSeats makes n seats.
func NewSeats(n int) *Seats { return &Seats{free: n} }

// Seat is one place for one goroutine at a time. The zero Seat with Of is
// ready.
type Seat struct {
	Of    *Seats
	taken bool
	since time.Time
	had   float64 // since the last turn, in nanoseconds
	given chan struct{}
}

// Sit waits for a place; who sits already stays.
func (s *Seat) Sit(who Who) {
	if s.taken || s.Of == nil {
		return
	}
	all := s.Of
	all.mu.Lock()
	if all.free > 0 {
		all.free--
		all.mu.Unlock()
	} else {
		if s.given == nil {
			s.given = make(chan struct{}, 1)
		}
		all.line.Push(who, s, s.had+1)
		s.had = 0
		all.mu.Unlock()
		<-s.given
	}
	s.taken, s.since = true, time.Now()
}

// aTurn is how long a place should be used before others are let in.
const aTurn = time.Millisecond

// Long reports whether the place is held for longer than it should be, if
// others wait: who has more to do rises and sits again.
func (s *Seat) Long() bool { return s.taken && time.Since(s.since) > aTurn }

// Rise gives the place to the next; who does not sit may call it too.
func (s *Seat) Rise() {
	if !s.taken {
		return
	}
	s.taken = false
	s.had += float64(time.Since(s.since))
	all := s.Of
	all.mu.Lock()
	defer all.mu.Unlock()
	if next, ok := all.line.Pop(); ok {
		next.given <- struct{}{}
		return
	}
	all.free++
}

// Waiting returns how many wait for a place.
func (s *Seats) Waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.line.Len()
}
