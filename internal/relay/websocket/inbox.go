package websocket

import "sync"

// inbox is the bounded queue of messages between a connection's reader and its
// effects. A message counts until it is answered, not only until it is taken.
type inbox struct {
	mu      sync.Mutex
	jobs    []*job
	frames  int
	bytes   int
	running bool // effects has a goroutine
	closed  bool // nothing is added any more

	room    chan struct{} // wakes the reader: there may be room
	more    chan struct{} // wakes effects: a job came, or one was parsed
	stopped chan struct{} // closed with closed
}

func (b *inbox) init() {
	b.room = make(chan struct{}, 1)
	b.more = make(chan struct{}, 1)
	b.stopped = make(chan struct{})
}

// put adds a job if it fits: an empty inbox takes any. start reports that
// effects must be started for it.
func (b *inbox) put(j *job, lim *Limits) (taken, start bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false, false
	}
	if b.frames > 0 && (b.frames >= lim.WaitingFrames || b.bytes+j.size > lim.WaitingBytes) {
		return false, false
	}
	b.jobs = append(b.jobs, j)
	b.frames++
	b.bytes += j.size
	wake(b.more)
	start = !b.running
	b.running = true
	return true, start
}

// first returns the oldest job without taking it, or nil.
func (b *inbox) first() *job {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.jobs) == 0 {
		return nil
	}
	return b.jobs[0]
}

// take removes the job that first returned.
func (b *inbox) take() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.jobs[0] = nil
	b.jobs = b.jobs[1:]
	if len(b.jobs) == 0 {
		b.jobs = nil
	}
}

// answered frees what a taken job counted.
func (b *inbox) answered(size int) {
	b.mu.Lock()
	b.frames--
	b.bytes -= size
	b.mu.Unlock()
	wake(b.room)
}

// rest ends the goroutine of effects if there is nothing to do. over reports
// that no further job can arrive.
func (b *inbox) rest() (resting, over bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.jobs) > 0 {
		return false, false
	}
	if !b.closed {
		b.running = false
	}
	return true, b.closed
}

// close lets nothing more in. start reports that effects must be started, to
// end the connection.
func (b *inbox) close() (start bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.closed = true
	close(b.stopped)
	wake(b.more)
	start = !b.running
	b.running = true
	return start
}

// isClosed reports whether nothing is let in any more.
func (b *inbox) isClosed() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.closed
}

// wake leaves a token in a channel of capacity one.
func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
