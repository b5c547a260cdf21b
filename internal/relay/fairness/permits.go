package fairness

import (
	"runtime"
	"sync"
	"time"
)

// Permits are for those who compute: as long as there are enough, one costs next
// to nothing, and when there are not, the next one goes by fair turns. The use of
// a permit is counted in time. Nobody may wait for anything while holding one.
// Permits are safe for concurrent use.
type Permits struct {
	mu   sync.Mutex
	free int
	line Queue[*Permit]
}

// NewPermits makes n permits.
func NewPermits(n int) *Permits { return &Permits{free: n} }

// Permit is for one goroutine at a time. The zero Permit with Of is
// ready.
type Permit struct {
	Of    *Permits
	taken bool
	since time.Time
	had   float64 // since the last turn, in nanoseconds
	given chan struct{}
}

// Acquire waits for the permit; who holds it already keeps it.
func (s *Permit) Acquire(who Who) {
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

// aTurn is how long a permit should be used before others are let in.
const aTurn = time.Millisecond

// Long reports whether the permit is held for longer than it should be, if
// others wait: who has more to do releases and acquires it again.
func (s *Permit) Long() bool { return s.taken && time.Since(s.since) > aTurn }

// Release gives the permit to the next; who holds none may call it too.
func (s *Permit) Release() {
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

// processors is looked at before Beside changes it.
var processors = runtime.GOMAXPROCS(0)

// Processors returns how many computations get anything done at a time.
func Processors() int { return processors }

// Beside lets Go run on all processors beside so many threads that compute in
// C. Such a thread keeps the place among Go's own that it had, until somebody
// notices that others wait, which takes up to ten milliseconds: every time, and
// for all that the process does. With places for all of them nobody has to
// notice, and the kernel divides the processors.
func Beside(inC int) { runtime.GOMAXPROCS(processors + inC) }
