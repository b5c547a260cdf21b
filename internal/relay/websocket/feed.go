package websocket

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"engramd/internal/relay/fairness"
)

// feed is a connection's subscriptions, and the live events that were not yet
// held against them, in their order. Whoever queues the first one works for the
// feed, for a bounded time; a goroutine does the rest, in fair turns with
// others that have as much to look at. Only one works for a feed at a time. A
// feed that falls behind loses its dearest subscriptions, which are told so.
type feed struct {
	c    *conn
	slot uint32 // in the index
	subs atomic.Pointer[[]*subscription]

	edit sync.Mutex // held while subscriptions come and go

	mu      sync.Mutex
	queue   []task
	bytes   int
	running bool // somebody works for it
	over    bool // the connection has ended: nothing is queued

	// The following are for who works.
	permit  fairness.Permit // of lag
	lagging sync.Mutex      // one lag at a time
	task    task            // looked at
	left    []*subscription // those that it is still to be held against
}

// task is one event for one connection, with the places of the index through
// which it was found: if there are more than fit, it may be through any.
type task struct {
	news   *news
	places [3]uint64
	n      uint8
}

func (t *task) note(place uint64) {
	if int(t.n) < len(t.places) {
		t.places[t.n] = place
	}
	t.n = min(t.n+1, uint8(len(t.places)+1))
}

// found returns the places through which the event was found, sorted.
func (t *task) found() []uint64 {
	if int(t.n) > len(t.places) {
		return t.news.places
	}
	return t.places[:t.n] // noted in their order
}

// list returns the open subscriptions; it is never changed, only replaced.
func (f *feed) list() []*subscription {
	if list := f.subs.Load(); list != nil {
		return *list
	}
	return nil
}

// find returns the open subscription of an id, or nil.
func (f *feed) find(id string) *subscription {
	for _, s := range f.list() {
		if s.id == id {
			return s
		}
	}
	return nil
}

// add opens a subscription: whatever is delivered from here on finds it.
func (f *feed) add(s *subscription) {
	f.edit.Lock()
	defer f.edit.Unlock()
	others := f.list()
	list := append(slices.Clip(others), s)
	f.subs.Store(&list)
	f.c.srv.live.add(f.slot, f.ownPlaces(s, others))
}

// remove takes a subscription out, if it is still in.
func (f *feed) remove(s *subscription) {
	f.edit.Lock()
	defer f.edit.Unlock()
	if !slices.Contains(f.list(), s) {
		return
	}
	others := slices.DeleteFunc(slices.Clone(f.list()), func(other *subscription) bool { return other == s })
	f.subs.Store(&others)
	f.c.srv.live.remove(f.slot, f.ownPlaces(s, others))
}

// ownPlaces returns the places of s that the others do not have.
func (f *feed) ownPlaces(s *subscription, others []*subscription) []uint64 {
	places := s.places
	for _, other := range others {
		if len(places) == 0 {
			break
		}
		places = without(places, other.places)
	}
	return places
}

// push queues a task. mine reports that the caller must now work for the feed.
func (f *feed) push(t task) (mine bool) {
	f.mu.Lock()
	if f.over {
		f.mu.Unlock()
		f.forget(t)
		return false
	}
	f.queue = append(f.queue, t)
	f.bytes += t.news.holds
	mine = !f.running
	f.running = true
	full := !mine && f.bytes > f.c.srv.limits.Load().QueueBytes
	f.mu.Unlock()
	if full {
		f.shed(len(f.list())/2+1, 0)
	}
	return mine
}

// take makes the next task the one that is looked at. If there is none, nobody
// works for the feed any more.
func (f *feed) take() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.queue) == 0 {
		if f.running = false; cap(f.queue) > 4 {
			f.queue = nil // an idle connection holds little
		}
		return false
	}
	f.task = f.queue[0]
	f.bytes -= f.task.news.holds
	if len(f.queue) == 1 {
		f.queue[0] = task{}
		f.queue = f.queue[:0]
	} else {
		f.queue[0] = task{}
		f.queue = f.queue[1:]
	}
	f.left = f.list()
	return true
}

// work holds queued events against the subscriptions until it has made so many
// comparisons or there is nothing left: then it is idle, and the caller no
// longer works for the feed. start says that the connection's writer must be
// started.
func (f *feed) work(most int) (spent int, idle, start bool) {
	sent := 0
	for !idle && spent < most {
		if len(f.left) == 0 {
			f.done()
			idle = !f.take()
			continue
		}
		s := f.left[0]
		f.left = f.left[1:]
		took, writes, cost := s.deliver(&f.task)
		spent += cost
		start = start || writes
		if took {
			sent++
		}
	}
	if sent > 0 {
		f.c.srv.o.Metrics.LiveSent(sent)
	}
	return spent, idle, start
}

// done ends with the event that is looked at.
func (f *feed) done() {
	if f.task.news != nil {
		f.forget(f.task)
		f.task, f.left = task{}, nil
	}
}

// forget counts a task as done with.
func (f *feed) forget(t task) {
	if t.news.waiting.Add(-1) == 0 {
		f.c.srv.backlog.Add(-int64(t.news.holds))
	}
}

// end lets nothing more in: the connection has ended.
func (f *feed) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over = true
}

// unqueue takes everything out of the queue.
func (f *feed) unqueue() []task {
	f.mu.Lock()
	defer f.mu.Unlock()
	queue := f.queue
	f.queue, f.bytes = nil, 0
	return queue
}

// waitsSince is when the first event of the queue came, if there is one.
func (f *feed) waitsSince() (at time.Time, waits bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.queue) == 0 {
		return at, false
	}
	return f.queue[0].news.at, true
}

// drop forgets everything that is queued: the connection has ended. Who works
// for the feed calls it.
func (f *feed) drop() {
	f.end()
	for _, t := range f.unqueue() {
		f.forget(t)
	}
	f.done()
}

// closeAll ends all subscriptions with the connection.
func (f *feed) closeAll() {
	for _, s := range f.list() {
		if !s.close(nil) { // somebody else is closing it, perhaps not done yet
			f.remove(s)
		}
	}
}
